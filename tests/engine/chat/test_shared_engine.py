"""The shared engine: requests of many threads share batches, and each leaves with its own result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cinnabar.engine.chat.shared_engine import CLOSED, Awaited, SharedEngine
from cinnabar.engine.fill.engine import FormState
from cinnabar.engine.request import Failed, Filled, Filler, Passage, Request, Result
from cinnabar.engine.settings import EFFORTS
from cinnabar.engine.work_time import GIVEN_UP, answer_within, check_time, seconds_to_answer
from cinnabar.errors import EngineFailure
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

FORM = compile_schema({"type": "object", "properties": {"a": {"type": "null"}}}).form
NONE = np.zeros(0, np.int32)
MEDIUM, HIGH = EFFORTS["medium"], EFFORTS["high"]


class Scripted(Filler):
    """An engine that waits until it may fill; a token is a character."""

    fingerprint, context_tokens = "scripted", 1000

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)

    def count_tokens(self, text: str) -> int:
        return len(text)

    def windows(self, _: Passage) -> list[tuple[int, int]]:
        return []

    def fill(self, requests: Sequence[Request], watcher: Any = None) -> list[Result]:
        self.batches.append([request.id for request in requests])
        self.begun.release()
        assert self.go.acquire(timeout=10)
        if any(request.id == "bad" for request in requests):
            raise ValueError("text of a document")
        for request in requests if watcher is not None else ():
            watcher(FormState(request.id, 1, request.id, (), (), {}))
        return [Filled(request.id, request.id, {}, {}, 1, 0) for request in requests]


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture
def shared(scripted: Scripted) -> Iterator[SharedEngine]:
    made = SharedEngine(lambda _: scripted)
    yield made
    made.close()
    for _ in range(20):
        scripted.go.release()


def request(name: str, length: int = 5) -> Request:
    return Request(name, FORM, Passage(name, "x" * length, 0, NONE, NONE, np.zeros((0, 4), np.float32)))


def begin(shared: SharedEngine, scripted: Scripted) -> Awaited:
    """Begins a batch of one request, during which others wait."""
    found = shared.submit(request("first"), MEDIUM)
    assert scripted.begun.acquire(timeout=10)
    return found


def queued(shared: SharedEngine) -> int:
    """How many requests and tasks wait for the model."""
    return len(shared._queue) + len(shared._unprepared) + len(shared._undecoded)


def record(found: Awaited) -> str:
    result = found.result.result(timeout=10)
    assert isinstance(result, Filled)
    return result.record


def test_what_waits_during_a_batch_shares_the_next_one(shared: SharedEngine, scripted: Scripted) -> None:
    first = begin(shared, scripted)
    waiting = {name: shared.submit(request(name), MEDIUM) for name in "abc"}
    other = shared.submit(request("other"), HIGH)
    assert queued(shared) == 4
    scripted.go.release(3)
    assert record(first) == '"first"' and {name: record(one) for name, one in waiting.items()} == {
        name: f'"{name}"' for name in "abc"
    }
    assert record(other) == '"other"' and scripted.batches == [["first"], ["a", "b", "c"], ["other"]]


def test_requests_that_gain_nothing_from_each_other_are_filled_one_by_one(scripted: Scripted) -> None:
    shared = SharedEngine(lambda _: scripted, shares=False)
    first = begin(shared, scripted)
    found = [first, *(shared.submit(request(name), MEDIUM) for name in "ab")]
    scripted.go.release(3)
    assert [record(one) for one in found] == ['"first"', '"a"', '"b"']
    assert scripted.batches == [["first"], ["a"], ["b"]]
    shared.close()


def test_the_seconds_to_answer_of_a_request_begin_with_its_batch(scripted: Scripted) -> None:
    within, plain = list[float | None](), scripted.fill

    def fill(requests: Sequence[Request], watcher: Any = None) -> list[Result]:
        within.append(seconds_to_answer())
        return plain(requests, watcher)

    scripted.fill = fill  # type: ignore[method-assign]
    shared = SharedEngine(lambda _: scripted)
    scripted.go.release(2)
    with answer_within(4.0):
        bounded = shared.submit(request("bounded"), MEDIUM)
    record(bounded)
    record(shared.submit(request("free"), MEDIUM))
    shared.close()
    assert within == [4.0, None]


def test_a_long_request_waits_for_shorter_ones_and_is_filled_alone(
    shared: SharedEngine, scripted: Scripted
) -> None:
    begin(shared, scripted)
    found = [shared.submit(request("long", 20_000), MEDIUM), shared.submit(request("short"), MEDIUM)]
    scripted.go.release(3)
    assert [record(one) for one in found] == ['"long"', '"short"']
    assert scripted.batches == [["first"], ["short"], ["long"]]


def test_a_request_that_is_given_up_ends_at_once_and_is_not_filled(
    shared: SharedEngine, scripted: Scripted
) -> None:
    first = begin(shared, scripted)
    waiting, other = shared.submit(request("a"), MEDIUM), shared.submit(request("b"), MEDIUM)
    waiting.fail(GIVEN_UP)
    first.fail(GIVEN_UP)
    for one in (first, waiting):
        result = one.result.result(timeout=10)
        assert isinstance(result, Failed) and result.code == GIVEN_UP
    scripted.go.release(2)
    assert record(other) == '"b"' and scripted.batches == [["first"], ["b"]]


def test_a_batch_that_nobody_waits_for_is_left() -> None:
    ended = threading.Event()

    class Looking(Scripted):
        def fill(self, requests: Sequence[Request], watcher: Any = None) -> list[Result]:
            self.begun.release()
            try:
                for _ in range(1000):
                    check_time()
                    threading.Event().wait(0.01)
            finally:
                ended.set()
            return super().fill(requests, watcher)

    looking = Looking()
    shared = SharedEngine(lambda _: looking)
    found = begin(shared, looking)
    found.fail(GIVEN_UP)
    assert ended.wait(5) and looking.batches == []
    shared.close()


#: A form that is prepared beside the batches.
LARGE = compile_schema({"type": "object", "properties": {"a": {"enum": [f"v{n}" for n in range(400)]}}}).form


class Preparing(Scripted):
    """Prepares a form until it may end, or until nobody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[str] = []
        self.preparing, self.ready, self.left = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def prepare(self, form: Form) -> None:
        self.preparing.release()
        try:
            while not self.ready.acquire(timeout=0.01):
                check_time()
        except EngineFailure:
            self.left.set()
            raise
        self.prepared.append(form.fingerprint)


