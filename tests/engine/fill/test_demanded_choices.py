"""Demanded choices: an option that is more likely wrong than right is missing, never a value of the record."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.random_model import request
from tests.support.scripted_model import Scripted, filled, form_of

from cinnabar.engine.fill.choices import drop_unsupported_choices
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import Candidate, Scores
from cinnabar.engine.request import Filled, Leaf, Passage
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.judging.judge import Judge

CURRENCY = {"enum": ["EUR", "USD", "GBP"]}


class Choosing(Scripted):
    """Its candidates are chosen options."""

    def score(self, forms: Any, memories: Any, rows: Any, canvas: Any) -> Scores:
        scores = super().score(forms, memories, rows, canvas)
        options = [[Candidate(c.text, (), "chosen") for c in own] for own in scores.candidates]
        return replace(scores, candidates=options)


class Worth:
    """A calibration that gives every leaf this confidence, and this probability of absence."""

    def __init__(self, confidence: float, absence: float = 0.0) -> None:
        self.confidence, self.absence = confidence, absence

    def calibrate(self, _form: Form, _passage: Passage, result: Filled) -> Filled:
        new = {"confidence": self.confidence, "absence": self.absence}
        leaves = {pointer: replace(leaf, **new) for pointer, leaf in result.leaves.items()}
        return replace(result, leaves=leaves)


def leaf_of(
    schema: dict[str, Any], logits: list[float], confidence: float | None = None, absent: float = -20.0
) -> Leaf:
    options = [f'"{option}"' for option in schema["enum"] if option is not None]
    model = Choosing(options, [logits], absent)
    model.calibration = None if confidence is None else Worth(confidence)
    (got,) = Engine(model, "low").fill([request(form_of(a=schema))])
    return filled(got).leaves["/a"]


def test_a_supported_choice_is_a_value() -> None:
    leaf = leaf_of(CURRENCY, [6, 0, 0])
    assert (leaf.text, leaf.missing, leaf.demanded) == ('"EUR"', False, True)


@pytest.mark.parametrize(
    ("logits", "absent", "missing"),
    [
        ([0, 0, 0], 0.5, True),
        ([0, 0, 0], -0.5, True),  # an option at .28, absence at .17
        ([0, 0, 0], -3.0, False),  # the document states a value, whichever it is
        ([2, 0, 0], 0.0, True),  # .71 and .10 each
        ([4, 0, 0], 0.0, False),
    ],
)
def test_a_choice_is_missing_if_absence_is_possible_and_no_option_sure(
    logits: list[float], absent: float, missing: bool
) -> None:
    leaf = leaf_of(CURRENCY, logits, absent=absent)
    assert leaf.missing == missing
    nullable = leaf_of({"enum": [*CURRENCY["enum"], None]}, logits, absent=absent)
    assert nullable.text == "null" or not missing


@pytest.mark.parametrize(("confidence", "missing"), [(0.49, True), (0.5, False), (0.9, False)])
def test_the_calibrated_probability_decides(confidence: float, missing: bool) -> None:
    assert leaf_of(CURRENCY, [6, 0, 0], confidence).missing == missing


def test_a_slot_of_one_option_has_no_choice_to_miss() -> None:
    assert not leaf_of({"enum": ["EUR"]}, [6], 0.1).missing


def test_an_optional_choice_is_never_missing() -> None:
    leaf = leaf_of({"enum": ["EUR", "USD", None]}, [6, 0], 0.1)
    assert not leaf.demanded and not leaf.missing


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": CURRENCY, "minItems": 1},
        {"oneOf": [{"type": "object", "properties": {"c": CURRENCY}, "required": ["c"]}]},
    ],
    ids=["least items", "branch"],
)
def test_a_choice_is_demanded_if_the_schema_refuses_the_record_without_it(schema: dict[str, Any]) -> None:
    model = Choosing(['"EUR"', '"USD"', '"GBP"'], [[6, 0, 0]])
    model.calibration = Worth(0.4)
    (got,) = Engine(model, "low").fill([request(form_of(a=schema))])
    chosen = [leaf for leaf in filled(got).leaves.values() if leaf.text == '"EUR"']
    assert chosen and all(leaf.missing for leaf in chosen)


def chosen(worth: Worth, required: bool = True, **fields: Any) -> Filled:
    schema = {"type": "object", "properties": fields, "required": [*fields] if required else []}
    form = compile_schema(schema).form
    options = sorted({text for slot in form.slots for text in slot.options if slot.options})
    model = Choosing(options, [[6.0 if text == '"EUR"' else 0.0 for text in options]])
    model.calibration = worth
    (got,) = Engine(model, "low").fill([request(form)])
    return filled(got)


@pytest.mark.parametrize(
    ("confidence", "absence", "kept"),
    [(0.49, 0.3, False), (0.2, 0.1, False), (0.49, 0.05, True), (0.5, 0.4, True), (0.9, 0.05, True)],
)
@pytest.mark.parametrize("how", ["null", "out"])
def test_a_choice_that_may_be_left_out_is_if_it_is_rather_wrong_and_absence_is_possible(
    confidence: float, absence: float, kept: bool, how: str
) -> None:
    nullable = {"enum": [*CURRENCY["enum"], None]} if how == "null" else CURRENCY
    got = chosen(Worth(confidence, absence), how == "null", c=nullable, d={"type": "string"})
    leaf, record = got.leaves["/c"], json.loads(got.record)
    assert record.get("c", "out") == ("EUR" if kept else None if how == "null" else "out")
    assert (leaf.origin == "chosen") == kept and not leaf.missing
    assert kept or (leaf.confidence, leaf.spans) == (absence, ())


def test_a_choice_that_other_rules_demand_is_missing() -> None:
    schema = {
        "type": "object", "properties": {"c": CURRENCY, "n": {"const": "EUR"}}, "required": ["n"],
        "dependentRequired": {"n": ["c"]},
    }  # fmt: skip
    model = Choosing(['"EUR"', '"USD"', '"GBP"'], [[6, 0, 0]])
    model.calibration = Worth(0.4, 0.4)
    (got,) = Engine(model, "low").fill([request(compile_schema(schema).form)])
    assert filled(got).leaves["/c"].missing


def test_a_doubtful_item_that_the_list_may_do_without_is_no_missing_value() -> None:
    model = Choosing(['"EUR"', '"USD"', '"GBP"'], [[6, 0, 0]])
    model.calibration = Worth(0.4)
    (got,) = Engine(model, "low").fill([request(form_of(maybe={"type": "object", "properties": {"c": CURRENCY}}))])
    assert not any(leaf.missing for leaf in filled(got).leaves.values())


def test_the_schema_is_asked_once_for_all_rows_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    item = {"type": "object", "properties": {"c": CURRENCY}}
    form = form_of(a={"type": "array", "items": item})
    leaves = {
        f"/a/{row}/c": Leaf('"EUR"', 0.1, origin="chosen", slot=form.slots[-1].index) for row in range(200)
    }
    record = {"a": [{"c": "EUR"}] * len(leaves)}
    asked = []
    accepts = Judge.accepts
    monkeypatch.setattr(Judge, "accepts", lambda self, value: asked.append(value) or accepts(self, value))
    assert drop_unsupported_choices(form, Filled("x", record, leaves, {}, 1, 0)).leaves == leaves
    assert len(asked) == 1 and asked[0] == {"a": [{}] * len(leaves)}
