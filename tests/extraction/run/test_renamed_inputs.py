"""A file that no parser reads under its name is read once it has another, and results among inputs are none."""

from __future__ import annotations

import random
import shutil
import zipfile
from pathlib import Path

import pytest
from tests.support.effort import first
from tests.support.notes import NOTE
from tests.support.reading_model import READING, ReadingModel
from tests.support.told_progress import Told

from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.reading import query

TEXT = "name=A\ntotal=1\n"
# A content, names under which it cannot be read, and one under which it can.
CONTENTS = (
    (TEXT.encode(), ("note", "a.pdf", "a.png", "a.xyz"), "a.txt"),
    (f"<html><body><p>{TEXT}</p></body></html>".encode(), ("a.pdf", "a.png"), "a.html"),
    (b"Subject: s\n\n" + TEXT.encode(), ("a.pdf", "a.jpg"), "a.eml"),
)


def read(place: Path, out: Path, told: Told | None = None, **options: object) -> Summary:
    chosen = RunOptions(workers=1, **options)  # type: ignore[arg-type]
    return extract([place], NOTE, out, READING, chosen, told)


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_a_refused_file_is_read_under_another_name_and_not_under_another_folder(tmp_path: Path, seed: int) -> None:
    draw, docs, out = random.Random(seed), tmp_path / "docs", tmp_path / "out"
    named = []
    for number, (data, bad, good) in enumerate(CONTENTS):
        (docs / str(number)).mkdir(parents=True)
        old = docs / str(number) / draw.choice(bad)
        old.write_bytes(data.replace(b"name=A", f"name=A{number}".encode()))
        named.append((old, docs / str(number) / good))
    assert read(docs, out).quarantined == 3
    assert read(docs, out).skips == {"done": 3}
    moved = docs / "moved"
    moved.mkdir()
    named[0][0].rename(moved / named[0][0].name)
    assert read(docs, out).skips == {"done": 3}
    (moved / named[0][0].name).rename(named[0][1])
    for old, new in named[1:]:
        old.rename(new)
    assert read(docs, out).written == 3
    assert query(out, "SELECT path FROM quarantine").rows == []
    assert read(docs, out).skips == {"done": 3}


@pytest.mark.parametrize("batch", [1, 8])
def test_of_the_same_bytes_under_several_names_the_readable_one_is_read(tmp_path: Path, batch: int) -> None:
    docs, out = tmp_path / "docs", tmp_path / "out"
    for number, (data, bad, good) in enumerate(CONTENTS):
        (docs / str(number)).mkdir(parents=True)
        for name in (*bad, good):
            (docs / str(number) / name).write_bytes(data.replace(b"name=A", f"name=A{number}".encode()))
    ended = read(docs, out, batch=batch)
    count = sum(len(bad) + 1 for _, bad, _ in CONTENTS)
    assert (ended.inputs, ended.written) == (count, 3)
    assert ended.inputs == ended.written + ended.quarantined + ended.skipped
    assert query(out, "SELECT path FROM quarantine").rows == []
    again = read(docs, out, batch=batch)
    assert (again.inputs, again.skipped) == (count, count)


def test_a_readable_file_of_two_suffixes_is_read_once(tmp_path: Path) -> None:
    (docs := tmp_path / "docs").mkdir()
    for name in ("a.csv", "a.txt", "b.txt", "note"):
        (docs / name).write_text(TEXT)
    model = ReadingModel()
    ended = extract([docs], NOTE, tmp_path / "out", ModelSource("reading", lambda: model), RunOptions(workers=1))
    assert (ended.written, ended.skips) == (1, {"duplicate": 3})
    assert model.passages == 1


def test_results_among_inputs_are_left_out_wherever_they_lie(tmp_path: Path) -> None:
    docs, tables = tmp_path / "docs", tmp_path / "docs" / "deep" / "tables"
    tables.parent.mkdir(parents=True)
    (docs / "a.txt").write_text(TEXT)
    (docs / "manifest").mkdir()
    (docs / "manifest" / "batch-0000000001.json").write_text('{"name": "B"}')
    read(docs, tables)
    shutil.copytree(tables, docs / "copied")
    with zipfile.ZipFile(docs / "all.zip", "w") as archive:
        for path in (path for path in tables.rglob("*") if path.is_file()):
            archive.write(path, f"old/{path.relative_to(tables)}")
    told = Told()
    assert read(docs, tmp_path / "other", told).inputs == 2
    left_out = [text.partition(": ")[0] for text in told.notes if "results of Cinnabar" in text]
    assert {name.removeprefix(f"{docs}/") for name in left_out} == {"all.zip/old/", "copied/", "deep/tables/"}
    assert read(docs / "copied", tmp_path / "third").inputs == 0
