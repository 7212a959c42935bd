"""The report of parties: pairs of alike fields, the outcomes of a pair in a document, and the table."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.party_report import cells, main, outcome, pairs_of, tallies
from tiny_network import VOCABULARY, form_of, tiny_network

from cinnabar.engine.models.loading import save_network
from cinnabar.extraction.quality.evaluation import EvaluationSet, load_set

TEXT: dict[str, Any] = {"type": ["string", "null"]}
TRUE = ("Anna", "Bert")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (("Anna", "Bert"), "right"),
        (("ANNA ", "bert"), "right"),
        (("Bert", "Anna"), "changed"),
        (("Anna", "Anna"), "same"),
        (("Bert", "Bert"), "same"),
        (("Bert", None), "taken"),
        (("Carl", "Anna"), "taken"),
        (("Anna", None), "other"),
        (("Carl", "Bert"), "other"),
    ],
)
def test_an_outcome_tells_which_field_has_the_value_of_the_other(found: tuple[Any, Any], told: str) -> None:
    assert outcome(TRUE, found) == told


def test_a_document_with_one_value_counts_only_if_the_empty_field_has_it() -> None:
    assert outcome(("Anna", None), ("Anna", "Anna")) == outcome((None, "Bert"), ("Bert", None)) == "into empty"
    assert outcome(("Anna", None), ("Anna", "Carl")) is outcome(("Anna", None), (None, None)) is None


def test_documents_with_equal_values_or_none_do_not_count() -> None:
    assert outcome(("Anna", "anna"), ("Bert", None)) is outcome((None, None), ("Anna", None)) is None


def test_a_value_that_is_right_for_both_fields_is_nobody_elses() -> None:
    assert outcome(TRUE, ("Anna", "Anna"), ((), ("Anna",))) == "right"


def test_the_cells_have_all_counts_the_share_of_exchanges_and_those_without_the_rule() -> None:
    tally = Counter({"right": 4, "changed": 1, "same": 1, "other": 2, "into empty": 3})
    assert cells(tally, Counter({"taken": 5})) == ["8", "4", "1", "1", "0", "2", "0.50", "3", "5"]


def parcels(folder: Path) -> Path:
    (folder / "docs").mkdir(parents=True)
    schema = {"type": "object", "required": ["sender", "receiver"], "properties": {"sender": TEXT, "receiver": TEXT}}
    (folder / "schema.json").write_text(json.dumps(schema))
    for i in range(3):
        (folder / "docs" / f"{i}.txt").write_text(f"Sender: Anna {i}\nReceiver: Bert {i}\n")
    lines = [
        {"file": f"docs/{i}.txt", "truth": {"sender": f"Anna {i}", "receiver": f"Bert {i}"}} for i in range(3)
    ]
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_documents_of_a_set_are_counted_by_pair(tmp_path: Path) -> None:
    labelled: EvaluationSet = load_set(parcels(tmp_path / "parcels"))
    (pair,) = pairs_of(form_of(sender=TEXT, receiver=TEXT, number={"type": "integer"}))
    records = [{"sender": "Anna 0", "receiver": "Bert 0"}, {"sender": "Bert 1", "receiver": "Anna 1"}, None]
    predicted = {f"docs/{i}.txt": {"record": record} for i, record in enumerate(records)}
    assert tallies(labelled, predicted, [pair]) == {pair: Counter(right=1, changed=1, other=1)}


def test_the_table_ends_with_the_sum_over_all_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_network(tmp_path / "model", tiny_network(), VOCABULARY, {"name": "tiny"})
    more = ("--limit", "2", "--model", tmp_path / "model", "--device", "cpu")
    monkeypatch.setattr(sys, "argv", ["party_report", *map(str, (parcels(tmp_path / "parcels"), *more))])
    main()
    _, _, head, _, *rows = capsys.readouterr().out.splitlines()
    cells_of = [[cell.strip() for cell in row.strip("|").split("|")] for row in (head, *rows)]
    assert cells_of[0][:3] == ["set", "pair", "documents"] and cells_of[-1][0] == "all"
    assert all(len(row) == len(cells_of[0]) for row in cells_of)
    assert sum(int(row[2]) for row in cells_of[1:-1]) == int(cells_of[-1][2])
