"""The reader and a language model behind one server: records of the one, with what it doubts read by the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from cinnabar.engine.chat.shared_engine import CLOSED, SharedEngine, SharedFiller, Watch
from cinnabar.engine.effort import Effort
from cinnabar.engine.request import Failed, Filled, Request, Result
from cinnabar.engine.time_limit import GIVEN_UP
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.reading.planned_models import Escalation
from cinnabar.extraction.reading.tiers import MergedRecord, Tier, escalate

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
        self._asked: dict[Future[Result], tuple[Future[Result], SharedFiller]] = {}

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a batch of either model."""
        return self.lower.waiting + self.upper.waiting

    @property
    def alive(self) -> bool:
        """Whether the threads that fill are at work."""
        return self.lower.alive and self.upper.alive

    def filler(self, effort: Effort) -> SharedFiller:
        """Returns a filler of the reader alone; `tier` has what comes behind it."""
        return self.lower.filler(effort)

    def tier(self, upper: SharedFiller) -> Tier:
        """Returns the tier with this filler of the language model."""
        return self._escalation.tier(lambda: upper)

    def submit(self, request: Request, effort: Effort, watch: Watch | None = None) -> Future[Result]:
        """Returns the future of the request's result; `give_up` ends it early."""
        final: Future[Result] = Future()
        upper, first = self.upper.filler(effort), self.lower.submit(request, effort, watch)
        self._asked[final] = first, upper
        final.add_done_callback(lambda done: self._asked.pop(done, None))
        first.add_done_callback(lambda done: self._go_on(request, done.result(), upper, final))
        return final

    def give_up(self, result: Future[Result]) -> None:
        """Ends a request with the code GIVEN_UP."""
        first, upper = self._asked.get(result, (None, None))
        _settle(result, Failed("", GIVEN_UP))
        if first is not None and upper is not None:
            self.lower.give_up(first)
            upper.give_up()

    def close(self) -> None:
        """Ends all requests that wait, and the threads after what they work on."""
        self.lower.close()
        self.upper.close()
        self._threads.shutdown(wait=False, cancel_futures=False)

    def ended(self, seconds: float) -> bool:
        """Waits so long, at most, for each model's threads; returns whether they have ended."""
        return self.lower.ended(seconds) and self.upper.ended(seconds)

    def _go_on(self, request: Request, read: Result, upper: SharedFiller, final: Future[Result]) -> None:
        """Has a thread ask the language model, for the engine's own one must not wait."""
        if isinstance(read, Failed):
            _settle(final, read)
            return
        try:
            self._threads.submit(self._raise, request, read, upper, final)
        except RuntimeError:  # after `close`
            _settle(final, Failed(request.id, CLOSED))

    def _raise(self, request: Request, read: Filled, upper: SharedFiller, final: Future[Result]) -> None:
        try:
            merged = MergedRecord(self._document_of(request.passage.text), read)
            (result,), _ = escalate([merged], request.form, self.tier(upper))
        except Exception as error:
            result = Failed(request.id, "engine_error", type(error).__name__)
        _settle(final, result)


def _settle(future: Future[Result], result: Result) -> None:
    """Sets a result unless there is one: a request that was given up has one already."""
    with suppress(Exception):
        future.set_result(result)
