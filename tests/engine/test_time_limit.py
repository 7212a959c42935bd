"""The time limit of requests: a request that takes too long fails alone."""

from __future__ import annotations

import time

import pytest
from tests.support.reading_model import EndlessModel
from tests.support.tiny_network import tiny_model

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Failed, Filled, Passage, Request
from cinnabar.engine.work_time import check_time, limit_batches, start_clock
from cinnabar.errors import EngineFailure
from cinnabar.schemas import compile_schema

import numpy as np  # isort: skip

FORM = compile_schema(
    {"type": "object", "properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]}
).form


def request(text: str) -> Request:
    none = np.zeros(0, np.int32)
    return Request(text, FORM, Passage(text, text, 0, none, none, np.zeros((0, 4), np.float32)))


def test_a_request_that_takes_too_long_fails_and_those_of_its_batch_are_filled() -> None:
    engine = Engine(EndlessModel())
    with limit_batches(0.05):
        results = engine.fill([request(text) for text in ("name=A", "SLOW", "name=C")])
    assert [type(result) for result in results] == [Filled, Failed, Filled]
    assert isinstance(results[1], Failed) and results[1].code == "too_slow"


def test_the_time_of_other_programs_does_not_count() -> None:
    with limit_batches(0.05), start_clock():
        time.sleep(0.1)
        check_time()


def test_no_limit_holds_outside_of_a_batch() -> None:
    with limit_batches(0.0):
        check_time()
        with start_clock(), pytest.raises(EngineFailure, match="too_slow"):
            time.thread_time()
            check_time()
        check_time()


def test_the_reader_looks_at_its_limit_between_two_windows() -> None:
    long = "one two three four five\n" * 200
    with limit_batches(1e-6):
        (result,) = Engine(tiny_model()).fill([request(long)])
    assert isinstance(result, Failed) and result.code == "too_slow"
