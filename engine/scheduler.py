"""Packs requests into batches and returns exactly one result for each, even if other requests fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Protocol

import torch

from cinnabar.engine.request import Failed, Request, Result
from cinnabar.engine.share_done import part
from cinnabar.engine.time_limit import TOO_SLOW, start_clock
from cinnabar.schemas.errors import EngineFailure, RunError

FillBatch = Callable[[Sequence[Request]], list[Result]]
#: Gets the numbers of some requests and the tokens that fit together; yields each number with its result.
Stream = Callable[[Sequence[int], int], Iterator[tuple[int, Result]]]
#: Tokens that a slot counts as, in the size of a batch.
SLOT = 16
#: Told of a request whose scores mean nothing.
NO_NUMBERS = "model"
#: Failures that may be due to the other requests: these take time, and a place that holds no number is read, with no
#: weight, by all that share a page or a tile with it.
ALONE = frozenset({TOO_SLOW, NO_NUMBERS})


class Counting(Protocol):
    """Whatever counts the tokens of a text."""

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text."""
        ...


def cost_of(request: Request, counting: Counting) -> int:
    """Returns the tokens that a request takes in a batch: those of its passage, and of its slots."""
    return counting.count_tokens(request.passage.text) + SLOT * len(request.form.slots)


def pack(costs: Sequence[int], budget: int) -> list[list[int]]:
    """Returns the indices in their order, cut into batches of at most `budget` tokens or of one request."""
    batches: list[list[int]] = []
    room = 0
    for index, cost in enumerate(costs):
        if not batches or cost > room:
            batches.append([])
            room = budget
        batches[-1].append(index)
        room -= cost
    return batches


def run(requests: Sequence[Request], costs: Sequence[int], budget: int, fill: FillBatch) -> list[Result]:
    """Returns one result for each request, in their order.

    costs: tokens of each request. A batch that runs out of memory is halved, and so is the budget of later batches. A
    batch that fails otherwise is halved until the failing requests stand alone; the requests of one that exceeds the
    time limit are filled one by one. A request that fails alone becomes `Failed`, with the code of its EngineFailure,
    `out_of_memory`, or `engine_error`. Raises RunError if `fill` does.
    """
    results: dict[int, Result] = {}
    waiting = list(reversed(pack(costs, budget)))
    while waiting:
        batch = waiting.pop()
        try:
            done = len(results)
            with start_clock(), part(done / len(requests), (done + len(batch)) / len(requests)):
                filled = fill([requests[index] for index in batch])
            if len(filled) != len(batch):
                raise EngineFailure("engine_error", f"expected {len(batch)} results, got {len(filled)}")
            results.update(zip(batch, filled, strict=True))
            continue
        except RunError:
            raise
        except Exception as error:
            memory = out_of_memory(error)
            slow = isinstance(error, EngineFailure) and error.code == TOO_SLOW
            failure = failure_of(requests[batch[0]].id, error, memory) if len(batch) == 1 else None
        # Outside of the handler: the exception no longer holds the failed batch's tensors.
        if memory:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if len(batch) > 1:
                budget = max(sum(costs[index] for index in batch) // 2, 1)
                rest = [index for later in reversed(waiting) for index in later]
                parts = pack([costs[index] for index in rest], budget)
                waiting = [[rest[at] for at in part] for part in reversed(parts)]
        if failure is not None:
            results[batch[0]] = failure
        elif slow:
            waiting += [[index] for index in reversed(batch)]
        else:
            middle = (len(batch) + 1) // 2
            waiting += [batch[middle:], batch[:middle]]
    return [results[index] for index in range(len(requests))]


def run_stream(requests: Sequence[Request], costs: Sequence[int], room: int, stream: Stream) -> list[Result]:
    """Returns one result for each request, in their order, of a stream that yields each as soon as it is done.

    costs: tokens of each request; room: those that the stream may work on together. What a stream has yielded when it
    fails is kept, and the rest is halved until the failing requests stand alone; if memory ran out, so is the room.
    Requests that exceed the time limit beside others, or whose scores are no numbers, are filled once more, one by
    one. A request that fails alone becomes `Failed` as in `run`. Raises RunError if the stream does.
    """
    results: dict[int, Result] = {}
    waiting = [list(range(len(requests)))] if requests else []
    while waiting:
        part = waiting.pop()
        alone, memory = len(part) == 1, False
        again, failure = set[int](), None
        try:
            with start_clock() if alone else nullcontext():
                for index, result in stream(part, room):
                    if not alone and isinstance(result, Failed) and result.code in ALONE:
                        again.add(index)
                    else:
                        results[index] = result
            if len(part) > len(again) + sum(index in results for index in part):
                raise EngineFailure("engine_error", "expected a result for each request")
        except RunError:
            raise
        except Exception as error:
            memory = out_of_memory(error)
            failure = failure_of(requests[part[0]].id, error, memory) if alone else None
        left = [index for index in part if index not in results and index not in again]
        waiting[:0] = [[index] for index in sorted(again, reverse=True)]
        # Outside of the handler: the exception no longer holds the failed batch's tensors.
        if memory:
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            room = max(min(room, sum(costs[index] for index in left)) // 2, 1)
        if failure is not None:
            results[part[0]] = failure
            continue
        middle = (len(left) + 1) // 2
        waiting += [half for half in (left[middle:], left[:middle]) if half]
    return [results[index] for index in range(len(requests))]


def out_of_memory(error: Exception) -> bool:
    """Returns whether the host or the device ran out of memory."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or (
        isinstance(error, RuntimeError)
        and any(words in str(error).lower() for words in ("out of memory", "can't allocate memory"))
    )


def failure_of(request_id: str, error: Exception, memory: bool = False) -> Failed:
    """Returns the failure of a request that ended with this error; `memory` says that memory ran out."""
    if isinstance(error, EngineFailure):
        return Failed(request_id, error.code, error.detail)
    code = "out_of_memory" if memory else "engine_error"
    return Failed(request_id, code, f"{type(error).__name__}: {error}"[:2000])
