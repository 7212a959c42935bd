"""Evaluation: figures for predictions against the truth, and the sets that hold it."""

from __future__ import annotations

import json

import pytest

from cinnabar.errors import UsageError
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.learning.evaluation import (
    best_constant,
    best_constant_of,
    broken_truths,
    score,
    score_set,
    summarise,
)
from cinnabar.extraction.learning.scoring import area_under_curve
from cinnabar.extraction.run.batch.labelled_sets import find_sets, load_set
from cinnabar.schemas import load_schema


def line(file, truth, **more):
    return {"file": file, "truth": truth, **more}


def test_hits_wrong_and_missed_values_are_counted():
    truths = [line("a", {"x": "one", "y": 2, "z": None, "flag": False, "list": [{"n": 1}, {"n": 2}]})]
    record = {"x": "One!", "y": 3, "z": "invented", "flag": False, "list": [{"n": 2}, {"n": 5}]}
    figures = score(truths, {"a": {"record": record}})
    assert (figures["precision"], figures["recall"], figures["support"]) == (0.4, 0.5, 4)
    assert figures["f1"] == round(2 * 0.4 * 0.5 / 0.9, 4)
    assert (figures["scalars"], figures["lists"]) == (0.4, 0.5)
    assert figures["invented"] == 1.0
    assert list(figures["fields"]) == ["/flag", "/list/*/n", "/x", "/y", "/z"]
    assert figures["fields"]["/list/*/n"] == {"f1": 0.5, "precision": 0.5, "recall": 0.5, "support": 2}


def test_a_document_without_a_record_counts_as_all_null():
    truths = [line("a", {"x": 1}), line("b", {"x": 1}), line("c", {"x": None})]
    figures = score(truths, {"a": {"record": {"x": 1}}, "b": {"record": None}})
    assert (figures["recall"], figures["precision"]) == (0.5, 1.0)
    assert (figures["documents"], figures["answered"]) == (3, 1)


def test_also_accepted_values_count_as_right():
    truths = [line("a", {"x": "one", "l": ["p"]}, also_accepted={"x": ["uno", ["eins"]], "l": "q"})]
    assert score(truths, {"a": {"record": {"x": "eins", "l": ["q"]}}})["f1"] == 1.0
    assert score(truths, {"a": {"record": {"x": "q", "l": ["uno"]}}})["f1"] == 0.0


def test_zero_counts_as_null_where_the_set_says_so():
    truths = [line("a", {"x": 0, "y": 1})]
    predictions = {"a": {"record": {"x": None, "y": 1}}}
    assert score(truths, predictions)["recall"] == 0.5
    assert score(truths, predictions, zero_is_null=True)["recall"] == 1.0


def test_confidence_is_measured_by_calibration_and_coverage():
    truths = [line("a", {f"k{i}": 1 for i in range(4)})]
    record = {"k0": 1, "k1": 1, "k2": 9, "k3": 1}
    confidence = {"/k0": 0.95, "/k1": 0.9, "/k2": 0.5}
    figures = score(truths, {"a": {"record": record, "confidence": confidence}})
    assert figures["rated"] == 0.75
    assert figures["coverage95"] == 0.5
    assert figures["ece"] == round((abs(0.95 + 0.9 - 2) + 0.5) / 3, 4)


def test_the_confidence_of_nulls_is_measured_apart_from_that_of_values() -> None:
    truths = [{"file": str(at), "truth": {"a": "x" if at < 2 else None}} for at in range(4)]
    answers = {"0": ("x", 0.9), "1": (None, 0.8), "2": ("y", 0.4), "3": (None, 0.6)}
    predictions = {
        file: {"record": {"a": value}, "confidence": {"/a": sure}} for file, (value, sure) in answers.items()
    }
    figures = score(truths, predictions)
    assert figures["value_ece"] == pytest.approx(0.25) and figures["null_ece"] == pytest.approx(0.6)
    assert figures["value_auc"] == 1.0 and figures["null_auc"] == 0.0


def test_a_hit_without_evidence_counts_as_without():
    truths = [line("a", {"x": "one", "y": "two"})]
    prediction = {"record": {"x": "one", "y": "two"}, "evidence": {"/x": "... one ..."}}
    figures = score(truths, {"a": prediction})
    assert (figures["evidence"], figures["evidence_length"]) == (0.5, round(11 / 3, 2))


def test_the_best_constant_keeps_only_values_that_raise_f1():
    truths = [line(f, {"kind": "a", "id": f, "rows": [{"u": "kg", "n": i}]}) for i, f in enumerate("pqrs")]
    figures = best_constant(truths)
    assert figures["fields"]["/kind"]["f1"] == figures["fields"]["/rows/*/u"]["f1"] == 1.0
    assert figures["precision"] == 1.0 and figures["fields"]["/id"]["f1"] == 0.0


