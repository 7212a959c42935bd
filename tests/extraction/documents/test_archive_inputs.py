"""Files in archives as inputs of a run: each has an outcome of its own, under its path inside."""

from __future__ import annotations

import io
import os
import zipfile
from contextlib import ExitStack
from email.message import EmailMessage
from pathlib import Path

import docx
import pytest
from msoffcrypto.format.ooxml import OOXMLFile
from tests.support.encrypted_archive import encrypted_zip
from tests.support.notes import NAMES_ALONE
from tests.support.reading_model import READING

from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.archives.archive_process import ArchiveMember, Unpacker
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.inputs import Sent
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input, archive_around, examine, gather
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.backfill.retrying import retry
from cinnabar.extraction.run.cluster.workers import shipments_of
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.store.reading import query


def zipped(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{name}.zip" if data.startswith(b"PK") else f"{name}.txt", data)
    return made.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.zip").write_bytes(zipped(x=b"name=X\n", inner=zipped(y=b"name=Y\n")))
    (inside / "b.txt").write_text("name=B\n")
    (inside / "damaged.zip").write_bytes(zipped(z=b"name=Z\n")[:30])
    return inside


def found(*paths: Path) -> list[Input]:
    with ExitStack() as connections:
        return [examine(item, paths) for item in gather(paths, None, connections)]


def test_files_in_archives_are_inputs_with_their_path_inside(folder: Path) -> None:
    seen = [(one.path.removeprefix(f"{folder}/"), one.problem and one.problem.code) for one in found(folder)]
    assert seen == [("a.zip/x.txt", None), ("a.zip/inner.zip/y.txt", None), ("b.txt", None), ("damaged.zip", "broken")]


def test_files_in_archives_are_parsed_and_shipped_like_others(folder: Path) -> None:
    with ExitStack() as connections:
        items = gather([folder / "a.zip"], None, connections)
        inputs = [examine(item, [folder]) for item in items]
        sent = [letter.content for letter in shipments_of(inputs, [None] * len(inputs))]
        with ParserPool(1) as pool:
            here = [read for _, read in pool.parse_many([one.content for one in inputs])]
            there = [read for _, read in pool.parse_many([one for one in sent if isinstance(one, Sent)])]
    for one, other, named in zip(here, there, inputs, strict=True):
        assert isinstance(one, Document) and isinstance(other, Document)
        assert (one.digest, one.facts, one.text) == (named.digest, other.facts, other.text)
    first = here[0]
    assert isinstance(first, Document) and first.facts["file.name"].value == "x.txt"


def test_a_run_stores_them_and_skips_them_afterwards(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = extract([folder], NAMES_ALONE, out, READING, RunOptions(workers=1))
    assert (first.written, first.quarantined) == (3, 1)
    assert query(out, "select name from note order by name").rows == [("B",), ("X",), ("Y",)]
    again = extract([folder], NAMES_ALONE, out, READING, RunOptions(workers=1))
    assert (again.written, again.skipped, again.quarantined) == (0, 4, 0)
    (one,) = held_documents(out)
    assert (one.path, one.code) == (str(folder / "damaged.zip"), "broken")
    retried = extract([folder], NAMES_ALONE, out, READING, RunOptions(workers=1, retry_quarantined=True))
    assert (retried.skipped, retried.reasons) == (3, {"broken": 1})
    with DocumentLookup(out) as lookup:
        for one in found(folder / "a.zip"):
            content = lookup.find([one.path], one.digest, None)
            assert content is not None and not isinstance(content, Path) and content.read().startswith(b"name=")
            assert lookup.lying_at(one.path) is not None


def test_an_archive_in_quarantine_is_unpacked_by_a_retry_once_it_is_whole(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    extract([folder / "damaged.zip"], NAMES_ALONE, out, READING, RunOptions(workers=1))
    (one,) = held_documents(out)
    assert (one.path, one.code) == (str(folder / "damaged.zip"), "broken")
    (folder / "damaged.zip").write_bytes(zipped(z=b"name=Z\n", y=b"name=Y\n"))
    (summary,) = retry(out, [one], READING).runs
    assert summary.written == 2
    paths = query(out, "select path from documents order by path").rows
    assert paths == [(f"{folder}/damaged.zip/y.txt",), (f"{folder}/damaged.zip/z.txt",)]


def locked_letter(password: str) -> bytes:
    words, plain = io.BytesIO(), io.BytesIO()
    letter = docx.Document()
    letter.add_paragraph("name=Letter")
    letter.save(plain)
    OOXMLFile(plain).encrypt(password, words)
    return words.getvalue()


def test_what_is_encrypted_opens_with_the_passwords_of_a_run_and_is_read_again_with_other_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inside := tmp_path / "in").mkdir()
    (inside / "a.zip").write_bytes(encrypted_zip("x.txt", b"name=X\n", "open sesame"))
    (inside / "a.docx").write_bytes(locked_letter("open sesame"))
    out = tmp_path / "out"
    assert extract([inside], NAMES_ALONE, out, READING, RunOptions(workers=1)).reasons == {"password": 2}
    assert extract([inside], NAMES_ALONE, out, READING, RunOptions(workers=1)).skipped == 2
    monkeypatch.setenv("CINNABAR_PASSWORDS", "wrong\nopen sesame")
    assert extract([inside], NAMES_ALONE, out, READING, RunOptions(workers=1)).written == 2
    assert held_documents(out) == []


def mail_with(name: str, content: bytes) -> bytes:
    mail = EmailMessage()
    mail["From"] = "a@example.org"
    mail.set_content("name=Mail\n")
    mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


def test_a_mail_with_a_locked_attachment_is_read_again_with_other_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.eml").write_bytes(mail_with("a.zip", encrypted_zip("x.txt", b"inside\n", "open sesame")))
    (tmp_path / "b.eml").write_bytes(mail_with("b.txt", b"open\n"))
    out = tmp_path / "out"

    def run(**options: bool) -> tuple[int, int]:
        paths = [tmp_path / "a.eml", tmp_path / "b.eml"]
        summary = extract(paths, NAMES_ALONE, out, READING, RunOptions(workers=1, **options))
        return summary.written, summary.skipped

    def flags() -> object:
        return query(out, "select flags from documents where path like '%a.eml'").rows

    assert run() == (2, 0) and flags() == [(["attachment_password"],)]
    monkeypatch.setenv("CINNABAR_PASSWORDS", "wrong")
    assert run() == (1, 1) and flags() == [(["attachment_password"],)]
    assert run() == (0, 2)
    monkeypatch.setenv("CINNABAR_PASSWORDS", "open sesame")
    # As many passwords as before: their number alone is kept.
    assert run() == (0, 2)
    assert run(retry_quarantined=True) == (1, 1) and flags() == [([],)]
    monkeypatch.setenv("CINNABAR_PASSWORDS", "wrong\nwronger\nopen sesame")
    assert run() == (0, 2)
    assert query(out, "select count(*) from note").rows == [(2,)]


def test_forgetting_an_archive_or_a_mailbox_forgets_all_that_is_in_it(folder: Path, tmp_path: Path) -> None:
    (folder / "box.mbox").write_bytes(
        b"".join(b"From a@x.org Mon May  6 10:00:00 2024\nSubject: S\n\nname=M%d\n\n" % n for n in (1, 2))
    )
    (folder / "more").mkdir()
    (folder / "more" / "c.txt").write_text("name=C\n")
    out = tmp_path / "out"
    extract([folder, folder / "a.zip"], NAMES_ALONE, out, READING, RunOptions(workers=1))
    for name in (str(folder), str(folder / "more"), "more", "box.mbo"):
        with pytest.raises(UsageError, match="no document"):
            forget(out, name, dry_run=True)
    assert len(forget(out, "a.zip", dry_run=True).digests) == 2
    archive = forget(out, str(folder / "a.zip"))
    assert sorted(archive.paths) == sorted(f"{folder}/a.zip{inside}" for inside in ("", "/x.txt", "/inner.zip/y.txt"))
    assert archive.rows["runs"] == 2
    assert query(out, "select name from note order by name").rows == [("B",), ("C",), ("M1",), ("M2",)]
    assert f"{folder}/a.zip" not in str(query(out, "select arguments from runs").rows)
    assert forget(out, "box.mbox").rows["data"] == 2
    assert query(out, "select name from note order by name").rows == [("B",), ("C",)]


def test_a_member_that_cannot_be_read_says_why(folder: Path) -> None:
    with Unpacker() as unpacker:
        members = unpacker.members(folder / "a.zip")
        assert members is not None
        unpacker.close()
        (folder / "a.zip").unlink()
        with pytest.raises(DocumentError) as problem:
            members[0].read()
    assert (problem.value.code, problem.value.detail) == ("not_a_file", "No such file or directory")


def test_an_archive_leaves_quarantine_only_once_it_was_opened_later(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    archive, whole = folder / "damaged.zip", zipped(z=b"name=Z\n")
    (folder / "damaged.zip0").write_text("another file whose path begins with that of the archive")
    for data, code in ((whole, []), (whole[:30], ["broken"]), (whole, []), (whole[:30], ["broken"])):
        archive.write_bytes(data)
        extract([folder], NAMES_ALONE, out, READING, RunOptions(workers=1))
        assert [one.code for one in held_documents(out) if one.path == str(archive)] == code


def test_office_files_and_other_files_are_no_archives(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document><body><p><r><t>words</t></r></p></body></document>")
    for name in ("letter", "letter.zip", "letter.docx"):
        (tmp_path / name).write_bytes(made.getvalue())
    (tmp_path / "note.zip").write_text("only words")
    assert [one.path for one in found(tmp_path)] == sorted(str(path) for path in tmp_path.iterdir())


def test_an_archive_that_changes_after_it_was_listed_is_not_read(folder: Path) -> None:
    with Unpacker() as unpacker:
        members = unpacker.members(folder / "a.zip")
        assert members is not None and members[0].read() == b"name=X\n"
        unpacker.members(folder / "damaged.zip")
        (folder / "a.zip").write_bytes(zipped(x=b"name=Other\n"))
        for member in members:
            with pytest.raises(DocumentError, match="has changed"):
                member.read()


def test_archives_take_turns_in_one_process(folder: Path) -> None:
    (folder / "c.zip").write_bytes(zipped(x=b"name=C\n"))
    with Unpacker() as unpacker:
        first, second = unpacker.members(folder / "a.zip"), unpacker.members(folder / "c.zip")
        assert first is not None and second is not None
        assert [one.read() for one in (first[0], second[0], first[1])] == [b"name=X\n", b"name=C\n", b"name=Y\n"]


def test_a_process_that_dies_leaves_one_problem_and_the_next_archive_is_read(folder: Path) -> None:
    with Unpacker() as unpacker:
        members = unpacker.members(folder / "a.zip")
        assert members is not None and unpacker._process is not None
        unpacker._process.interrupt()
        dead = unpacker.members(folder / "a.zip")
        assert dead is not None and [one.problem.code for one in dead if one.problem] == ["worker_died"]
        assert members[0].read() == b"name=X\n"


def test_a_link_to_an_archive_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.zip").write_bytes(zipped(x=b"name=Secret\n"))
    (folder / "link.zip").symlink_to(tmp_path / "secret.zip")
    problem = {one.path: one.problem for one in found(folder)}[str(folder / "link.zip")]
    assert problem is not None and problem.code == "not_a_file"
    assert [one.path for one in found(folder / "link.zip")] == [str(folder / "link.zip/x.txt")]


def test_nothing_is_written_while_archives_are_read(folder: Path) -> None:
    (folder / "e.zip").write_bytes(zipped(x=b"name=E\n"))
    before = sorted(folder.rglob("*"))
    for one in found(folder):
        if isinstance(one.content, ArchiveMember) and one.problem is None:
            with Unpacker() as unpacker:
                assert unpacker.members(one.content.file)
    assert sorted(folder.rglob("*")) == before


def test_the_archive_around_a_path_is_found(folder: Path) -> None:
    assert archive_around(folder / "a.zip" / "inner.zip" / "y.txt") == folder / "a.zip"
    assert archive_around(folder / "b.txt" / "y.txt") is None
    assert archive_around(folder / "gone" / "y.txt") is None
    os.mkfifo(folder / "pipe.zip")
    assert archive_around(folder / "pipe.zip" / "y.txt") is None
