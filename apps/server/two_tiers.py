"""The reader and a language model behind one server: records of the one, with what it doubts read by the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cinnabar.engine.chat.shared_engine import CLOSED, Awaited, SharedEngine, SharedFiller, Watch
from cinnabar.engine.request import Failed, Filled, Request, Result
from cinnabar.engine.settings import Effort
from cinnabar.engine.work_time import GIVEN_UP
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.run_models import Escalation
from cinnabar.extraction.filling.stages import MergedRecord
from cinnabar.extraction.filling.tiers import Tier, escalate

#: Threads that wait for the language model, so many records share its batches.
_THREADS = 64


class TwoTiers:
    """Answers as a run with `--model auto` does; asked like a `SharedEngine`, for texts that are whole documents.

    document_of: turns the text of a passage into its document. Watchers see the reader's states.
    """

    def __init__(
        self, lower: SharedEngine, upper: SharedEngine, escalation: Escalation, document_of: Callable[[str], Document]
    ) -> None:
        self.lower, self.upper, self._escalation, self._document_of = lower, upper, escalation, document_of
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="two tiers")

    @property
    def alive(self) -> bool:
        """Whether the threads that fill are at work."""
        return self.lower.alive and self.upper.alive

    def filler(self, effort: Effort) -> SharedFiller:
        """Returns a filler of the reader alone; `tier` has what comes behind it."""
        return self.lower.filler(effort)

    def tier(self, upper: SharedFiller, effort: Effort) -> Tier:
        """Returns the tier with this filler of the language model."""
        return self._escalation.tier(effort.name, lambda: upper)

    def submit(self, request: Request, effort: Effort, watch: Watch | None = None) -> Awaited:
        """Has a request filled by the reader, then by the language model where that doubts."""
        final, upper = Awaited(identity=request.id), self.upper.filler(effort)
        first = self.lower.submit(request, effort, watch)

        def leave(_: Any) -> None:
            first.fail(GIVEN_UP)
            upper.give_up()

        final.result.add_done_callback(leave)
        first.result.add_done_callback(
            lambda done: self._go_on(request, done.result(), self.tier(upper, effort), final)
        )
        return final

    def close(self) -> None:
        """Ends all requests that wait, and the threads after what they work on."""
        self.lower.close()
        self.upper.close()
        self._threads.shutdown(wait=False, cancel_futures=False)

    def wait_for_end(self, seconds: float) -> bool:
        """Waits so long, at most, for each model's threads; returns whether they have ended."""
        return self.lower.wait_for_end(seconds) and self.upper.wait_for_end(seconds)

    def _go_on(self, request: Request, read: Result, tier: Tier, final: Awaited) -> None:
        """Has a thread ask the language model, for the engine's own one must not wait."""
        if isinstance(read, Failed):
            final.settle(read)
            return
        try:
            self._threads.submit(self._raise, request, read, tier, final)
        except RuntimeError:  # after `close`
            final.fail(CLOSED)

    def _raise(self, request: Request, read: Filled, tier: Tier, final: Awaited) -> None:
        try:
            merged = MergedRecord(self._document_of(request.passage.text), read)
            (result,), _ = escalate([merged], request.form, tier)
        except Exception as error:
            result = Failed(request.id, "engine_error", type(error).__name__)
        final.settle(result)
