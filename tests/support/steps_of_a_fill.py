"""The states at each step of a fill and their validity; a record with absence in the form's own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.random_model import RandomModel, held, request
from tests.support.second_judge import Judge

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.fill.layout import lay_out
from cinnabar.engine.fill.writing import Writer, WrittenValue
from cinnabar.engine.model import Row
from cinnabar.engine.request import Filled, Result
from cinnabar.schemas import CompiledSchema
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.form.form import Form

EFFORTS = ("instant", "low", "medium", "high")


def fill_at_random(
    compiled: Sequence[CompiledSchema], seed: int, effort: str
) -> Iterator[tuple[Result, list[str]]]:
    """Fill forms in one batch under random scores, so that slots are committed in any order.

    Each result comes with all states that the watcher saw, from before the first step on.
    """
    shown: dict[str, list[str]] = {}
    requests = [request(c.form, str(seed + at)) for at, c in enumerate(compiled)]
    results = Engine(RandomModel(seed), effort).fill(
        requests, lambda state: shown.setdefault(state.id, []).append(state.record)
    )
    for one, result in zip(requests, results, strict=True):
        yield result, shown[one.id]


def objections(
    compiled: CompiledSchema, other: Judge | None, result: Result, states: list[str]
) -> Iterator[str]:
    """The faults of a result and of the states at its steps."""
    if not isinstance(result, Filled):
        yield f"{result.code}: {result.detail[:160]}"
        return
    if result.record != states[-1]:
        yield "the record is not the last state"
    yield from refusals(compiled, other, states)


def refusals(compiled: CompiledSchema, other: Judge | None, texts: Sequence[str]) -> Iterator[str]:
    """The texts that either judge refuses."""
    for text in dict.fromkeys(texts):
        if not compiled.accepts(text):
            yield f"not valid: {text[:160]}"
        if other is not None and not other(text):
            yield f"not valid to the other: {text[:160]}"


def in_the_forms_way(form: Form, record: Any) -> str:
    """The record, which a form holds, with absence as the form writes it: see docs/schemas.md."""
    found = held(form, record)
    rows = [Row(array, parent, at, 1.0) for at, (array, parent) in enumerate(found.rows)]
    layout = lay_out(form, rows, {})
    values: list[WrittenValue] = []
    for slot, row in zip(layout.slots, layout.row_of, strict=True):
        text = found.texts.get((slot.index, row), "null")
        absent = text == "null"
        values.append(WrittenValue((slot.minimal if absent else text).encode(), absent, confidence=1.0))
    return json_text(Writer(layout, values).value)


def present(value: Any) -> Any:
    """The parts of a value that are present, however it writes absence: as null, as `[]`, or by omission."""
    if isinstance(value, dict):
        parts = {name: present(part) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part not in (None, [], {})}
    if not isinstance(value, list):
        return value
    return [part for part in map(present, value) if part not in (None, [], {})]
