"""Inputs that are not read: files of the system, empty files, and documents that were read before and lock up now."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pypdf
import pytest
from tests.support.begun_runs import backfill
from tests.support.drawn_pages import drawn
from tests.support.reading_model import READING

from cinnabar.extraction.documents.inputs import is_system_file
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import SchemaSource, load_schema


def schema(*names: str) -> SchemaSource:
    properties = {name: {"type": ["string", "null"]} for name in names}
    return load_schema({"title": "note", "type": "object", "properties": properties, "required": [*names]})


OPTIONS = RunOptions(workers=1)


def run(folder: Path, options: RunOptions = OPTIONS, *more: Path) -> Summary:
    return extract([folder, *more], schema("name"), folder.parent / "out", READING, options)


def outcomes(out: Path, run_id: str) -> dict[str, tuple[Any, ...]]:
    rows = query(out, f"select path, outcome, code, detail from outcomes where run_id = '{run_id}'").rows
    return {Path(row[0]).name: row[1:] for row in rows}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("name=Anna")
    return docs


def test_files_of_the_system_are_skipped_with_their_own_code(folder: Path) -> None:
    (folder / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    (folder / "~$letter.docx").write_bytes(b"\x05Anna" + bytes(160))
    (folder / "desktop.ini").write_text("[.ShellClassInfo]\nname=Bob")
    (folder / "a.txt:Zone.Identifier").write_text("[ZoneTransfer]\nZoneId=3")
    (folder / "._a.txt").write_bytes(b"\x00\x05\x16\x07")
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.writestr("b.txt", "name=Bob")
        archive.writestr("sub/Thumbs.db", "name=Eve")
    summary = run(folder, OPTIONS, folder / "._a.txt")
    assert (summary.written, summary.quarantined, summary.skips) == (2, 0, {"system_file": 6})
    assert {row[1] for row in outcomes(folder.parent / "out", summary.run_id).values()} == {None, "system_file"}


@pytest.mark.parametrize("name", ["thumbnails.db.pdf", "my desktop.ini.txt", "icon.png", "~notes.txt", "a/@me/b.txt"])
def test_a_document_of_a_like_name_is_none(name: str) -> None:
    assert not is_system_file(name)


def test_empty_files_are_no_duplicates_of_each_other(folder: Path) -> None:
    (folder / "empty.pdf").touch()
    (folder / "empty.txt").touch()
    found = outcomes(folder.parent / "out", run(folder).run_id)
    assert found["empty.pdf"][:2] == found["empty.txt"][:2] == ("quarantined", "empty")
    assert "zero bytes" in found["empty.txt"][2] and "with content" in found["empty.txt"][2]
    assert run(folder).skips == {"done": 3}


@pytest.fixture
def locked(folder: Path) -> Path:
    """A folder with the record of an encrypted PDF, read with its password."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(lambda sheet: sheet.drawString(72, 700, "name=Bob"))))
    writer.encrypt("key", "owner", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    (folder / "b.pdf").write_bytes(buffer.getvalue())
    (folder.parent / "passwords").write_text("key")
    assert run(folder, unlocked(folder)).written == 2
    return folder


def unlocked(folder: Path) -> RunOptions:
    """The options that name the file with the password."""
    return OPTIONS.model_copy(update={"password_file": str(folder.parent / "passwords")})


@pytest.mark.parametrize("again", ["backfill", "extract"])
def test_a_record_that_was_read_with_a_password_stays_without_it(locked: Path, again: str) -> None:
    out = locked.parent / "out"

    def once(options: RunOptions) -> Summary:
        if again == "extract":
            return extract([locked], schema("name"), out, READING, options.model_copy(update={"context": 512}))
        found = backfill(schema("name", "day"), out, READING, None, options)
        assert found is not None
        return found

    summary = once(OPTIONS)
    assert (summary.written, summary.quarantined, summary.skips) == (1, 0, {"password": 1})
    assert "the record that was read before stays" in outcomes(out, summary.run_id)["b.pdf"][2]
    assert held_documents(out) == []
    assert query(out, "select count(*) from records where latest and path like '%b.pdf'").rows == [(1,)]
    assert once(OPTIONS).written == 0
    assert once(unlocked(locked)).written == 1
