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
from cinnabar.schemas.form.form import Form

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
    assert outcome(TRUE, ("Carl", "Anna"), ((), ("Anna",))) == "other"


def test_the_cells_have_all_counts_and_the_share_of_exchanges_in_the_errors() -> None:
    tally = Counter({"right": 4, "changed": 1, "same": 1, "other": 2, "into empty": 3})
    assert cells(tally) == ["8", "4", "1", "1", "0", "2", "0.50", "3"]
    assert cells(Counter({"right": 2})) == ["2", "2", "0", "0", "0", "0", "-", "0"]


def pointers(form: Form) -> set[tuple[str, str]]:
    return {(one.path, other.path) for one, other in pairs_of(form)}


def test_texts_with_pointers_that_differ_in_one_step_are_pairs() -> None:
    party = {"type": "object", "properties": {"name": TEXT, "city": TEXT}, "required": ["name", "city"]}
    assert pointers(form_of(lender=party, taker=party, note=TEXT)) == {
        ("/lender/name", "/lender/city"),
        ("/taker/name", "/taker/city"),
        ("/lender/name", "/taker/name"),
        ("/lender/city", "/taker/city"),
    }


def test_values_of_other_kinds_and_texts_of_other_patterns_are_no_pairs() -> None:
    coded = TEXT | {"pattern": "^[A-Z]{3}$"}
    kinds = {
        "a": TEXT, "b": coded, "c": {"type": "number"}, "d": TEXT | {"format": "date"}, "e": {"enum": ["x", "y"]},
    }  # fmt: skip
    assert pointers(form_of(**kinds)) == set()
    assert pointers(form_of(**kinds, f=coded)) == {("/b", "/f")}


def test_texts_in_lists_and_in_branches_of_a_choice_are_no_pairs() -> None:
    row = {"type": "object", "properties": {"one": TEXT, "two": TEXT}, "required": ["one", "two"]}
    branches = [
        {"type": "object", "properties": {"kind": {"const": kind}, "name": TEXT}, "required": ["kind", "name"]}
        for kind in "ab"
    ]
    form = form_of(rows={"type": "array", "items": row}, own={"anyOf": branches})
    assert [slot.path for slot in form.slots].count("/own/name") == 2 and pointers(form) == set()


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
    # Every document counts in the last row, whether its pair has a row or not.
    assert cells_of[-1][2] == "2"
