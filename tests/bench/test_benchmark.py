"""The benchmark: each of its parts runs, and its tables name the machine and the documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench.benchmark import answer_report, context_report, main, steps_report
from bench.experiments import OpenSet, answer_rows, context_rows, steps_rows
from bench.long_lists import ledger, read_ledger
from bench.mixture import mixed_documents
from bench.reporting import machine, table
from bench.timing import throughput
from reading_model import ReadingModel

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.loading import load_model
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest import parse
from cinnabar.extraction.quality.evaluation import load_set
from cinnabar.schemas.errors import UsageError

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
TEXTS = {
    "1.txt": ("number=A7\ntotal=12\n", "A7", 12),
    "2.txt": ("number=B9\ntotal=99\n" + "word\n" * 200, "B9", 5),
}
SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": ["string", "null"]}, "total": {"type": ["integer", "null"]}},
    "required": ["number", "total"],
}


@pytest.fixture(name="labelled")
def _labelled(tmp_path: Path) -> OpenSet:
    lines: list[dict[str, Any]] = []
    for name, (text, number, total) in TEXTS.items():
        (tmp_path / name).write_text(text)
        lines.append({"file": name, "truth": {"number": number, "total": total}})
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return OpenSet(load_set(tmp_path))


def test_mixed_documents_have_their_own_bytes_and_stay_the_same() -> None:
    documents = list(mixed_documents(SAMPLES, 60))
    assert len({document.data for document in documents}) == 60
    assert {Path(document.name).suffix for document in documents} == {".pdf", ".eml", ".txt"}
    assert documents == list(mixed_documents(SAMPLES, 60))


def test_a_marked_sample_reads_as_the_sample() -> None:
    documents = [d for d in mixed_documents(SAMPLES, 30) if d.name.endswith((".pdf", ".eml"))]
    assert all(isinstance(parse(d.data, d.name), Document) for d in documents[:5])


def test_mixed_documents_without_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected sample documents"):
        next(mixed_documents(tmp_path, 1))


def test_every_stage_of_a_run_has_its_rate(capsys: pytest.CaptureFixture[str]) -> None:
    report = "\n".join(throughput(ReadingModel(100_000), list(mixed_documents(SAMPLES, 20)), "low", 1))
    stages = re.findall(r"^\| ([a-z, ]+) \| [\d.]+ \| [\d.]+ \|", report, re.MULTILINE)
    assert stages == [
        "ingest", "encode", "rows", "score", "commit", "validate", "cut, merge, evidence",
        "store", "all, one after the other",
    ]  # fmt: skip
    counts = re.findall(r"(\d+) (?:written|quarantined)", report)
    assert sum(map(int, counts)) == 20
    assert "20 of 20 documents" in capsys.readouterr().err


def test_steps_are_compared_by_their_right_values(labelled: OpenSet) -> None:
    rows = list(steps_rows(ReadingModel(), [labelled], (1, 2)))
    assert [row.steps for row in rows] == [1, 2]
    assert rows[0].f1 == pytest.approx(0.75)
    assert (rows[1].reopened, rows[1].corrected, rows[1].spoiled) == (0, 0, 0)
    places = labelled.right(labelled.predictions(Engine(ReadingModel())))
    assert places == {
        ("1.txt", "/number"): True, ("1.txt", "/total"): True,
        ("2.txt", "/number"): True, ("2.txt", "/total"): False,
    }  # fmt: skip


def test_a_shorter_context_makes_more_chunks_and_is_compared(labelled: OpenSet) -> None:
    [row] = context_rows(ReadingModel(), [labelled], 64)
    assert (row.documents, row.cut, row.whole, row.short) == (2, 1, 0.75, 0.75)


def test_confidence_thresholds_are_compared_by_cost_and_saving(labelled: OpenSet) -> None:
    rows = list(answer_rows(ReadingModel(), [labelled], (0.1, 0.9)))
    assert [(row.answer, row.f1, row.invented) for row in rows] == [(0.1, 0.75, 0.0), (0.9, 0.75, 0.0)]


def test_reports_are_tables_in_markdown(labelled: OpenSet) -> None:
    model = ReadingModel()
    for report in (steps_report(model, [labelled]), context_report(model, [labelled], 64, "low"),
                   answer_report(model, [labelled])):  # fmt: skip
        text = "\n".join(report)
        assert re.search(r"^\|---\|(---:\|)+$", text, re.MULTILINE), text
    assert table(("a", "b"), [("x", "1")]) == "| a | b |\n|---|---:|\n| x | 1 |"


def test_the_machine_is_named() -> None:
    assert re.search(r"commit \S+, .+ cores, \d+ threads, device cpu, torch ", machine(ReadingModel()))


def test_a_folder_without_sets_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"benchmark: .*expected"):
        main(["--model", str(tmp_path), "--parts", "steps"])


@pytest.mark.parametrize("rows", [80, pytest.param(200, marks=pytest.mark.slow)])
def test_a_list_over_many_pages_is_complete_right_and_in_order(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In bfloat16 the model may miss a row among hundreds, on one processor and not on another.
    monkeypatch.setenv("CINNABAR_PRECISION", "float32")
    read = read_ledger(load_model("default", "cpu"), "medium", rows)
    assert (read.found, read.right) == (rows, rows)


def test_a_ledger_prints_exactly_its_expected_rows() -> None:
    text, rows = ledger(130)
    printed = [line.split() for line in text.splitlines() if re.match(r"\d\d\.", line)]
    assert [line[1] for line in printed] == [row["item_number"] for row in rows]
    assert [float(line[-1]) for line in printed] == [row["unit_price"] for row in rows]
    assert text.count("Date") == text.count("page") == 3
