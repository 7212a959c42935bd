"""What the board notes when values are committed, opened again, grow and are done."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from random_model import request

from cinnabar.engine.batch_state import Board, Reopenings
from cinnabar.engine.models.base import MASK, PAD, Row
from cinnabar.engine.writing import Value
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import EngineFailure

CPU = torch.device("cpu")
TEXT = {"type": "string"}


def schema_of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TWO = schema_of(["a"], a=TEXT, b={"type": ["integer", "null"]})


def board_of(*schemas: dict[str, Any], rows: list[Row] | None = None, **known: str) -> Board:
    texts = {f"/{name}": text for name, text in known.items()}
    requests = [request(compile_schema(s).form, f"r{k}", texts) for k, s in enumerate(schemas)]
    return Board(requests, [f"m{k}" for k in range(len(requests))], [rows or []] * len(requests), CPU)


def spell(board: Board, slot: int, text: str, sureness: float = 0.75) -> None:
    """Commit the positions of a slot one by one, as it were."""
    board.canvas.tokens[slot] = PAD
    board.canvas.tokens[slot, : len(text)] = torch.tensor(list(text.encode()))
    board.sureness[slot, 1] = sureness


def test_known_values_are_closed_and_all_else_is_open() -> None:
    board = board_of(TWO, b="7")
    assert board.canvas.values == [None, b"7"] and board.canvas.left_out == [False, False]
    assert board.closed.tolist() == board.known.tolist() == [False, True]
    assert board.excusable.tolist() == [False, True]
    assert bool((board.canvas.tokens == MASK).all()) and bool((board.sureness == 1).all())
    assert not bool(board.firm.any()) and not bool(board.value_reopened.any() | board.position_reopened.any())
    assert board.values[0] == Value(b'""', False)
    assert board.values[1] == Value(b"7", False, 1.0, origin="known")
    null = board_of(TWO, b="null")
    assert null.canvas.left_out == [False, True] and null.records() == ['{"a":"","b":null}']


def test_a_slot_begins_as_long_as_its_shortest_text_needs() -> None:
    board = board_of(
        schema_of(["a", "b", "c"], a=TEXT, b={**TEXT, "minLength": 20}, c={**TEXT, "minLength": 90})
    )
    assert board.canvas.length.tolist() == [16, 32, 64] and board.canvas.tokens.shape == (3, 64)
    assert board.within.sum(1).tolist() == [16, 32, 64]
    exact = board_of(schema_of(["a", "b"], a={**TEXT, "minLength": 14}, b={**TEXT, "minLength": 15}))
    assert exact.canvas.length.tolist() == [16, 32]


def test_what_is_settled_is_shown_to_the_model_as_text_null_or_nothing() -> None:
    board = board_of(schema_of([], a=TEXT, b={"type": ["integer", "null"]}, c=TEXT))
    board.values = [
        Value(b'"x"', False, spans=((1, 2),)),
        Value(b"3", True, spans=((1, 2),)),
        Value(b'"z"', True, spans=((1, 2),)),
    ]
    for slot in range(3):
        board.settle(slot)
    assert board.canvas.values == [b'"x"', b"null", b""]
    assert board.canvas.left_out == [False, True, True] and board.canvas.spans == [((1, 2),), (), ()]


@pytest.mark.parametrize(("share", "missing"), [(1.0, False), (0.67, False), (0.66, True)])
def test_a_spelled_value_is_as_sure_as_its_share_and_its_least_sure_position(
    share: float, missing: bool
) -> None:
    board = board_of(TWO)
    spell(board, 0, '"xy"')
    board.spelled(0, share)
    value = board.values[0]
    assert (value.text, value.origin, value.absent, value.spans) == (b'"xy"', "generated", False, ())
    assert value.confidence == round(share * 0.75, 4) and value.missing == missing
    assert board.canvas.values[0] == b'"xy"'
    spell(board, 1, "12")
    board.spelled(1, share / 2)
    assert not board.values[1].missing, "nobody demands it"


def test_a_value_that_is_just_likelier_than_not_is_not_missing() -> None:
    board = board_of(TWO)
    spell(board, 0, '"xy"', 0.5)
    board.spelled(0, 1.0)
    assert board.values[0].confidence == 0.5 and not board.values[0].missing


def test_a_value_that_is_opened_again_is_open_at_all_positions() -> None:
    board = board_of(TWO)
    spell(board, 0, '"xy"')
    board.firm[0, 1:3] = True
    board.spelled(0, 1.0)
    board.closed[0] = True
    board.reopen(torch.tensor([True, False]))
    assert board.canvas.values == [None, None] and not bool(board.closed.any() | board.firm.any())
    assert bool((board.canvas.tokens == MASK).all()) and bool((board.sureness == 1).all())
    assert board.value_reopened.tolist() == [1, 0] and board.reopened == [1]
    assert board.before == [{-1: b'"xy"'}, {}]
    assert board.reopenings == Reopenings(values=1)


def test_positions_that_are_opened_again_open_what_followed_from_them() -> None:
    board = board_of(TWO)
    spell(board, 0, '"xy"', 0.25)
    spell(board, 1, "12")
    board.firm[0, 1:3] = board.firm[1, :2] = True
    doubted = torch.zeros_like(board.firm)
    doubted[0, 1] = True
    board.reopen_positions(doubted)
    assert board.canvas.tokens[0].tolist() == [MASK, MASK, ord("y"), *[MASK] * 13]
    assert board.canvas.tokens[1].tolist() == [ord("1"), ord("2"), *[PAD] * 14]
    assert board.firm.nonzero().tolist() == [[0, 2], [1, 0], [1, 1]] and bool((board.sureness[0] == 1).all())
    assert board.position_reopened.nonzero().tolist() == [[0, 1]]
    assert board.before == [{1: ord("x")}, {}] and board.reopened == [1]
    assert board.reopenings == Reopenings(positions=1)


def test_a_slot_that_grows_keeps_what_is_committed() -> None:
    board = board_of(TWO)
    spell(board, 0, '"xy"')
    before = board.canvas.tokens.clone()
    board.grow(torch.tensor([True, False]))
    assert board.canvas.length.tolist() == [32, 16] and board.canvas.tokens.shape == (2, 32)
    assert torch.equal(board.canvas.tokens[:, :16], before) and bool(
        (board.canvas.tokens[:, 16:] == MASK).all()
    )
    assert not bool(board.firm[:, 16:].any()) and bool((board.sureness[:, 16:] == 1).all())
    assert not bool(board.position_reopened[:, 16:].any()) and board.within.sum(1).tolist() == [32, 16]
    board.grow(torch.tensor([False, True]))
    assert board.canvas.length.tolist() == [32, 32] and board.canvas.tokens.shape == (2, 32)


def test_requests_that_are_done_leave_and_the_others_stay_as_they_were() -> None:
    board = board_of(TWO, TWO, TWO)
    board.grow(torch.tensor([False, False, True, False, False, False]))
    for slot in (2, 3):
        board.values[slot] = Value(b'"done"' if slot == 2 else b"5", False, 0.9)
        board.settle(slot)
        board.closed[slot] = True
    spell(board, 4, '"z"')
    board.firm[4, 1] = board.position_reopened[4, 1] = True
    board.value_reopened[5] = 2
    board.before[4] = {1: ord("q")}
    board.steps = [1, 2, 3]
    board.judge()
    board.finish()
    assert [result and result.record for result in board.results] == [None, '{"a":"done","b":5}', None]
    done = board.results[1]
    assert done is not None and (done.id, done.steps, done.reopened) == ("r1", 2, 0)
    assert done.leaves["/a"].confidence == 0.9
    assert (
        board.active == [0, 2] and board.memories == ["m0", "m2"] and board.request.tolist() == [0, 0, 1, 1]
    )
    assert [instance.request for instance in board.canvas.instances] == [0, 0, 1, 1]
    assert len(board.forms) == len(board.rows) == 2 and board.canvas.tokens.shape == (4, 16)
    assert board.canvas.tokens[2, :3].tolist() == list(b'"z"') and board.before[2] == {1: ord("q")}
    assert board.firm.nonzero().tolist() == board.position_reopened.nonzero().tolist() == [[2, 1]]
    assert board.value_reopened.tolist() == [0, 0, 0, 2] and float(board.sureness[2, 1]) == 0.75
    assert board.closed.tolist() == [False] * 4 and board.excusable.tolist() == [False, True] * 2
    board.finish()
    assert board.active == [0, 2], "nothing more is done"


def test_what_was_opened_again_and_has_another_value_now_is_counted() -> None:
    board = board_of(schema_of(["a", "b", "c", "d"], a=TEXT, b=TEXT, c=TEXT, d=TEXT))
    for slot, before in enumerate(
        [{-1: b'"old"'}, {-1: b'"new"'}, {1: ord("x"), 2: ord("e")}, {9: ord("x")}]
    ):
        board.before[slot] = before  # type: ignore[assignment]
        board.values[slot] = Value(b'"new"', False, 0.9)
        board.settle(slot)
    board.closed[:] = True
    board.finish()
    # Another text, the same text, one position of two, and one that the text no longer has.
    assert board.reopenings == Reopenings(changed=3) and not board.active


def test_nothing_is_kept_that_the_schema_does_not_allow() -> None:
    board = board_of({**TWO, "maxProperties": 1, "properties": {"a": TEXT, "b": {"type": "integer"}}})
    first = board.kept[0]
    assert first.record == '{"a":""}' and first.filled
    board.values = [Value(b'"x"', False, 0.9), Value(b"5", False, 0.9)]
    board.judge()
    assert board.kept[0] is first, "what is not done is not repaired"
    board.values[1] = Value(b"5", True)
    board.judge()
    assert board.kept[0].record == '{"a":"x"}'
    board.values[1] = Value(b"5", False, 0.9)
    board.closed[:] = True
    board.judge()
    assert board.kept[0].record == '{"a":"x"}'


def test_before_anything_is_known_a_record_may_be_the_forms_own() -> None:
    item = {"type": ["integer", "null"]}
    properties = {"a": TEXT, "b": {"type": "array", "items": item, "minItems": 2}, "d/e": TEXT}
    kept = board_of({**schema_of(["b"], **properties), "minProperties": 3}).kept[0]
    assert kept.record == '{"a":"","b":[null,null],"d/e":""}' and not kept.filled and kept.rows == {}
    assert {at: leaf.text for at, leaf in kept.leaves.items()} == {
        "/a": '""', "/b/0": "null", "/b/1": "null", "/d~1e": '""',
    }  # fmt: skip
    assert [leaf.missing for leaf in kept.leaves.values()] == [True, False, False, True]
    assert all(leaf.origin == "minimal" and not leaf.confidence for leaf in kept.leaves.values())


def test_known_values_with_which_no_record_is_allowed_fail_their_request() -> None:
    board = board_of({**TWO, "not": {"required": ["b"]}, "properties": {"a": TEXT, "b": TEXT}}, b='"x"')
    assert not board.kept[0].filled
    board.values[0] = Value(b'"x"', False)
    board.settle(0)
    board.closed[0] = True
    with pytest.raises(EngineFailure, match="known"):
        board.finish()
