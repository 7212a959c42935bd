"""The batch state: it notes committed values, reopened positions, growth and finished requests."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from random_model import request

from cinnabar.engine.batch_state import BatchState, Reopenings
from cinnabar.engine.canvas import MASK, PAD
from cinnabar.engine.models.base import Row
from cinnabar.engine.writing import Value
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import EngineFailure

CPU = torch.device("cpu")
TEXT = {"type": "string"}


def schema_of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TWO = schema_of(["a"], a=TEXT, b={"type": ["integer", "null"]})


def state_of(*schemas: dict[str, Any], rows: list[Row] | None = None, **known: str) -> BatchState:
    texts = {f"/{name}": text for name, text in known.items()}
    requests = [request(compile_schema(s).form, f"r{k}", texts) for k, s in enumerate(schemas)]
    return BatchState(requests, [f"m{k}" for k in range(len(requests))], [rows or []] * len(requests), CPU)


def spell(state: BatchState, slot: int, text: str, sureness: float = 0.75) -> None:
    """Commit all positions of a slot, one of them with this sureness."""
    state.canvas.tokens[slot] = PAD
    state.canvas.tokens[slot, : len(text)] = torch.tensor(list(text.encode()))
    state.sureness[slot, 1] = sureness


def test_known_slots_are_closed_and_all_others_are_open() -> None:
    state = state_of(TWO, b="7")
    assert state.canvas.values == [None, b"7"] and state.canvas.left_out == [False, False]
    assert state.closed.tolist() == state.known.tolist() == [False, True]
    assert state.excusable.tolist() == [False, True]
    assert bool((state.canvas.tokens == MASK).all()) and bool((state.sureness == 1).all())
    assert not bool(state.firm.any()) and not bool(state.value_reopened.any() | state.position_reopened.any())
    assert state.values[0] == Value(b'""', False)
    assert state.values[1] == Value(b"7", False, 1.0, origin="known")
    null = state_of(TWO, b="null")
    assert null.canvas.left_out == [False, True] and null.records() == ['{"a":"","b":null}']


def test_a_slot_begins_as_long_as_its_shortest_text_needs() -> None:
    state = state_of(
        schema_of(["a", "b", "c"], a=TEXT, b={**TEXT, "minLength": 20}, c={**TEXT, "minLength": 90})
    )
    assert state.canvas.length.tolist() == [16, 32, 64] and state.canvas.tokens.shape == (3, 64)
    assert state.within.sum(1).tolist() == [16, 32, 64]
    exact = state_of(schema_of(["a", "b"], a={**TEXT, "minLength": 14}, b={**TEXT, "minLength": 15}))
    assert exact.canvas.length.tolist() == [16, 32]


def test_the_model_sees_a_settled_slot_as_text_null_or_nothing() -> None:
    state = state_of(schema_of([], a=TEXT, b={"type": ["integer", "null"]}, c=TEXT))
    state.values = [
        Value(b'"x"', False, spans=((1, 2),)),
        Value(b"3", True, spans=((1, 2),)),
        Value(b'"z"', True, spans=((1, 2),)),
    ]
    for slot in range(3):
        state.settle(slot)
    assert state.canvas.values == [b'"x"', b"null", b""]
    assert state.canvas.left_out == [False, True, True] and state.canvas.spans == [((1, 2),), (), ()]


@pytest.mark.parametrize(("share", "missing"), [(1.0, False), (0.67, False), (0.66, True)])
def test_a_spelled_value_is_as_sure_as_its_share_and_its_least_sure_position(
    share: float, missing: bool
) -> None:
    state = state_of(TWO)
    spell(state, 0, '"xy"')
    state.spelled(0, share)
    value = state.values[0]
    assert (value.text, value.origin, value.absent, value.spans) == (b'"xy"', "generated", False, ())
    assert value.confidence == round(share * 0.75, 4) and value.missing == missing
    assert state.canvas.values[0] == b'"xy"'
    spell(state, 1, "12")
    state.spelled(1, share / 2)
    assert not state.values[1].missing, "nobody demands it"


def test_a_value_of_confidence_one_half_is_not_missing() -> None:
    state = state_of(TWO)
    spell(state, 0, '"xy"', 0.5)
    state.spelled(0, 1.0)
    assert state.values[0].confidence == 0.5 and not state.values[0].missing


def test_a_value_that_is_opened_again_is_open_at_all_positions() -> None:
    state = state_of(TWO)
    spell(state, 0, '"xy"')
    state.firm[0, 1:3] = True
    state.spelled(0, 1.0)
    state.closed[0] = True
    state.reopen(torch.tensor([True, False]))
    assert state.canvas.values == [None, None] and not bool(state.closed.any() | state.firm.any())
    assert bool((state.canvas.tokens == MASK).all()) and bool((state.sureness == 1).all())
    assert state.value_reopened.tolist() == [1, 0] and state.reopened == [1]
    assert state.before == [{-1: b'"xy"'}, {}]
    assert state.reopenings == Reopenings(values=1)


def test_reopened_positions_reopen_those_that_followed_from_them() -> None:
    state = state_of(TWO)
    spell(state, 0, '"xy"', 0.25)
    spell(state, 1, "12")
    state.firm[0, 1:3] = state.firm[1, :2] = True
    doubted = torch.zeros_like(state.firm)
    doubted[0, 1] = True
    state.reopen_positions(doubted)
    assert state.canvas.tokens[0].tolist() == [MASK, MASK, ord("y"), *[MASK] * 13]
    assert state.canvas.tokens[1].tolist() == [ord("1"), ord("2"), *[PAD] * 14]
    assert state.firm.nonzero().tolist() == [[0, 2], [1, 0], [1, 1]] and bool((state.sureness[0] == 1).all())
    assert state.position_reopened.nonzero().tolist() == [[0, 1]]
    assert state.before == [{1: ord("x")}, {}] and state.reopened == [1]
    assert state.reopenings == Reopenings(positions=1)


def test_a_slot_that_grows_keeps_what_is_committed() -> None:
    state = state_of(TWO)
    spell(state, 0, '"xy"')
    before = state.canvas.tokens.clone()
    state.grow(torch.tensor([True, False]))
    assert state.canvas.length.tolist() == [32, 16] and state.canvas.tokens.shape == (2, 32)
    assert torch.equal(state.canvas.tokens[:, :16], before) and bool(
        (state.canvas.tokens[:, 16:] == MASK).all()
    )
    assert not bool(state.firm[:, 16:].any()) and bool((state.sureness[:, 16:] == 1).all())
    assert not bool(state.position_reopened[:, 16:].any()) and state.within.sum(1).tolist() == [32, 16]
    state.grow(torch.tensor([False, True]))
    assert state.canvas.length.tolist() == [32, 32] and state.canvas.tokens.shape == (2, 32)


def test_finished_requests_leave_and_the_others_stay_unchanged() -> None:
    state = state_of(TWO, TWO, TWO)
    state.grow(torch.tensor([False, False, True, False, False, False]))
    for slot in (2, 3):
        state.values[slot] = Value(b'"done"' if slot == 2 else b"5", False, 0.9)
        state.settle(slot)
        state.closed[slot] = True
    spell(state, 4, '"z"')
    state.firm[4, 1] = state.position_reopened[4, 1] = True
    state.value_reopened[5] = 2
    state.before[4] = {1: ord("q")}
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
    assert len(state.forms) == len(state.rows) == 2 and state.canvas.tokens.shape == (4, 16)
    assert state.canvas.tokens[2, :3].tolist() == list(b'"z"') and state.before[2] == {1: ord("q")}
    assert state.firm.nonzero().tolist() == state.position_reopened.nonzero().tolist() == [[2, 1]]
    assert state.value_reopened.tolist() == [0, 0, 0, 2] and float(state.sureness[2, 1]) == 0.75
    assert state.closed.tolist() == [False] * 4 and state.excusable.tolist() == [False, True] * 2
    state.finish()
    assert state.active == [0, 2], "nothing more is done"


def test_reopenings_that_changed_the_value_are_counted() -> None:
    state = state_of(schema_of(["a", "b", "c", "d"], a=TEXT, b=TEXT, c=TEXT, d=TEXT))
    for slot, before in enumerate(
        [{-1: b'"old"'}, {-1: b'"new"'}, {1: ord("x"), 2: ord("e")}, {9: ord("x")}]
    ):
        state.before[slot] = before  # type: ignore[assignment]
        state.values[slot] = Value(b'"new"', False, 0.9)
        state.settle(slot)
    state.closed[:] = True
    state.finish()
    # Another text, the same text, one position of two, and one that the text no longer has.
    assert state.reopenings == Reopenings(changed=3) and not state.active


def test_only_records_that_the_schema_allows_are_kept() -> None:
    state = state_of({**TWO, "maxProperties": 1, "properties": {"a": TEXT, "b": {"type": "integer"}}})
    first = state.kept[0]
    assert first.record == '{"a":""}' and first.filled
    state.values = [Value(b'"x"', False, 0.9), Value(b"5", False, 0.9)]
    state.judge()
    assert state.kept[0] is first, "what is not done is not repaired"
    state.values[1] = Value(b"5", True)
    state.judge()
    assert state.kept[0].record == '{"a":"x"}'
    state.values[1] = Value(b"5", False, 0.9)
    state.closed[:] = True
    state.judge()
    assert state.kept[0].record == '{"a":"x"}'


def test_a_state_without_values_keeps_the_forms_minimal_record() -> None:
    item = {"type": ["integer", "null"]}
    properties = {"a": TEXT, "b": {"type": "array", "items": item, "minItems": 2}, "d/e": TEXT}
    kept = state_of({**schema_of(["b"], **properties), "minProperties": 3}).kept[0]
    assert kept.record == '{"a":"","b":[null,null],"d/e":""}' and not kept.filled and kept.rows == {}
    assert {at: leaf.text for at, leaf in kept.leaves.items()} == {
        "/a": '""', "/b/0": "null", "/b/1": "null", "/d~1e": '""',
    }  # fmt: skip
    assert [leaf.missing for leaf in kept.leaves.values()] == [True, False, False, True]
    assert all(leaf.origin == "minimal" and not leaf.confidence for leaf in kept.leaves.values())


def test_known_values_with_which_no_record_is_allowed_fail_their_request() -> None:
    state = state_of({**TWO, "not": {"required": ["b"]}, "properties": {"a": TEXT, "b": TEXT}}, b='"x"')
    assert not state.kept[0].filled
    state.values[0] = Value(b'"x"', False)
    state.settle(0)
    state.closed[0] = True
    with pytest.raises(EngineFailure, match="known"):
        state.finish()