def test_a_summary_has_the_means_and_the_figures_of_each_set():
    one = score([line("a", {"x": 1})], {"a": {"record": {"x": 1}}})
    two = score([line("a", {"x": 1}), line("b", {"x": None})], {})
    both = summarise({"one": one, "two": two})
    assert (both["f1"], both["documents"], both["invented"]) == (0.5, 3, 0.0)
    assert both["sets"] == {"one": one | {"lists": None, "invented": None}, "two": two | {"lists": None}}
    assert both["lists"] is None and "fields" not in both
    assert json.loads(json.dumps(both)) == both
    rows = score([line("a", {"l": [1]})], {"a": {"record": {"l": [1]}}})
    mixed = summarise({"one": one, "rows": rows})
    assert (mixed["scalars"], mixed["lists"]) == (1.0, 1.0)
    alone = summarise({"one": one})
    assert alone["fields"] == one["fields"] and alone["f1"] == 1.0


def test_rows_are_found_exact_and_their_lists_whole() -> None:
    truths = [
        line("a", {"rows": [{"n": 1, "m": "x", "k": None}, {"n": 2, "m": "y", "k": None}, {"n": 3, "m": "z", "k": 9}]}),
        line("b", {"rows": [{"n": 1, "m": "x", "k": None}], "tags": ["p", "q"]}),
        line("c", {"rows": [{"n": 5, "m": "v", "k": None}]}),
        line("d", {"rows": []}),
        line("e", {"rows": [{"n": 6, "m": "w", "k": None}]}),
    ]
    predictions = {
        # Exact; half of what is not null right, so found; one of three, so not found.
        "a": {"rows": [{"n": "3.0", "m": "q", "k": 8}, {"n": 1, "m": "X", "k": None}, {"n": 2, "m": "q", "k": None}]},
        "b": {"rows": [{"n": 1, "m": "x"}], "tags": ["p"]},  # whole; a list of scalars does not count
        "c": {"rows": [{"n": 5, "m": "v", "k": 7}, {"n": 8}]},  # found, with a value added, and a row
        "d": {"rows": []},  # no row on either side
    }
    figures = score(truths, {name: {"record": record} for name, record in predictions.items()})
    assert (figures["rows"], figures["rows_found"], figures["rows_exact"]) == (6, round(4 / 6, 4), round(2 / 6, 4))
    assert figures["lists_whole"] == 0.25
    added = score([line("a", {"rows": [{"n": 1}]})], {"a": {"record": {"rows": [{"n": 1}, {"n": 2}]}}})
    assert (added["rows_exact"], added["lists_whole"]) == (1.0, 0.0)
    # A row of nulls is a row, and each row counts for its list, not the last one only.
    truth, record = [{"n": 1, "m": 7}, {"n": 2, "m": 8}, {"n": None}], [{"n": 1, "m": 0}, {"n": 2, "m": 8}]
    partly = score([line("a", {"rows": truth}), line("b", {"rows": truth[:2]}), line("c", {"rows": truth[1:]})], {
        "a": {"record": {"rows": record}}, "b": {"record": {"rows": record}}, "c": {"record": {"rows": record[1:]}},
    })  # fmt: skip
    assert (partly["rows"], partly["rows_exact"], partly["lists_whole"]) == (7, round(3 / 7, 4), 0.0)
    both = summarise({"one": figures, "two": added, "none": score([line("a", {"x": 1, "tags": ["p"]})], {})})
    assert (both["rows"], both["lists_whole"]) == (7, 0.125)
    assert "rows" not in both["sets"]["none"]


def test_rows_within_rows_belong_to_both() -> None:
    truth = {"orders": [{"id": 1, "lines": [{"n": 1}, {"n": 2}]}, {"id": 2, "lines": [{"n": 3}]}]}
    found = {"orders": [{"id": 1, "lines": [{"n": 1}]}]}
    figures = score([line("a", truth)], {"a": {"record": found}})
    # Of two orders and three lines: order 1 (two of three leaves) and its line; that line is exact. No list is whole.
    assert (figures["rows"], figures["rows_found"], figures["rows_exact"]) == (5, 0.4, 0.2)
    assert figures["lists_whole"] == 0.0


def test_one_missing_row_of_three_thousand_costs_that_row_only() -> None:
    rows = [{"day": f"2024-01-{n % 28 + 1:02}", "amount": n, "text": f"shop {n % 50}"} for n in range(3000)]
    found = [item | {"text": "shop"} if n % 5 else item for n, item in enumerate(rows) if n != 3]
    figures = score([line("a", {"rows": rows})], {"a": {"record": {"rows": found}}})
    assert figures["rows_found"] == round(2999 / 3000, 4)
    assert figures["fields"]["/rows/*/amount"]["recall"] == round(2999 / 3000, 4)
    assert figures["fields"]["/rows/*/amount"]["precision"] == 1.0


