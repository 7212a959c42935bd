"""Failures stay alone: errors, lack of memory, and scores that no model should have."""



from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tests.support.random_model import RandomModel, request
from tests.support.scripted_model import form_of, many

from cinnabar.engine.fill.engine import Engine, run
from cinnabar.engine.model import Canvas, Row, Scores
from cinnabar.engine.request import Failed, Filled
from cinnabar.engine.work_time import report_to
from cinnabar.schemas.form.form import Form


class Failing(RandomModel):
    """A model that fails on passages of these names, at `encode`, `find_rows` or `score`."""

    def __init__(self, at: str, names: set[str], error: Exception) -> None:
        super().__init__(3)
        self.at, self.poison, self.error = at, {f"digest {name}" for name in names}, error

    def _check(self, at: str, memories: Sequence[Any]) -> None:
        if at == self.at and self.poison & set(memories):
            raise self.error

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        self._check("encode", [p.digest for p in passages])
        return super().encode(passages)

    def find_rows(self, forms: Sequence[Form], memories: Sequence[Any]) -> list[list[Row]]:
        self._check("find_rows", memories)
        return super().find_rows(forms, memories)

    def score(
        self, forms: Sequence[Form], memories: Sequence[Any], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        self._check("score", memories)
        return super().score(forms, memories, rows, canvas)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["encode", "find_rows", "score"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("broken"), "engine_error"),
        (MemoryError(), "out_of_memory"),
        (torch.OutOfMemoryError("too much"), "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out_of_memory"),
    ],
    ids=["error", "host memory", "device memory", "allocator"],
)
def test_a_failing_request_fails_alone(at: str, error: Exception, code: str) -> None:
    requests = [request(form_of(a={"type": "string"}, b={"type": "integer"}), f"r{k}") for k in range(11)]
    good = Engine(RandomModel(3)).fill(requests)
    got = Engine(Failing(at, {"r2", "r7"}, error)).fill(requests)
    for k, (one, other) in enumerate(zip(got, good, strict=True)):
        if k in (2, 7):
            assert isinstance(one, Failed) and (one.id, one.code) == (f"r{k}", code)
            assert type(error).__name__ in one.detail
        else:
            assert one == other


class Small(RandomModel):
    """A model with memory for this many requests at once."""

    def __init__(self, room: int) -> None:
        super().__init__(3)
        self.room, self.sizes = room, list[int]()

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        self.sizes.append(len(passages))
        if len(passages) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().encode(passages)


def test_a_batch_that_runs_out_of_memory_is_halved_and_so_are_those_after_it() -> None:
    requests = [request(form_of(a={"type": "string"}), f"r{k}") for k in range(64)]
    cost = 11 + 16
    model = Small(5)
    got = Engine(model, token_budget=16 * cost).fill(requests)
    assert got == Engine(RandomModel(3)).fill(requests)
    assert model.sizes[:3] == [16, 8, 4]
    # Without remembering the failure, each of the four batches would have tried 16 and 8.
    assert sum(size > 5 for size in model.sizes) == 2


def test_scores_that_are_not_numbers_fail_their_request_only() -> None:
    class Broken(RandomModel):
        def score(self, forms: Any, memories: Any, rows: Any, canvas: Canvas) -> Scores:
            scores = super().score(forms, memories, rows, canvas)
            for at, instance in enumerate(canvas.instances):
                if memories[instance.request] == "digest r1":
                    scores.absent_logit[at] = float("nan")
            return scores

    requests = [request(form_of(a={"type": "string"}), f"r{k}") for k in range(3)]
    got = Engine(Broken(3)).fill(requests)
    assert [type(result) for result in got] == [Filled, Failed, Filled]
    assert got[1] == Failed("r1", "model", "expected numbers as scores, got NaN")


def test_each_batch_of_requests_tells_the_share_that_is_done() -> None:
    shares = list[float]()
    with report_to(shares.append):
        run(many(5), [10] * 5, 20, lambda some: [Failed(one.id, "x") for one in some])
    assert shares == [0.4, 0.8, 1.0]
