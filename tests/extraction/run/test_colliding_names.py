"""Inputs whose names or digests could be equal: each has an outcome of its own, and none replaces another."""

from __future__ import annotations

import hashlib
import io
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import packet_files
from tests.support.effort import some
from tests.support.notes import NOTE
from tests.support.reading_model import READING
from tests.support.split_packet import run

from cinnabar.extraction.documents.content.inputs import FRAGMENT, file_of, file_path, own_path
from cinnabar.extraction.documents.inputs import input_of
from cinnabar.extraction.documents.packets.part import PageRange
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query, show

MBOX = "From a@b.example Mon Jan  1 10:00:00 2024\nFrom: a@b.example\nSubject: s\n\n{}\n"
PACKET = packet_files.three()


def zipped(**files: str | bytes) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return whole.getvalue()


def mail_and_file(folder: Path, text: Callable[[], str], draw: random.Random) -> int:
    mbox = draw.choice(["m.mbox", "m#1", "m.mbox#same=2", "m%231"])
    (folder / mbox).write_text(MBOX.format(text()))
    (folder / f"{mbox}#1").write_text(MBOX.format(text()).partition("\n")[2])
    return 2


def escaped_and_plain(folder: Path, text: Callable[[], str], draw: random.Random) -> int:
    tail = draw.choice(["1", "same=2", "pages=1-2", "pages=3-4&kind=a%23b", "12"])
    for mark in ("#", "%23", "%2523"):
        (folder / f"x{mark}{tail}").write_text(MBOX.format(text()).partition("\n")[2])
    return 3


def members(folder: Path, text: Callable[[], str], draw: random.Random) -> int:
    inner = draw.choice(["a.txt", "sub/a.txt"])
    nested = {"x.zip": zipped(**{inner: text()}), f"x.zip/{inner}": text()}
    (folder / "all.zip").write_bytes(zipped(**dict(draw.sample(sorted(nested.items()), 2))))
    return 2


def stored_alike(folder: Path, text: Callable[[], str], draw: random.Random) -> int:
    stem = draw.choice(["a\n{}", "\t{}", "{}\x07"])
    for name in (stem, stem.encode("unicode_escape").decode()):
        (folder / f"{name.format('b')}.txt").write_text(text())
    return 2


def maildir(folder: Path, text: Callable[[], str], draw: random.Random) -> int:
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir()
    for mark in ("#", "%23"):
        name = f"mail{mark}{draw.randint(1, 9)}"
        (folder / draw.choice(["cur", "new"]) / name).write_text(MBOX.format(text()).partition("\n")[2])
    return 2


def parts_and_files(folder: Path, text: Callable[[], str], draw: random.Random) -> int:
    # Another end, so that no two packets have the same bytes.
    data = PACKET + f"\n% {draw.random()}\n".encode()
    (folder / "p.pdf").write_bytes(data)
    (folder / "p.pdf#pages=1-2").write_text(MBOX.format(text()).partition("\n")[2])
    note = f"{hashlib.sha256(data).hexdigest()}#{PageRange(3, 5)}"
    (folder / "note.txt").write_text(note)
    return 5


KINDS = (mail_and_file, escaped_and_plain, members, stored_alike, maildir)


def rows(out: Path) -> list[tuple[object, ...]]:
    return query(out, "SELECT document, path, record_json FROM records ORDER BY ALL").rows


def test_of_eighty_pairs_that_collide_each_input_has_an_outcome_and_keeps_it(tmp_path: Path) -> None:
    draw, docs, out, count = random.Random(7), tmp_path / "docs", tmp_path / "out", 0
    texts = iter(range(10_000))
    for number in range(80):
        (folder := docs / f"{number:03}").mkdir(parents=True)
        kind = parts_and_files if number % 16 == 0 else draw.choice(KINDS)
        count += kind(folder, lambda: f"name=N{next(texts)}\ntotal=1.5\n", draw)
    first = run(docs, out)
    # The notes alone have no name, and the packets repeat three.
    assert (first.inputs, first.skipped, first.reasons) == (count, 0, {"missing": 5})
    assert first.written == count - 5
    found = query(out, "SELECT count(*), count(DISTINCT path), count(DISTINCT document) FROM outcomes").rows
    assert found == [(count, count, count)]
    written = {name for (name,) in query(out, "SELECT name FROM note WHERE name LIKE 'N%'").rows}
    assert written == {f"N{number}" for number in range(next(texts))}
    kept = rows(out)
    again = run(docs, out)
    assert (again.inputs, again.skips) == (count, {"done": count}) and rows(out) == kept


