"""Documents are found again by their bytes from any working directory, and no table stores their folders."""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.begun_runs import backfill
from tests.support.reading_model import READING

from cinnabar.errors import UsageError
from cinnabar.extraction.documents import inputs
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill import document_lookup
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.backfill.retrying import retry
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.spelling import FILE, KEPT, known_folders, remember
from cinnabar.schemas import SchemaSource, load_schema

ONE = RunOptions(workers=1)


def schema(*names: str) -> SchemaSource:
    fields = {name: {"type": ["string", "null"]} for name in names} | {"name": {"type": "string"}}
    return load_schema({"title": "note", "type": "object", "properties": fields, "required": ["name"]})


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and their results, read from within it by relative paths."""
    base = tmp_path_factory.mktemp("read")
    (base / "docs").mkdir()
    (base / "docs" / "1.txt").write_text("name=A\nday=mon\n")
    (base / "docs" / "2.txt").write_text("name=B\nday=tue\n")
    (base / "docs" / "3.txt").write_text("day=wed\n")
    with chdir(base):
        extract([Path("docs")], schema(), Path("out"), READING, ONE)
    return base


@pytest.fixture
def office(read: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, in which the test works."""
    base = shutil.copytree(read, tmp_path / "office")
    monkeypatch.chdir(base)
    return base


def days(out: Path) -> list[tuple[Any, ...]]:
    return query(out, "select name, day from note_all order by name").rows


def test_a_backfill_finds_documents_from_any_working_directory(
    office: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The new working directory has another file of that name, and all folders have moved.
    (tmp_path / "elsewhere" / "docs").mkdir(parents=True)
    (tmp_path / "elsewhere" / "docs" / "1.txt").write_text("name=Z\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    office.rename(tmp_path / "moved")
    moved = Path("..", "moved")
    (found,) = retry(moved / "out", held_documents(moved / "out"), READING).runs
    assert (found.inputs, found.quarantined) == (1, 1)
    summary = backfill(schema("day"), moved / "out", READING, options=ONE)
    assert summary is not None and (summary.written, summary.skipped) == (2, 0)
    assert days(moved / "out") == [("A", "mon"), ("B", "tue")]
    paths = query(moved / "out", "select distinct path from outcomes order by path").rows
    assert paths == [("docs/1.txt",), ("docs/2.txt",), ("docs/3.txt",)]
    for file in moved.rglob("*.parquet"):
        assert str(tmp_path) not in json.dumps(pq.read_table(file).to_pylist(), default=str), file
    assert str(tmp_path) not in (moved / "out" / FILE).read_text()


@pytest.mark.slow
def test_missing_documents_are_searched_in_the_folders_that_the_user_names(
    office: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = (office / "out").rename(tmp_path / "alone")
    monkeypatch.chdir(tmp_path)
    summary = backfill(schema("day"), out, READING, options=ONE)
    assert summary is not None and (summary.written, summary.skipped) == (0, 2)
    ((detail,),) = query(out, "select detail from outcomes where path = 'docs/1.txt' and code = 'gone'").rows
    assert detail == (
        "docs/1.txt is not there any more; the record of the version before stays;"
        " if it has moved, or lies behind IMAP, name its place with --from"
    )
    assert retry(out, held_documents(out), READING).gone == {"docs/3.txt": "docs/3.txt is not there any more"}
    (office / "docs" / "2.txt").rename(office / "docs" / "renamed.txt")
    (found,) = retry(out, held_documents(out), READING, others=[office]).runs
    assert (found.inputs, found.quarantined) == (1, 1)
    summary = backfill(schema("day"), out, READING, options=ONE, others=[office / "docs"])
    assert summary is not None and (summary.written, summary.skipped) == (2, 0)
    assert days(out) == [("A", "mon"), ("B", "tue")]
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        backfill(schema("day", "more"), out, READING, options=ONE, others=[Path("nowhere")])


def test_bytes_decide_and_not_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, first, second = (tmp_path / name for name in ("out", "first", "second"))
    for folder in (out, first, second):
        folder.mkdir()
    for folder in (first, second):
        remember(out, folder)
        (folder / "a.txt").write_text(f"this is {folder.name}")
    monkeypatch.chdir(out)
    with DocumentLookup(out) as found:
        for folder in (first, second):
            text = f"this is {folder.name}"
            assert found.find(["a.txt"], digest(text), len(text)) == folder / "a.txt"
        assert found.find(["a.txt"], digest("another"), 7) is None
        # Without known bytes, the folder of the latest run counts.
        assert found.lying_at("a.txt") == found.file_at("a.txt") == second / "a.txt"
        assert found.lying_at("b.txt") is None
        assert found.file_at("x" * 5000) is None
    # The search does not follow a link out of its folder.
    (out / "link.txt").symlink_to(first / "a.txt")
    with DocumentLookup(tmp_path, [out]) as found:
        assert found.find(["gone.txt"], digest("this is first"), 13) is None


def test_only_files_of_the_right_size_are_read_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("right", "four"), ("same-size", "five"), ("other", "three")):
        (tmp_path / name).write_text(text)
    looked, real = [], inputs.examine
    monkeypatch.setattr(
        document_lookup, "examine", lambda item, roots: looked.append(item.name) or real(item, roots)
    )
    with DocumentLookup(tmp_path / "out", [tmp_path]) as found:
        assert found.find(["gone"], digest("four"), 4) == tmp_path / "right"
        assert found.find(["gone"], digest("nine"), 4) is None
        assert sorted(looked) == ["right", "same-size"]
        assert found.find(["gone"], digest("three"), None) == tmp_path / "other"


def test_folders_are_remembered_once_latest_first_and_up_to_a_limit(tmp_path: Path) -> None:
    folders = [tmp_path / "in" / str(number) for number in range(KEPT + 3)]
    for folder in folders:
        remember(tmp_path, folder)
    remember(tmp_path, folders[20])
    latest = [folders[20], *(folder for folder in reversed(folders) if folder != folders[20])]
    assert known_folders(tmp_path) == latest[:KEPT]
    (tmp_path / FILE).write_text("{half")
    assert known_folders(tmp_path) == []
    remember(tmp_path, folders[0])
    assert known_folders(tmp_path) == [folders[0]]


def test_a_run_over_absolute_paths_alone_remembers_nothing(office: Path, tmp_path: Path) -> None:
    extract([office / "docs"], schema(), tmp_path / "out", READING, ONE)
    assert known_folders(tmp_path / "out") == [] and known_folders(office / "out") == [office]
