"""Any part of a record may be frozen: it comes back as it is, and the record around it is valid."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.remote_forms import form_of, request
from tests.support.schema_strategies import hard_schemas, schemas
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.request import Failed, Filled, Request
from cinnabar.errors import UnsupportedSchema
from cinnabar.extraction.filling.tiers import freeze_sure
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.form import Form

TEXT = "No. R-77\n2,00 yes\n"
#: Reasons for which a request may fail: the schema's records are too large for the automaton, or for the model.
TOO_LARGE = ("schema_too_large", "too_long")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DiffusionEngine:
    folder = write_checkpoint(tmp_path_factory.mktemp("model"), window=4096, block=16)
    return DiffusionEngine(load_language_model(folder, "cpu", "float32"), "instant")


def filled(engine: DiffusionEngine, form: Form, known: dict[str, str | None]) -> Filled | Failed:
    asked = request(form, TEXT, known)
    (result,) = engine.fill([Request("r", form, asked.passage, known)])
    if isinstance(result, Filled):
        assert form.judge is not None and form.judge.accepts(parse(result.record))
    return result


@examples(60)
@given(schemas() | hard_schemas(), st.integers(0, 9))
@example({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, 0)
def test_every_record_is_valid_and_keeps_what_is_frozen(
    engine: DiffusionEngine, schema: dict[str, Any], seed: int
) -> None:
    try:
        form = form_of(schema)
    except UnsupportedSchema:
        return
    first = filled(engine, form, {})
    if isinstance(first, Failed):
        assert first.code in TOO_LARGE, first
        return
    # The model's own record stands for a cheaper model's, with some of its values sure.
    draw = random.Random(seed)
    leaves = {at: draw.random() for at in first.leaves}
    known = freeze_sure(form, _with(first, leaves), 0.5)
    second = filled(engine, form, known)
    if isinstance(second, Failed):
        assert second.code in TOO_LARGE, (second, first.record, known)
        return
    for pointer, text in known.items():
        assert text is None or second.leaves[pointer].text == text, (pointer, first.record, second.record)


def _with(found: Filled, confidence: dict[str, float]) -> Filled:
    leaves = {at: replace(leaf, confidence=confidence[at], missing=False) for at, leaf in found.leaves.items()}
    rows = {at: (anchor, 1.0) for at, (anchor, _) in found.rows.items()}
    return replace(found, leaves=leaves, rows=rows)
