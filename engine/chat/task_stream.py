"""Tasks of many clients in one batch of the denoiser, which they join and leave one by one.

What a task gets does not depend on the others. If a pass fails, the tasks that took part in it are decoded once more,
each alone, and one that fails alone gets the failure.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from cinnabar.engine.chat.shared_engine import Awaited
from cinnabar.engine.diffusion.decoded import Run, Undecoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.scheduler import ALONE, failure_of, out_of_memory
from cinnabar.engine.time_limit import limited

#: Tokens that are decoded together, prompts and answers.
ROOM = 32_768
_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class AwaitedText(Awaited):
    """A task to decode; its result is a `Decoded`.

    watch: sees its run after each step. alone: it failed beside others, and is decoded without any.
    """

    task: Task
    watch: Callable[[Run], None] | None = None
    alone: bool = False


class TaskStream:
    """Decodes tasks with one denoiser.

    in_turns: as in `Tasks`. seconds: the most seconds that the thread may work while a task is decoded, None for no
    limit.
    """

    def __init__(self, denoiser: Denoiser, in_turns: bool = False, seconds: float | None = None) -> None:
        self.denoiser, self.in_turns = denoiser, in_turns
        self._seconds, self._room = seconds, ROOM

    def run(self, take: Callable[[], Awaited | None], between: Callable[[], None]) -> None:
        """Decodes what it takes, until there is nothing more to take; calls `between` between two passes."""
        batch, memory = _Batch(take), False
        try:
            self._decode(batch, between)
        except Exception as error:
            # Outside of the handler: the exception no longer holds the failed batch's tensors.
            memory = out_of_memory(error)
            _log.warning("a pass over %d requests failed: %s", len(batch.open), error)
        left = [*batch.open.values(), *batch.apart]
        if memory:
            self._room = max(min(self._room, sum(one.task.tokens for one in left)) // 2, 1)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        for one in left:
            self._decode_alone(one)

    def _decode_alone(self, one: AwaitedText) -> None:
        """Decodes a task that failed beside others once more; its failure is its own then."""
        one.alone, only = True, [one]
        try:
            self._decode(_Batch(lambda: only.pop() if only else None), lambda: None)
        except Exception as error:
            _log.exception("request %s failed alone", one.identity)
            one.settle(failure_of(one.identity, error, out_of_memory(error)))

    def _decode(self, batch: _Batch, between: Callable[[], None]) -> None:
        def watch(_: int, runs: Sequence[Run]) -> None:
            for run in runs:
                one = batch.open[run.index]
                if one.watch is not None and not one.result.done():
                    one.watch(run)
            begun = time.thread_time()
            between()
            spent = time.thread_time() - begun
            for run in runs:
                run.postpone(spent)

        with limited(self._seconds):
            for number, decoded in self.denoiser.serve(batch, watch, room=self._room):
                one = batch.open.pop(number)
                if not isinstance(decoded, Undecoded):
                    one.settle(decoded)
                elif decoded.code in ALONE and not one.alone:
                    batch.apart.append(one)
                else:
                    one.fail(decoded.code, decoded.detail)


class _Batch:
    """What one batch has taken in: see `Arrivals`.

    apart: tasks that shall be decoded alone behind the batch, which takes no more then, so that it ends.
    """

    def __init__(self, take: Callable[[], Awaited | None]) -> None:
        self.open: dict[int, AwaitedText] = {}
        self.apart: list[AwaitedText] = []
        self._take, self._count = take, 0

    def take(self, idle: bool) -> tuple[int, Task] | None:  # noqa: ARG002, as in the protocol
        """Returns the next task with a new number."""
        one = None if self.apart else self._take()
        if one is None:
            return None
        assert isinstance(one, AwaitedText)
        self._count += 1
        self.open[self._count] = one
        return self._count, one.task

    def given_up(self, number: int) -> bool:
        """Returns whether the task has ended."""
        return self.open[number].result.done()