def test_a_truth_that_its_schema_refuses_is_named():
    validator = Validator(load_schema({"type": "object", "properties": {"x": {"type": "integer"}}}))
    truths = [line("a", {"x": 1}), line("b", {"x": "one"}), line("c", {"x": None})]
    broken = broken_truths(truths, validator)
    assert [file for file, _ in broken] == ["b", "c"] and broken[0][1].pointer == "/x"


def make_set(folder, truths, **files):
    (folder / "docs").mkdir(parents=True)
    for truth in truths:
        (folder / truth["file"]).write_text("text")
    (folder / "truth.jsonl").write_text("\n".join(map(json.dumps, truths)) + "\n\n", encoding="utf-8")
    for name, content in {"schema": {"type": "object"}, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_sets_are_found_loaded_and_narrowed(tmp_path):
    truths = [line(f"docs/{i}.txt", {"x": i}) for i in range(3)]
    make_set(tmp_path / "b", truths, score={"zero_is_null": True})
    make_set(tmp_path / "a", truths[:1])
    assert [found.name for found in find_sets(tmp_path)] == ["a", "b"]
    (found,) = find_sets(tmp_path / "b")
    assert found.schema == {"type": "object"} and found.options == {"zero_is_null": True}
    assert [t["file"] for t in found.select(["docs/2.txt", "docs/0.txt"]).truths] == [
        "docs/0.txt",
        "docs/2.txt",
    ]
    assert len(found.select(limit=2).truths) == 2
    assert score_set(found, {})["support"] == 2
    assert best_constant_of(found)["documents"] == 3


def test_a_line_of_the_truth_may_hold_any_line_separator_of_unicode(tmp_path):
    folder = make_set(tmp_path / "s", [line("docs/a.txt", {})])
    text = '{"file": "docs/a.txt", "truth": {"x": "a\u2028b\x85c"}}\n'
    (folder / "truth.jsonl").write_text(text, encoding="utf-8")
    assert load_set(folder).truths[0]["truth"] == {"x": "a\u2028b\x85c"}


def test_a_broken_set_is_refused_with_the_place(tmp_path):
    with pytest.raises(UsageError, match=r"expected a folder with truth.jsonl"):
        find_sets(tmp_path)
    folder = make_set(tmp_path / "s", [line("docs/a.txt", {})])
    with (folder / "truth.jsonl").open("a") as stream:
        stream.write('{"file": "docs/a.txt"}')
    with pytest.raises(UsageError, match=r"truth.jsonl, line 3: expected an object with file and truth"):
        load_set(folder)
    (folder / "truth.jsonl").write_text('{"file": "docs/none.txt", "truth": {}}')
    with pytest.raises(UsageError, match=r"there is no file docs/none.txt"):
        load_set(folder)
    for odd in ('{"file": 5, "truth": {}}', '{"file": "docs/a.txt", "truth": {}, "also_accepted": ["x"]}'):
        (folder / "truth.jsonl").write_text(odd)
        with pytest.raises(UsageError, match=r"truth.jsonl, line 1: expected a text as file, and an"):
            load_set(folder)
    (folder / "schema.json").unlink()
    with pytest.raises(UsageError, match=r"schema.json: cannot be read"):
        load_set(folder)


def test_the_area_under_the_curve_counts_ordered_pairs_and_halves_of_equal_ones() -> None:
    assert area_under_curve([(0.9, True), (0.1, False)]) == 1
    assert area_under_curve([(0.1, True), (0.9, False)]) == 0
    assert area_under_curve([(0.5, True), (0.5, False)]) == 0.5
    assert area_under_curve([(0.9, True), (0.4, True), (0.5, False), (0.4, False)]) == pytest.approx(2.5 / 4)
    assert area_under_curve([(0.9, True)]) is None


def test_lists_are_scored_by_their_confidence_of_being_complete() -> None:
    truths = [{"file": "a", "truth": {"a": [1, 2], "b": []}}, {"file": "b", "truth": {"a": [3], "b": None}}]
    found = {
        "a": {"record": {"a": [1], "b": []}, "lists": {"/a": 0.2, "/b": 0.9}},
        "b": {"record": {"a": [3], "b": [4]}, "lists": {"/a": 0.7, "/b": 0.8}},
    }
    figures = score(truths, found)
    assert (figures["rated_lists"], figures["complete"], figures["list_auc"]) == (4, 0.5, 0.75)
    assert figures["list_ece"] == pytest.approx((0.2 + 0.1 + 0.3 + 0.8) / 4)