def test_a_large_form_is_prepared_once_while_others_are_filled() -> None:
    engine = Preparing()
    shared = SharedEngine(lambda _: engine)
    large = [shared.submit(replace(request(name), form=LARGE), MEDIUM) for name in ("a", "b")]
    assert engine.preparing.acquire(timeout=10)
    engine.go.release(4)
    assert record(shared.submit(request("small"), MEDIUM)) == '"small"' and queued(shared) == 1
    engine.ready.release()
    assert [record(one) for one in large] == ['"a"', '"b"'] and len(engine.prepared) == 1
    assert record(shared.submit(replace(request("c"), form=LARGE), MEDIUM)) == '"c"' and len(engine.prepared) == 1
    shared.close()
    assert shared.wait_for_end(5)


def test_the_preparing_of_a_form_that_nobody_waits_for_is_left() -> None:
    engine = Preparing()
    shared = SharedEngine(lambda _: engine)
    found = shared.submit(replace(request("a"), form=LARGE), MEDIUM)
    assert engine.preparing.acquire(timeout=10)
    found.fail(GIVEN_UP)
    assert engine.left.wait(5) and engine.prepared == [] and queued(shared) == 0
    engine.go.release()
    assert record(shared.submit(request("small"), MEDIUM)) == '"small"'
    shared.close()
    assert shared.wait_for_end(5)


def test_a_failure_ends_its_batch_without_its_text_and_not_the_engine(
    shared: SharedEngine, scripted: Scripted
) -> None:
    scripted.go.release(2)
    result = shared.submit(request("bad"), MEDIUM).result.result(timeout=10)
    assert result == Failed("bad", "engine_error", "ValueError")
    assert record(shared.submit(request("good"), MEDIUM)) == '"good"' and shared.alive


def test_steps_are_shown_to_those_who_watch(shared: SharedEngine, scripted: Scripted) -> None:
    scripted.go.release()
    seen: list[tuple[int, str]] = []
    record(shared.submit(request("a"), MEDIUM, lambda step, text: seen.append((step, text))))
    assert seen == [(1, '"a"')]


