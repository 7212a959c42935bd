"""Tests for the promise that at most a share of the written values is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.learning.wrong_values import (
    JudgedDocument,
    documents_needed,
    judged_document,
    least_confidence,
    most_wrong,
    with_promise,
)
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.store.reading import query


def documents(right: int, wrong: int, sure: float = 0.9, values: int = 5) -> list[JudgedDocument]:
    """Documents of so many values: `right` without a wrong one, and `wrong`, less sure, with one."""
    good = [JudgedDocument(sure, values, 0) for _ in range(right)]
    return good + [JudgedDocument(sure / 2, values - 1, 1) for _ in range(wrong)]


def test_a_sample_without_wrong_values_promises_all_of_its_documents() -> None:
    promise = least_confidence(documents(130, 0), 0.05)
    assert promise is not None and (promise.kept, promise.wrong, promise.least) == (130, 0, 0.9)
    assert promise.at_most <= 0.05 and "0 wrong of 650 values" in promise.sentence(0.05, "the set")


def test_unsure_documents_with_wrong_values_are_left_for_a_person() -> None:
    promise = least_confidence(documents(170, 90), 0.05)
    assert promise is not None and promise.kept == 170 and promise.least == 0.9


def test_few_documents_and_many_wrong_values_promise_nothing() -> None:
    assert least_confidence(documents(10, 0), 0.05) is None
    assert least_confidence([JudgedDocument(0.9, 3, 2)] * 200, 0.05) is None
    assert least_confidence([JudgedDocument(None, 0, 0)] * 200, 0.05) is None


def test_more_models_that_are_tried_ask_for_more() -> None:
    counts = [next(n for n in range(1, 999) if least_confidence(documents(n, 0), 0.05, models)) for models in (1, 2)]
    assert counts[0] < counts[1]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40))
def test_the_bound_is_never_below_what_was_seen(pairs: list[tuple[int, int]]) -> None:
    total = sum(right + wrong for right, wrong in pairs)
    share = sum(wrong for _, wrong in pairs) / total if total else 1.0
    assert most_wrong(pairs, 0.95) >= share - 1e-9


def test_the_promise_is_kept_in_nineteen_of_twenty_samples() -> None:
    dice = np.random.default_rng(1)
    # The surer a document, the fewer of its values are wrong; values of a document go together.
    sure = dice.uniform(0, 1, 4000)
    wrong = [int(dice.binomial(6, one)) for one in dice.beta(0.3 * (1 - sure) + 0.01, 1.5)]
    population = [JudgedDocument(float(c), 6 - w, w) for c, w in zip(sure, wrong, strict=True)]
    kept = 0
    for _ in range(200):
        promise = least_confidence([population[at] for at in dice.choice(4000, 200)], 0.1)
        own = [one for one in population if promise is None or (one.confidence or 0) >= promise.least]
        kept += promise is None or sum(one.wrong for one in own) <= 0.1 * 6 * len(own)
    assert kept >= 190


def test_a_value_counts_and_an_absent_one_does_not() -> None:
    prediction = {
        "record": {"name": "Anna", "total": 7, "paid": None, "rows": [{"id": "x"}, {"id": "y"}]},
        "confidence": {"/name": 0.9, "/total": 0.7}, "rows": {"/rows/0": 0.6}, "lists": {"/rows": 0.8},
    }  # fmt: skip
    truth = {"name": "Anna", "total": 8, "paid": 3, "rows": [{"id": "x"}]}
    found = judged_document({"file": "a", "truth": truth}, prediction)
    assert (found.right, found.wrong, found.confidence) == (2, 2, 0.6)
    assert found.fields == {"/name": (1, 0), "/total": (0, 1), "/rows/*/id": (1, 1)}


def labelled_set(folder: Path, count: int) -> Path:
    """A set of receipts whose truths the reader finds."""
    schema = {
        "title": "invoice", "type": "object", "required": ["invoice_number"],
        "properties": {"invoice_number": {"type": ["string", "null"], "description": "Number of the invoice"}},
    }  # fmt: skip
    folder.mkdir()
    (folder / "schema.json").write_text(json.dumps(schema))
    lines = []
    for at in range(count):
        (folder / f"{at}.txt").write_text(f"Invoice number: R-{1000 + 7 * at}\nDate: 2026-03-0{1 + at % 9}\n")
        lines.append(json.dumps({"file": f"{at}.txt", "truth": {"invoice_number": f"R-{1000 + 7 * at}"}}))
    (folder / "truth.jsonl").write_text("\n".join(lines))
    return folder


def test_a_command_writes_what_is_sure_enough_and_says_what_that_rests_on(tmp_path: Path, capsys: Any) -> None:
    known, out = labelled_set(tmp_path / "known", 30), tmp_path / "out"
    asked = ["extract", str(known / "1.txt"), "--schema", str(known / "schema.json"), "--out", str(out)]
    asked += ["--model", "reader", "--at-most-wrong", "40%"]
    assert run([*asked, "--sample", str(known)]) == 0
    told = capsys.readouterr().err
    assert "at most 40% of the values that this run writes are wrong, with 95% probability" in told
    assert "has 0 wrong of" in told
    ((least, promise),) = query(out, "SELECT arguments -> 'min_confidence', arguments ->> 'promise' FROM runs").rows
    assert float(least) > 0 and "wait for a person" in promise
    # What the folder has was never audited.
    assert run(asked) == 2
    assert "the audit of this folder cannot tell: it has 0 documents" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sample": "set"}, "--sample: expected --at-most-wrong with it"),
        ({"at_most_wrong": "0%", "sample": "set"}, "--at-most-wrong: expected more than 0%"),
        ({"at_most_wrong": "5%"}, "expected a --sample, or audited documents in --out, which is a new folder"),
    ],
)
def test_other_uses_are_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    plan = RunPlan.of(["receipt"], tmp_path / "out", model="reader", **options)
    with pytest.raises(UsageError, match=said):
        with_promise(plan, print)


def test_a_sample_for_another_schema_is_refused(tmp_path: Path) -> None:
    known = labelled_set(tmp_path / "known", 2)
    plan = RunPlan.of(["receipt"], tmp_path / "out", model="reader", at_most_wrong="5%", sample=known)
    with pytest.raises(UsageError, match="labelled for this very schema"):
        with_promise(plan, print)


def test_about_three_times_the_inverse_of_the_share_is_needed() -> None:
    assert documents_needed(0.05) == 59
    assert documents_needed(0.0001) == 29_956  # in a moment
    assert least_confidence(documents(documents_needed(0.05), 0), 0.05) is None  # several thresholds are tried