@given(st.text("a#%235/&=1") | st.from_regex(r"[a%/]*(#|%23|%2523)(1|pages=1-2|same=2)", fullmatch=True))
def test_no_two_paths_are_written_alike_nor_like_a_made_name(path: str) -> None:
    own = own_path(path)
    assert file_path(own) == file_of(own) == file_of(f"{own}#pages=1-2") == path
    assert re.search(rf"#{FRAGMENT}\Z", own) is None


def test_forgetting_a_file_keeps_one_that_is_named_like_its_part(tmp_path: Path) -> None:
    (docs := tmp_path / "docs").mkdir()
    (docs / "pack.pdf").write_bytes(PACKET)
    for name in ("pack.pdf#pages=9-9", "pack.pdf#pages=1-2", "m.mbox#1"):
        (docs / name).write_text(MBOX.format(f"name={name[-3:].strip('ox')}").partition("\n")[2])
    (docs / "m.mbox").write_text(MBOX.format("name=Mail"))
    out = tmp_path / "out"
    run(docs, out)
    (shown,) = show(out, "pack.pdf#pages=9-9")
    with DocumentLookup(out) as lookup:
        assert lookup.find([shown.path], shown.document, None) == docs / "pack.pdf#pages=9-9"
    forget(out, "pack.pdf")
    forget(out, "m.mbox")
    left = query(out, "SELECT name FROM note ORDER BY 1").rows
    assert left == [("#1",), ("1-2",), ("9-9",)]
    forget(out, "pack.pdf#pages=9-9")
    assert query(out, "SELECT count(*) FROM outcomes").rows == [(2,)]


def test_bytes_and_a_file_of_one_path_are_two_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("name=File")
    given = [input_of("a.txt", b"name=Bytes"), Path("a.txt"), Path("./a.txt")]
    done = extract(given, NOTE, tmp_path / "out", READING, RunOptions(workers=1))
    assert (done.inputs, done.written) == (2, 2)
    assert query(tmp_path / "out", "SELECT path, name FROM note ORDER BY 1").rows == [
        ("a.txt", "File"), ("a.txt#same=2", "Bytes"),
    ]  # fmt: skip


def test_folders_that_two_runs_spell_alike_are_two_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "docs").mkdir(parents=True)
        (tmp_path / place / "docs" / "a.txt").write_text(f"name={place}")
    monkeypatch.chdir(tmp_path / "one")
    extract([Path("docs")], NOTE, tmp_path / "out", READING, RunOptions(workers=1))
    monkeypatch.chdir(tmp_path / "two")
    both = [Path("docs"), tmp_path / "one" / "docs"]
    assert extract(both, NOTE, tmp_path / "out", READING, RunOptions(workers=1)).inputs == 2
    assert query(tmp_path / "out", "SELECT name FROM note ORDER BY 1").rows == [("one",), ("two",)]


@pytest.mark.parametrize("given", some({"docs"}, ["docs", "docs/a.txt", "."]))
def test_a_relative_path_from_another_folder_is_another_input(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for place in ("one", "two", "one", "two"):
        (tmp_path / place / "docs").mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "docs" / "a.txt").write_text(f"name={place}")
        monkeypatch.chdir(tmp_path / place)
        extract([Path(given)], NOTE, out, READING, RunOptions(workers=1))
    found = query(out, "SELECT path, name, document FROM note ORDER BY 2").rows
    assert [row[:2] for row in found] == [("docs/a.txt", "one"), ("../two/docs/a.txt", "two")]
    with DocumentLookup(out) as lookup:
        for path, place, document in found:
            at = lookup.find([path], document, None)
            assert at is not None and at.samefile(tmp_path / place / "docs" / "a.txt")
    # What was changed in its own place takes the older row's.
    Path("docs/a.txt").write_text("name=three")
    extract([Path(given)], NOTE, out, READING, RunOptions(workers=1))
    assert query(out, "SELECT name FROM note ORDER BY 1").rows == [("one",), ("three",)]


def test_a_file_named_like_a_digest_is_no_document_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("total=1")
    name = hashlib.sha256(b"total=1").hexdigest()
    Path(name).touch()
    extract([Path("a.txt"), Path(name)], NOTE, tmp_path / "out", READING, RunOptions(workers=1))
    held = query(tmp_path / "out", "SELECT path, code FROM quarantine ORDER BY code").rows
    assert held == [(name, "empty"), ("a.txt", "missing")]
    assert [one.code for one in show(tmp_path / "out", name)] == ["empty"]
