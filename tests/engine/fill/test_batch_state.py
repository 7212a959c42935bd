"""The batch state: it notes committed values, reopened ones and finished requests."""

from __future__ import annotations

from typing import Any

import torch
from tests.support.random_model import request

from cinnabar.engine.fill.batch_state import BatchState
from cinnabar.engine.fill.writing import WrittenValue
from cinnabar.engine.model import Row
from cinnabar.schemas import compile_schema

CPU = torch.device("cpu")
TEXT = {"type": "string"}


def schema_of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TWO = schema_of(["a"], a=TEXT, b={"type": ["integer", "null"]})


def state_of(*schemas: dict[str, Any], rows: list[Row] | None = None, **known: str) -> BatchState:
    texts = {f"/{name}": text for name, text in known.items()}
    requests = [request(compile_schema(s).form, f"r{k}", texts) for k, s in enumerate(schemas)]
    return BatchState(requests, [f"m{k}" for k in range(len(requests))], [rows or []] * len(requests), CPU)


def test_known_slots_are_closed_and_all_others_are_open() -> None:
    state = state_of(TWO, b="7")
    assert state.canvas.values == [None, b"7"] and state.canvas.left_out == [False, False]
    assert state.closed.tolist() == state.known.tolist() == [False, True]
    assert state.excusable.tolist() == [False, True]
    assert not bool(state.reopened_times.any())
    assert state.values[0] == WrittenValue(b'""', False)
    assert state.values[1] == WrittenValue(b"7", False, 1.0, origin="known")
    null = state_of(TWO, b="null")
    null.judge()
    assert null.canvas.left_out == [False, True] and null.value(0) == {"a": "", "b": None}


def test_the_model_sees_a_settled_slot_as_text_null_or_nothing() -> None:
    state = state_of(schema_of([], a=TEXT, b={"type": ["integer", "null"]}, c=TEXT))
    state.values = [
        WrittenValue(b'"x"', False, spans=((1, 2),)),
        WrittenValue(b"3", True, spans=((1, 2),)),
        WrittenValue(b'"z"', True, spans=((1, 2),)),
    ]
    for slot in range(3):
        state.settle(slot)
    assert state.canvas.values == [b'"x"', b"null", b""]
    assert state.canvas.left_out == [False, True, True] and state.canvas.spans == [((1, 2),), (), ()]


def test_a_value_that_is_opened_again_is_noted() -> None:
    state = state_of(TWO)
    state.values[0] = WrittenValue(b'"xy"', False, 0.9, spans=((1, 2),))
    state.settle(0)
    state.closed[0] = True
    state.reopen(torch.tensor([True, False]))
    assert state.canvas.values == [None, None] and not bool(state.closed.any())
    assert state.canvas.spans == [(), ()] and state.canvas.left_out == [False, False]
    assert state.reopened_times.tolist() == [1, 0] and state.reopened == [1]


def test_finished_requests_leave_and_the_others_stay_unchanged() -> None:
    state = state_of(TWO, TWO, TWO)
    for slot in (2, 3):
        state.values[slot] = WrittenValue(b'"done"' if slot == 2 else b"5", False, 0.9)
        state.settle(slot)
        state.closed[slot] = True
    state.reopened_times[5] = 2
    state.steps = [1, 2, 3]
    state.judge()
    state.finish()
    assert [result and result.record for result in state.results] == [None, '{"a":"done","b":5}', None]
    done = state.results[1]
    assert done is not None and (done.id, done.steps, done.reopened) == ("r1", 2, 0)
    assert done.leaves["/a"].confidence == 0.9
    assert (
        state.active == [0, 2] and state.memories == ["m0", "m2"] and state.request.tolist() == [0, 0, 1, 1]
    )
    assert [instance.request for instance in state.canvas.instances] == [0, 0, 1, 1]
    assert len(state.forms) == len(state.rows) == 2
    assert state.reopened_times.tolist() == [0, 0, 0, 2]
    assert state.closed.tolist() == [False] * 4 and state.excusable.tolist() == [False, True] * 2
    state.finish()
    assert state.active == [0, 2], "nothing more is done"


def test_only_records_that_the_schema_allows_are_kept() -> None:
    state = state_of({**TWO, "maxProperties": 1, "properties": {"a": TEXT, "b": {"type": "integer"}}})
    assert state.value(0) == {"a": ""} and not state.kept, "the form's own instance"
    state.judge()
    first = state.kept[0]
    assert first.value == {"a": ""}
    state.values = [WrittenValue(b'"x"', False, 0.9), WrittenValue(b"5", False, 0.9)]
    state.judge()
    assert state.kept[0] is first, "what is not done is not repaired"
    state.values[1] = WrittenValue(b"5", True)
    state.judge()
    assert state.kept[0].value == {"a": "x"}
    state.values[1] = WrittenValue(b"5", False, 0.9)
    state.closed[:] = True
    state.judge()
    assert state.kept[0].value == {"a": "x"}
