"""Everyday invoices: each truth holds and adds up, and the sealed half is the one whose digest was written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.everyday_invoices.__main__ import HERE, lay_out, score

from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.learning.evaluation import broken_truths
from cinnabar.extraction.run.batch.labelled_sets import load_set
from cinnabar.schemas import load_schema


@pytest.mark.parametrize("sealed", [False, True])
def test_each_truth_holds_under_the_schema_and_its_lines_add_up(sealed: bool, tmp_path: Path) -> None:
    digest = lay_out(tmp_path, sealed)

    found = load_set(tmp_path)
    assert broken_truths(found.truths, Validator(load_schema(found.schema))) == []
    assert len(found.truths) == 20
    for truth in (line["truth"] for line in found.truths):
        lines = sum(item["amount"] for item in truth["items"])
        assert min(abs(lines - sums) for sums in (truth["net_total"] or 0.0, truth["total"])) < 0.005
    assert not sealed or digest == (HERE / "sealed" / "digest").read_text("utf-8").strip()


def test_the_score_tells_rows_cells_and_sure_misses(tmp_path: Path) -> None:
    lay_out(tmp_path, False)
    found = load_set(tmp_path).select(limit=2)
    first, second = (json.loads(json.dumps(line["truth"])) for line in found.truths)
    second["items"].append({**second["items"][0], "description": "Another", "amount": 0.5, "quantity": 77})
    second["total"] += 1
    files = [line["file"] for line in found.truths]
    read = {
        files[0]: {"record": first, "confidence": {"/total": 0.95}, "lists": {"/items": 0.8}},
        files[1]: {"record": second, "confidence": {"/total": 0.95}, "lists": {"/items": 0.97}},
    }

    told = score(found, read)

    assert told[-5:] == [
        "lists with exactly their rows: 1 of 2",
        "lists with every cell right: 1 of 2",
        "lists told at 0.9 or more: 1, of these without exactly their rows: 1",
        "values outside of lists right, nulls too: 23 of 24",
        "values told at 0.9 or more: 2, of these wrong: 1",
    ]
