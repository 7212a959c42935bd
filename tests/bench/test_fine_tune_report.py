"""The report of fine-tuning: what training on a few documents changes for the others of their set."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest
from tiny_network import VOCABULARY, tiny_network

from cinnabar.engine.models.loading import save_network

REPORT = "bench.fine_tune_report"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [REPORT, *map(str, arguments)])
    runpy.run_module(REPORT, run_name="__main__")


def letters(folder: Path, kind: str, count: int = 14) -> Path:
    (folder / "docs").mkdir(parents=True)
    schema = {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["letter", "notice"]}}}
    (folder / "schema.json").write_text(json.dumps(schema))
    for i in range(count):
        (folder / "docs" / f"{i}.txt").write_text(f"Dear reader {i},\nnothing here says what it is.\n")
    lines = [{"file": f"docs/{i}.txt", "truth": {"kind": kind}} for i in range(count)]
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.mark.slow
def test_the_table_has_a_row_for_each_set_and_their_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_network(tmp_path / "base", tiny_network(), VOCABULARY, {"name": "tiny"})
    sets = [letters(tmp_path / kind, kind) for kind in ("letter", "notice")]
    run(
        monkeypatch,
        *sets,
        "--documents",
        11,
        "--steps",
        40,
        "--model",
        tmp_path / "base",
        "--device",
        "cpu",
    )
    head, _, *rows = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]
    assert [row[:3] for row in cells[1:]] == [["letter", "11", "3"], ["notice", "11", "3"], ["mean", "", ""]]
    # Whatever the base reads, one of the two sets is right before the training and the other one after it.
    assert sorted(row[3] for row in cells[1:3]) == ["0.000", "1.000"]
    assert sorted(row[4] for row in cells[1:3]) == ["1.000", "not kept"]
    assert cells[3][3:5] == ["0.500", "1.000"] and all(len(row) == len(cells[0]) for row in cells)


def test_a_set_without_other_documents_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="letter: expected more than 14 documents, found 14"):
        run(monkeypatch, letters(tmp_path / "letter", "letter"), "--documents", 14)