def test_a_filler_waits_for_its_requests_and_can_be_given_up(shared: SharedEngine, scripted: Scripted) -> None:
    filler = shared.filler(MEDIUM)
    assert (filler.fingerprint, filler.context_tokens, filler.count_tokens("ab")) == ("scripted", 1000, 2)
    scripted.go.release(2)
    assert [one.id for one in filler.fill([request("a"), request("b")])] == ["a", "b"]
    filler.give_up()
    (left,) = filler.fill([request("c")])
    assert isinstance(left, Failed) and left.code == GIVEN_UP


def test_giving_up_a_filler_ends_what_all_of_its_threads_wait_for(shared: SharedEngine, scripted: Scripted) -> None:
    begin(shared, scripted)
    filler = shared.filler(MEDIUM)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(filler.fill, [request(name)]) for name in "abc"]
        while queued(shared) < len(asked):
            time.sleep(0.01)
        filler.give_up()
        for name, one in zip("abc", asked, strict=True):
            (left,) = one.result(timeout=10)
            assert left == Failed(name, GIVEN_UP)


def test_requests_end_when_the_engine_is_closed(shared: SharedEngine, scripted: Scripted) -> None:
    first = begin(shared, scripted)
    waiting = shared.submit(request("a"), MEDIUM)
    shared.close()
    late = shared.submit(request("b"), MEDIUM)
    for one in (first, waiting, late):
        result = one.result.result(timeout=10)
        assert isinstance(result, Failed) and result.code == CLOSED


class Passes:
    """Decodes tasks in passes, each of which waits until it may go on; a task ends with its last one."""

    def __init__(self, order: list[list[str]]) -> None:
        self.order = order
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)

    def run(self, take: Callable[[], Awaited | None], between: Callable[[], None]) -> None:
        open_tasks: list[Awaited] = []
        while True:
            while (one := take()) is not None:
                open_tasks.append(one)
                self.order.append([one.identity])
            if not open_tasks:
                return
            self.begun.release()
            assert self.go.acquire(timeout=10)
            open_tasks.pop(0).settle("decoded")
            between()


def beside(scripted: Scripted) -> tuple[SharedEngine, Passes]:
    """An engine whose first task is at work, with a second one, a request, and a third task behind it."""
    passes = Passes(scripted.batches)
    shared = SharedEngine(lambda _: scripted, tasks=passes)
    shared.decode(Awaited(identity="one"))
    assert passes.begun.acquire(timeout=10)
    return shared, passes


def test_a_batch_is_filled_between_two_passes(scripted: Scripted) -> None:
    shared, passes = beside(scripted)
    two, filled = shared.decode(Awaited(identity="two")), shared.submit(request("a"), MEDIUM)
    passes.go.release()
    scripted.go.release()
    assert record(filled) == '"a"' and passes.begun.acquire(timeout=10) and not two.result.done()
    passes.go.release()
    assert two.result.result(timeout=10) == "decoded" and scripted.batches == [["one"], ["a"], ["two"]]
    shared.close()
    assert shared.wait_for_end(5)


def test_passes_take_as_long_as_the_batch_before_them_until_the_next_one(scripted: Scripted) -> None:
    shared, passes = beside(scripted)
    tasks = [shared.decode(Awaited(identity=name)) for name in ("two", "three")]
    first = shared.submit(request("a"), MEDIUM)
    passes.go.release()
    assert scripted.begun.acquire(timeout=10)
    later = shared.submit(request("b"), MEDIUM)
    time.sleep(0.3)
    scripted.go.release()
    passes.go.release()
    assert record(first) == '"a"' and tasks[0].result.result(timeout=10) == "decoded"
    scripted.go.release()
    passes.go.release()
    assert record(later) == '"b"' and scripted.batches == [["one"], ["a"], ["two"], ["three"], ["b"]]
    shared.close()


def test_a_task_that_waits_can_be_given_up_and_is_ended_by_closing(scripted: Scripted) -> None:
    shared, passes = beside(scripted)
    given_up, left = shared.decode(Awaited(identity="two")), shared.decode(Awaited(identity="three"))
    given_up.fail(GIVEN_UP)
    shared.close()
    assert [one.result.result(timeout=10).code for one in (given_up, left)] == [GIVEN_UP, CLOSED]
    assert queued(shared) == 0
    passes.go.release()
    assert shared.wait_for_end(5) and shared.decode(Awaited(identity="late")).result.result().code == CLOSED
