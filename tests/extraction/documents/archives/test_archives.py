"""Archives: their files within other files, and the bounds of unpacking."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from email.message import EmailMessage

import openpyxl
import pytest
from tests.support.encrypted_archive import encrypted_zip
from tests.support.other_archives import AES_ZIP, SEVEN_ZIPS, packed_by_hand
from tests.support.parsed_files import code_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.archives.members import Member, UnpackedBytes, all_members
from cinnabar.extraction.documents.content import seven_zip
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import DistinctNames, member_name
from cinnabar.extraction.documents.content.limits import MAX_MEMBERS
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extras import Extra

SMALL = 100 << 20


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            archive.writestr(info, data)
    return made.getvalue()


def tarred(*files: tuple[str, bytes], mode: str = "w:") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def listed(data: bytes, name: str = "a.zip", passwords: Sequence[str] = ()) -> list[Member]:
    return all_members(data, name, UnpackedBytes(len(data), SMALL).count, passwords)


def contents(data: bytes, name: str = "a.zip") -> dict[str, bytes | str]:
    return {one.name: one.data if one.problem is None else one.problem.code for one in listed(data, name)}


@pytest.mark.parametrize(
    ("data", "name", "inside"),
    [
        (zipped(("d/x.txt", b"hello")), "a.zip", "d/x.txt"),
        (zipped(("d/x.txt", b"hello"), method=zipfile.ZIP_BZIP2), "a.zip", "d/x.txt"),
        (zipped(("d/x.txt", b"hello"), method=zipfile.ZIP_LZMA), "a.zip", "d/x.txt"),
        (tarred(("d/x.txt", b"hello")), "a.tar", "d/x.txt"),
        (tarred(("d/x.txt", b"hello"), mode="w:gz"), "a.tgz", "d/x.txt"),
        (tarred(("d/x.txt", b"hello"), mode="w:bz2"), "a.tar.bz2", "d/x.txt"),
        (tarred(("d/x.txt", b"hello"), mode="w:xz"), "a.tar.xz", "d/x.txt"),
        (gzip.compress(b"hel") + gzip.compress(b"lo"), "x.txt.gz", "x.txt"),
        (bz2.compress(b"hel") + bz2.compress(b"lo"), "x.txt.bz2", "x.txt"),
        (lzma.compress(b"hello") + b"\0" * 8, "x.txt.xz", "x.txt"),
    ],
    # Bytes in a name would hold the time, and each process would collect other names.
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_each_kind_of_archive_gives_its_files(data: bytes, name: str, inside: str) -> None:
    assert contents(data, name) == {inside: b"hello"}


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_what_stands_behind_a_stream_takes_nothing_of_it(pack: Callable[[bytes], bytes], kind: str) -> None:
    data = random.Random(0).randbytes(150_000)
    assert contents(pack(data) + b"\n", f"x.log.{kind}") == {"x.log": data}


def test_archives_within_archives_are_opened_to_a_depth() -> None:
    data = zipped(("x.txt", b"deep"))
    for _ in range(2):
        data = zipped(("in.zip", data), ("beside.txt", b"beside"))
    assert contents(data)["in.zip/in.zip/x.txt"] == b"deep"
    assert contents(zipped(("in.zip", data)))["in.zip/in.zip/in.zip"] == "depth"


def test_a_damaged_archive_within_another_is_one_problem() -> None:
    whole = zipped(("x.txt", b"words"))
    data = zipped(("bad.zip", whole[:40]), ("good.txt", b"good"))
    assert contents(data) == {"bad.zip": "broken", "good.txt": b"good"}


def test_a_damaged_member_keeps_the_others() -> None:
    data = zipped(("bad.txt", b"words of one file"), ("good.txt", b"good"), method=zipfile.ZIP_STORED)
    assert contents(data.replace(b"words of", b"words 0f")) == {"bad.txt": "broken", "good.txt": b"good"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Windows\\x.txt", "Windows/x.txt"),
        ("a\x00b\x1b.txt", "a�b�.txt"),
        ("..", "member"),
        ("x" * 5000 + ".pdf", "x" * 796 + ".pdf"),
    ],
)
def test_names_never_lead_out_of_the_archive(name: str, shown: str) -> None:
    assert member_name(name) == shown


def test_names_that_occur_again_are_numbered() -> None:
    names = DistinctNames()
    assert [names.distinct(one) for one in ("a.txt", "a.txt", "a (2).txt", "a.txt", "d.e/a", "d.e/a")] == [
        "a.txt", "a (2).txt", "a (2) (2).txt", "a (3).txt", "d.e/a", "d.e/a (2)",
    ]  # fmt: skip


def test_hidden_files_and_folders_are_left_out() -> None:
    data = zipped(("x.txt", b"x"), (".DS_Store", b"x"), ("__MACOSX/._x.txt", b"x"), ("d/", b""), (".git/y.txt", b"x"))
    assert contents(data) == {"x.txt": b"x"}


def test_a_file_without_a_name_has_one() -> None:
    made = zipped(("ab", b"hello"), method=zipfile.ZIP_STORED)
    at = made.index(b"PK\x01\x02")
    nameless = made[:26] + b"\0\0" + made[28:30] + made[32:at]
    entry = bytearray(made[at : at + 46])
    entry[28:30] = b"\0\0"
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 46, len(nameless), 0)
    assert contents(nameless + bytes(entry) + end) == {"member": b"hello"}


def test_links_and_devices_of_tar_are_not_followed() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:") as archive:
        for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(f"{number}")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert contents(made.getvalue(), "a.tar") == {f"{number}": "not_a_file" for number in range(4)}


@pytest.mark.slow
def test_bombs_end_at_the_bound() -> None:
    zeros = zipped(("zeros.txt", bytes(64 << 20)))
    assert code_of(listed, zeros) == "unpacked"
    assert code_of(listed, gzip.compress(bytes(64 << 20)), "a.gz") == "unpacked"
    assert code_of(listed, bz2.compress(bytes(64 << 20)), "a.bz2") == "unpacked"
    assert code_of(listed, lzma.compress(bytes(64 << 20)), "a.xz") == "unpacked"
    # Sixteen members of four megabytes, none of them too much by itself.
    level = zipped(*[(f"{number}.txt", bytes(4 << 20)) for number in range(16)])
    assert code_of(listed, zipped(("level.zip", level))) == "unpacked"


def test_entries_that_share_their_bytes_count_each_time() -> None:
    # As in the bombs of D. Fifield: a thousand entries of the directory name one and the same packed kernel.
    one = zipped(("0.txt", bytes(4 << 20)))
    start = one.index(b"PK\x01\x02")
    end = one.index(b"PK\x05\x06")
    entry = one[start:end]
    made = one[:start] + entry * 1000
    made += struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1000, 1000, len(entry) * 1000, start, 0)
    assert code_of(listed, made) == "unpacked"


@pytest.mark.slow
def test_more_files_than_the_bound_are_refused() -> None:
    files = [(f"{number}.txt", b"") for number in range(MAX_MEMBERS + 1)]
    assert len(listed(zipped(*files[:-1]))) == MAX_MEMBERS
    assert code_of(listed, zipped(*files)) == "unpacked"
    assert code_of(listed, tarred(*files), "a.tar") == "unpacked"


def test_false_sizes_are_not_believed() -> None:
    made = bytearray(zipped(("x.txt", b"hello"), method=zipfile.ZIP_STORED))
    directory = made.index(b"PK\x01\x02")
    made[directory + 20 : directory + 28] = struct.pack("<2L", 0x7FFFFFFF, 0x7FFFFFFF)
    assert contents(bytes(made)) == {"x.txt": "broken"}
    tar = bytearray(tarred(("x.txt", b"hello")))
    tar[124:136] = b"77777777777\0"
    checksum = sum(tar[:148]) + 8 * 32 + sum(tar[156:512])
    tar[148:156] = b"%06o\0 " % checksum
    assert code_of(listed, bytes(tar), "a.tar") == "broken"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_stream_without_its_end_is_truncated(pack: Callable[[bytes], bytes]) -> None:
    data = pack(bytes(range(256)) * 40)
    assert code_of(listed, data[: len(data) * 2 // 3], "a.gz") in ("truncated", "broken")


def test_an_encrypted_archive_opens_with_a_password_of_the_run() -> None:
    data = encrypted_zip("x.txt", b"secret words", "open")
    assert code_of(listed, data) == "password"
    assert code_of(listed, data, "a.zip", ["wrong"]) == "password"
    assert listed(data, passwords=["wrong", "open"])[0].data == b"secret words"
    assert parse(data, "a.zip", ParserSettings(passwords=("open",))).text == "secret words"


def test_a_member_under_aes_opens_with_a_password_of_the_run() -> None:
    assert code_of(lambda: listed(AES_ZIP, passwords=["wrong"])) == "password"
    (member,) = listed(AES_ZIP, passwords=["wrong", "open sesame"])
    assert (member.name, member.data) == ("x.txt", b"words of x\n")
    changed = bytearray(AES_ZIP)
    changed[AES_ZIP.index(b"x.txt") + 40] ^= 1
    assert code_of(lambda: listed(bytes(changed), passwords=["open sesame"])) == "password"


@pytest.mark.parametrize("packing", [name for name in SEVEN_ZIPS if name != "ppmd"])
def test_7z_archives_are_read_however_they_are_packed(packing: str) -> None:
    found = listed(SEVEN_ZIPS[packing], "a.7z", passwords=["wrong", "open sesame"])
    assert [(one.name, one.data) for one in found] == [
        ("a/x.txt", b"words of x\n"), ("grün.txt", "äöü\n".encode()), ("empty.txt", b"")
    ]  # fmt: skip


@pytest.mark.parametrize("packing", ["aes", "names"])
def test_an_encrypted_7z_archive_needs_its_password(packing: str) -> None:
    assert code_of(lambda: listed(SEVEN_ZIPS[packing], "a.7z")) == "password"
    assert code_of(lambda: listed(SEVEN_ZIPS[packing], "a.7z", passwords=["wrong"])) == "password"


def test_a_7z_archive_packed_in_another_way_says_what_to_do() -> None:
    with pytest.raises(DocumentError, match="pack it as") as problem:
        listed(SEVEN_ZIPS["ppmd"], "a.7z")
    assert problem.value.code == "unsupported"


@pytest.mark.parametrize("packing", SEVEN_ZIPS)
def test_damaged_7z_archives_have_one_problem(packing: str) -> None:
    whole = SEVEN_ZIPS[packing]
    assert code_of(lambda: listed(whole[:-20], "a.7z")) == "truncated"
    rng = random.Random(packing)
    start = 32 + int.from_bytes(whole[12:20], "little")
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(3):
            data[rng.randrange(12, len(data))] = rng.choice((0, 1, 127, 255))
        # With its sums the list of files is read.
        size = int.from_bytes(data[20:28], "little")
        data[28:32] = zlib.crc32(data[start : start + size]).to_bytes(4, "little")
        data[8:12] = zlib.crc32(data[12:32]).to_bytes(4, "little")
        with contextlib.suppress(DocumentError):
            listed(bytes(data), "a.7z", passwords=["open sesame"])


@pytest.mark.parametrize(
    ("packed", "method", "size", "files"),
    [
        (zlib.compress(bytes(64 << 20), wbits=-15), b"\x04\x01\x08", 64 << 20, 1),
        (bz2.compress(bytes(64 << 20)), b"\x04\x02\x02", 64 << 20, 1),
        (b"words", b"\0", 5, 1_000_000),
    ],
    ids=["deflate", "bzip2", "list"],
)
def test_7z_bombs_end_at_the_bound(packed: bytes, method: bytes, size: int, files: int) -> None:
    assert [one.data for one in listed(packed_by_hand(b"words", b"\0", 5), "a.7z")] == [b"words"]
    assert code_of(lambda: listed(packed_by_hand(packed, method, size, files), "a.7z")) == "unpacked"


@pytest.mark.parametrize(
    ("method", "stated", "kept"),
    [
        (b"\x21", b"\x28", b"\0"),
        (b"\x21", b"\x18", b"\0"),
        (b"\x03\x01\x01", b"\x5d\xff\xff\xff\xff", b"\x5d\0\x10\0\0"),
    ],
)
def test_a_dictionary_of_7z_is_no_larger_than_what_it_unpacks(method: bytes, stated: bytes, kept: bytes) -> None:
    coder = {"method": method, "properties": stated, "numinstreams": 1, "numoutstreams": 1}
    assert seven_zip._limit_dictionary(coder, 1000)["properties"] == kept


def test_without_its_extra_a_7z_archive_is_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(seven_zip.EXTRAS, "sevenzip", Extra({"no_such_module": "py7zr"}))
    with pytest.raises(DocumentError, match=r"cinnabar-extract\[sevenzip\]") as caught:
        listed(SEVEN_ZIPS["lzma2"], "a.7z")
    assert caught.value.code == "unsupported"
    inside = listed(zipped(("a.7z", SEVEN_ZIPS["lzma2"]), ("x.txt", b"x")))
    assert [(one.name, one.problem.code if one.problem else "") for one in inside] == [
        ("a.7z", "unsupported"), ("x.txt", ""),
    ]  # fmt: skip


def named_parts(document: Document) -> list[tuple[str, str]]:
    return [(one.name, document.text[one.start : one.end]) for one in document.parts]


def test_files_of_an_archive_within_a_document_are_its_parts() -> None:
    document = parse(zipped(("x.txt", b"one"), ("y.bin", b"\0\1"), ("in.zip", zipped(("z.txt", b"two")))), "a.zip")
    assert named_parts(document) == [("x.txt", "one"), ("y.bin", ""), ("in.zip", "two"), ("z.txt", "two")]
    assert document.flags == ("attachment_unsupported",)


def test_an_archive_in_a_mail_has_its_office_files_read() -> None:
    book = openpyxl.Workbook()
    book.active["A1"] = "Total"
    book.active["B1"] = 12.5
    held = io.BytesIO()
    book.save(held)
    mail = EmailMessage()
    mail["Subject"] = "files"
    mail.set_content("see the archive")
    data = zipped(("x.xlsx", held.getvalue()), ("y.csv", b"a,b\n1,2\n"))
    mail.add_attachment(data, maintype="application", subtype="zip", filename="a.zip")
    document = parse(mail.as_bytes(), "m.eml")
    assert [one for one in named_parts(document) if one[0] in ("a.zip", "x.xlsx", "Sheet", "y.csv")][1:] == [
        ("x.xlsx", "Total  12.5"), ("Sheet", "Total  12.5"), ("y.csv", "a  b\n1  2"),
    ]  # fmt: skip
    assert document.places.at(document.text.index("12.5")) == "B1"
    assert document.places.at(document.text.index("1  2")) == "row 2"
    assert document.flags == ()


def test_a_quine_within_a_document_ends_at_the_depth() -> None:
    data = zipped(("x.txt", b"words"))
    for _ in range(20):
        data = zipped(("r.zip", data))
    with pytest.raises(DocumentError):
        parse(data, "a.zip")
    document = parse(zipped(("r.zip", data), ("x.txt", b"words")), "a.zip")
    assert document.text == "words" and "depth_limit" in document.flags


def test_an_empty_archive_is_empty() -> None:
    assert code_of(listed, zipped()) == "empty"
    assert code_of(parse, zipped(), "a.zip") == "empty"
