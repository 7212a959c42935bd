"""The scheduler: it packs requests into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch
from tests.support.remote_forms import form_of, request

from cinnabar.engine.fill.engine import NO_NUMBERS, pack, run_stream
from cinnabar.engine.request import Failed, Request, Result
from cinnabar.engine.work_time import TOO_SLOW
from cinnabar.errors import EngineFailure, RunError


@pytest.mark.parametrize(
    ("costs", "budget", "batches"),
    [
        ([], 10, []),
        ([5, 5, 1], 10, [[0, 1], [2]]),
        ([5, 6, 4, 1], 10, [[0], [1, 2], [3]]),
        ([50, 1, 1], 10, [[0], [1, 2]]),
        ([1, 50, 1], 10, [[0], [1], [2]]),
    ],
    ids=["nothing", "exactly full", "one more", "too large at first", "too large in between"],
)
def test_requests_are_packed_in_their_order(costs: list[int], budget: int, batches: list[list[int]]) -> None:
    assert pack(costs, budget) == batches


ASKED = request(form_of({"type": "object"}), "text", {})
REQUESTS = [Request(f"r{at}", ASKED.form, ASKED.passage) for at in range(6)]


def failed(at: int, code: str = "done") -> Failed:
    return Failed(f"r{at}", code, "")


def test_what_a_stream_yielded_before_it_failed_is_kept_and_the_failing_request_stands_alone() -> None:
    tried: list[list[int]] = []

    def stream(at: Sequence[int], _: int) -> Iterator[tuple[int, Result]]:
        tried.append([*at])
        for number in at:
            if number == 3:
                raise ValueError("three")
            yield number, failed(number)

    results = run_stream(REQUESTS, [1] * 6, 10, stream)
    assert tried == [[0, 1, 2, 3, 4, 5], [3, 4], [3], [4], [5]]
    assert results == [*map(failed, range(3)), Failed("r3", "engine_error", "ValueError: three"), failed(4), failed(5)]


def test_the_room_shrinks_when_memory_runs_out() -> None:
    rooms: list[int] = []

    def stream(at: Sequence[int], room: int) -> Iterator[tuple[int, Result]]:
        rooms.append(room)
        if room > 20:
            raise torch.OutOfMemoryError("CUDA out of memory")
        yield from ((number, failed(number)) for number in reversed(at))

    assert run_stream(REQUESTS, [10] * 6, 1000, stream) == [failed(at) for at in range(6)]
    assert rooms == [1000, 30, 15, 15, 15]


@pytest.mark.parametrize("code", [TOO_SLOW, NO_NUMBERS])
def test_a_request_that_was_too_slow_or_had_no_numbers_beside_others_is_filled_alone(code: str) -> None:
    tried: list[list[int]] = []

    def stream(at: Sequence[int], _: int) -> Iterator[tuple[int, Result]]:
        tried.append([*at])
        for number in at:
            if number == 1 or (number == 4 and len(at) > 1):
                yield number, failed(number, code)
            else:
                yield number, failed(number)

    results = run_stream(REQUESTS, [1] * 6, 10, stream)
    assert tried == [[*range(6)], [1], [4]]
    assert [one.code for one in results if isinstance(one, Failed)] == ["done", code, *["done"] * 4]


def test_a_stream_that_leaves_requests_out_is_an_error_of_these() -> None:
    results = run_stream(REQUESTS[:2], [1, 1], 10, lambda at, _: iter([(0, failed(0))] if 0 in at else []))
    assert results == [failed(0), Failed("r1", "engine_error", "expected a result for each request")]


def test_an_error_of_the_run_ends_the_stream() -> None:
    def stream(_: Sequence[int], __: int) -> Iterator[tuple[int, Result]]:
        raise RunError("the observer failed")
        yield

    with pytest.raises(RunError, match="the observer failed"):
        run_stream(REQUESTS, [1] * 6, 10, stream)
    assert run_stream([], [], 10, stream) == []
    assert EngineFailure(TOO_SLOW).code == TOO_SLOW
