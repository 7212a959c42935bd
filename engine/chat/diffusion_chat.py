"""A language model that answers the requests of many clients at once.

Two threads plan requests; one decodes them, all in one batch that requests join and leave one by one. What a request
gets does not depend on the others. If a pass fails, the requests that took part in it are decoded once more, each
alone, and one that fails alone gets the failure.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from cinnabar.engine.chat.answer_kinds import RecordText
from cinnabar.engine.chat.planning import Plan, Planner
from cinnabar.engine.chat.reading import read_answer
from cinnabar.engine.chat.requests import (
    Ability,
    Cancel,
    ChatRequest,
    Deliver,
    Done,
    Event,
    Failed,
    FailureCode,
    FinishReason,
    RequestRefused,
    State,
    ToolCall,
    Usage,
)
from cinnabar.engine.diffusion.answer import read_written, without_made_up_values, written_by
from cinnabar.engine.diffusion.decoded import Decoded, Run, Undecoded
from cinnabar.engine.diffusion.denoiser import GIVEN_UP, Denoiser
from cinnabar.engine.diffusion.remaining import Remaining
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.engine.scheduler import ALONE, failure_of, out_of_memory
from cinnabar.engine.time_limit import TOO_SLOW, limited
from cinnabar.schemas.errors import NotAccepted

#: Requests that may wait, tokens that are decoded together, and threads that plan.
WAITING, ROOM, PLANNERS = 256, 32_768, 2
#: The codes of failures by those of the engine; all others are the engine's own.
_CODES: dict[str, FailureCode] = {
    "too_long": "context_length_exceeded",
    TOO_SLOW: "timeout",
    GIVEN_UP.code: "cancelled",
}
_log = logging.getLogger(__name__)


class DiffusionChat:
    """Answers requests with one language model; see `ChatModel`.

    name: what clients call it; the name of its folder without one. waiting: the most requests that wait to be decoded.
    room: the tokens that are decoded together, prompts and answers. seconds: the most seconds that the thread may work
    while a request is decoded, None for no limit. calibration: of the confidence of records.
    """

    abilities: frozenset[Ability] = frozenset({"extract", "chat", "tools", "fim", "edit"})

    def __init__(
        self,
        model: LanguageModel,
        name: str | None = None,
        *,
        waiting: int = WAITING,
        room: int = ROOM,
        seconds: float | None = None,
        pages: int | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self.name = name or model.folder.name
        self.context = model.traits.window
        self._model, self._room, self._seconds = model, room, seconds
        self._calibration = calibration
        self._planner = Planner(model)
        self._denoiser = Denoiser(model.decoder, model.tokenizer, pages=pages)
        self._waiting = _Waiting(waiting)
        self._planning = ThreadPoolExecutor(PLANNERS, "chat-plan")
        self._thread = threading.Thread(target=self._serve, name="chat-decode", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a batch."""
        return self._waiting.count

    def submit(self, request: ChatRequest, deliver: Deliver) -> Cancel:
        """Takes a request in, plans it in another thread, and returns what cancels it; a full queue refuses at once."""
        opened = _Open(request, deliver)
        refused = self._waiting.admit(opened)
        if refused is None:
            try:
                self._planning.submit(self._plan, opened)
            except RuntimeError:  # closed since it was admitted
                refused = _CLOSED
        if refused is not None:
            self._waiting.leave(opened)
            opened.end(refused)
        return lambda: self._cancel(opened)

    def close(self) -> None:
        """Ends all requests with `Failed`, code `closed`, and waits for the thread that decodes."""
        self._planning.shutdown(wait=False, cancel_futures=True)
        for opened in self._waiting.close():
            opened.end(_CLOSED)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _cancel(self, opened: _Open) -> None:
        if not opened.ended:
            opened.given_up = True
            # One that is not decoded yet ends at once; the batch drops others before its next pass.
            if self._waiting.withdraw(opened):
                opened.end(_CANCELLED)

    def _plan(self, opened: _Open) -> None:
        """Plans a request and hands it to the thread that decodes."""
        event: Event | None = None
        try:
            opened.begin(self._planner.plan(opened.request))
        except RequestRefused as refused:
            event = refused.event
        except Exception as error:
            _log.exception("request %s could not be planned", opened.request.identity)
            event = _failed(Undecoded("engine_error", f"{type(error).__name__}: {error}"))
        if event is None:
            opened.show_first()
            self._waiting.put(opened)
        else:
            self._waiting.leave(opened)
            opened.end(event)

    def _serve(self) -> None:
        """Decodes requests until the model is closed."""
        with limited(self._seconds):
            while not self._waiting.closed:
                taken = _Taken(self._waiting.take)
                try:
                    self._decode(taken)
                except Exception as error:
                    # Outside of the handler: the exception no longer holds the failed batch's tensors.
                    memory = out_of_memory(error)
                    _log.warning("a pass over %d requests failed: %s", len(taken.open), error)
                else:
                    memory = False
                left = taken.left()
                if memory:
                    self._room = max(min(self._room, sum(opened.plan.task.tokens for opened in left)) // 2, 1)
                    if torch.cuda.is_available():
                        torch.cuda.empty_cache()
                for opened in left:
                    self._decode_alone(opened)

    def _decode_alone(self, opened: _Open) -> None:
        """Decodes a request that failed beside others once more; its failure is its own then."""
        opened.alone = True
        only = [opened]
        taken = _Taken(lambda _: only.pop() if only else None)
        try:
            self._decode(taken)
        except Exception as error:
            _log.exception("request %s failed alone", opened.request.identity)
            failure = failure_of("", error, out_of_memory(error))
            self._end(opened, _failed(Undecoded(failure.code, failure.detail)))

    def _decode(self, taken: _Taken) -> None:
        def watch(_: int, runs: Sequence[Run]) -> None:
            for run in runs:
                taken.open[run.index].watch(run)

        for number, decoded in self._denoiser.serve(taken, watch, room=self._room):
            self._decoded(taken.open.pop(number), decoded, taken)

    def _decoded(self, opened: _Open, decoded: Decoded | Undecoded, taken: _Taken) -> None:
        """Ends a request whose answer is decoded, or sets it apart."""
        if opened.ended:
            self._waiting.leave(opened)
        elif opened.given_up:
            self._end(opened, _CANCELLED)
        elif isinstance(decoded, Undecoded) and decoded.code in ALONE and not opened.alone:
            taken.apart.append(opened)
        elif isinstance(decoded, Undecoded):
            self._end(opened, _failed(decoded))
        else:
            self._end(opened, self._answered(opened, decoded))

    def _answered(self, opened: _Open, decoded: Decoded) -> Event:
        """Returns the answer of a request; an error becomes its failure, for the others need no second try."""
        try:
            return opened.answered(decoded, self._read(opened, decoded))
        except Exception as error:
            _log.exception("request %s cannot be read", opened.request.identity)
            return _failed(Undecoded("engine_error", f"{type(error).__name__}: {error}"))

    def _read(self, opened: _Open, decoded: Decoded) -> Filled | None:
        """Returns the record as it was read from its document, None for an answer of another kind."""
        plan, kind = opened.plan, opened.plan.answer
        if plan.document is None or not isinstance(kind, RecordText):
            return None
        passage = text_passage(plan.document)
        request = Request(opened.request.identity, kind.form, passage)
        filled = read_written(request, Remaining(request), written_by(decoded, self._model.tokenizer))
        if self._calibration is not None:
            filled = self._calibration.calibrated(kind.form, passage, filled)
        return without_made_up_values(kind.form, filled)

    def _end(self, opened: _Open, event: Event) -> None:
        self._waiting.leave(opened)
        opened.end(event)


class _Open:
    """A request that is not answered yet.

    given_up: nobody wants its answer any more. alone: it failed beside others, and is decoded without any.
    """

    def __init__(self, request: ChatRequest, deliver: Deliver) -> None:
        self.request = request
        self.given_up = self.ended = self.alone = False
        self._deliver, self._lock = deliver, threading.RLock()
        self._plan: Plan | None = None
        self._state = b""
        self._shown: State | None = None
        self._passes = 0

    @property
    def plan(self) -> Plan:
        """The plan by which the request is decoded."""
        assert self._plan is not None, "the request is planned"
        return self._plan

    def begin(self, plan: Plan) -> None:
        """Takes the plan of the request."""
        self._plan = plan
        self._state = plan.task.minimal

    def show_first(self) -> None:
        """Delivers the state before the first step, a smallest record, if there is any."""
        if self.request.states and self.plan.task.minimal:
            self._show(self.plan.task.minimal, 0)

    def watch(self, run: Run) -> None:
        """Delivers the state after a step, if it is another one."""
        sequence = run.sequence
        # A step that only read a part of the prompt shows nothing new.
        if not self.request.states or sequence.passes == self._passes:
            return
        self._passes = sequence.passes
        self._state = run.shown(self._state)
        self._show(self._state, self.plan.answer.settled(run.settled()))

    def answered(self, decoded: Decoded, filled: Filled | None) -> Done:
        """Returns the answer, and delivers it as the last state unless it is a refusal.

        filled: the record that was read from a document, None for an answer of another kind.
        """
        done = self._done(decoded)
        if filled is not None:
            done = read_answer(self.request, filled, done)
        if self.request.states and not done.tool_calls and not done.refusal:
            self._deliver_state(State(done.text, len(done.text)))
        return done

    def _done(self, decoded: Decoded) -> Done:
        read = self.plan.answer.read(decoded.text)
        tokens = len(decoded.tokens)
        # The last place of the budget can hold the end alone.
        full = tokens >= self.plan.task.budget - 1 and not self.plan.answer.ends(decoded.text)
        calls = () if read.call is None else (ToolCall(f"call_{self.request.identity}", *read.call),)
        reason: FinishReason = "length" if full else "tool_calls" if calls else "stop"
        prompt = len(self.plan.task.prompt)
        # What is forced at the answer's beginning may have been read for another request, too.
        usage = Usage(prompt, tokens, min(decoded.cached, prompt))
        return Done(read.text, calls, reason, usage)

    def end(self, event: Event) -> None:
        """Delivers the last event, once."""
        with self._lock:
            if self.ended:
                return
            self.ended = True
            try:
                self._deliver(event)
            except Exception:
                _log.exception("request %s: the last event could not be delivered", self.request.identity)

    def _show(self, text: bytes, settled: int) -> None:
        try:
            read = self.plan.answer.read(text)
        except (ValueError, NotAccepted):
            return
        if read.call is None:
            self._deliver_state(State(read.text, min(settled, len(read.text))))

    def _deliver_state(self, state: State) -> None:
        # No state comes behind the last event, which another thread may deliver.
        with self._lock:
            if self.given_up or self.ended or state == self._shown:
                return
            self._shown = state
            try:
                self._deliver(state)
            except Exception:
                _log.exception("request %s is given up, for its states cannot be delivered", self.request.identity)
                self.given_up = True


class _Waiting:
    """The requests that are admitted, and the queue of those that are planned and wait for the batch."""

    def __init__(self, most: int) -> None:
        self.closed = False
        self._most = most
        self._ready = threading.Condition()
        self._queue: deque[_Open] = deque()
        self._admitted: dict[int, _Open] = {}
        self._begun: set[int] = set()

    @property
    def count(self) -> int:
        """The number of requests that wait."""
        return len(self._admitted) - len(self._begun)

    def admit(self, opened: _Open) -> Failed | None:
        """Admits a request; returns why not, if it cannot."""
        with self._ready:
            if self.closed:
                return _CLOSED
            if self.count >= self._most:
                return Failed("overloaded", f"{self.count} requests are waiting already, try again later")
            self._admitted[id(opened)] = opened
            return None

    def put(self, opened: _Open) -> None:
        """Hands a planned request to the batch."""
        with self._ready:
            if id(opened) in self._admitted:
                self._queue.append(opened)
                self._ready.notify()

    def take(self, idle: bool) -> _Open | None:
        """Returns the next request; with `idle` it waits for one, and None says that the model is closed."""
        with self._ready:
            while idle and not self._queue and not self.closed:
                self._ready.wait()
            if self.closed or not self._queue:
                return None
            opened = self._queue.popleft()
            self._begun.add(id(opened))
            return opened

    def withdraw(self, opened: _Open) -> bool:
        """Drops a request that was not taken yet; returns whether it was so."""
        with self._ready:
            if id(opened) in self._begun or id(opened) not in self._admitted:
                return False
            del self._admitted[id(opened)]
            if opened in self._queue:
                self._queue.remove(opened)
            return True

    def leave(self, opened: _Open) -> None:
        """Drops a request that ends."""
        with self._ready:
            self._admitted.pop(id(opened), None)
            self._begun.discard(id(opened))

    def close(self) -> list[_Open]:
        """Ends the waiting; returns the requests that were not ended."""
        with self._ready:
            self.closed = True
            left = [*self._admitted.values()]
            self._admitted.clear()
            self._queue.clear()
            self._ready.notify_all()
            return left


class _Taken:
    """What one batch has taken in: see `Arrivals`.

    apart: requests that shall be decoded alone behind the batch, which takes no more then, so that it ends.
    """

    def __init__(self, take: Callable[[bool], _Open | None]) -> None:
        self.open: dict[int, _Open] = {}
        self.apart: list[_Open] = []
        self._take, self._count = take, 0

    def left(self) -> list[_Open]:
        """Returns the requests without an end that the batch has left."""
        return [*self.open.values(), *self.apart]

    def take(self, idle: bool) -> tuple[int, Task] | None:
        """Returns the next task with a new number."""
        opened = None if self.apart else self._take(idle)
        if opened is None:
            return None
        self._count += 1
        self.open[self._count] = opened
        return self._count, opened.plan.task

    def given_up(self, number: int) -> bool:
        """Returns whether the request of this task was cancelled or has ended."""
        return self.open[number].given_up or self.open[number].ended


_CLOSED = Failed("closed", "the server is being shut down")
_CANCELLED = Failed("cancelled", "the request was cancelled")


def _failed(found: Undecoded) -> Failed:
    """Returns the event of a request that the engine could not decode."""
    code = _CODES.get(found.code, "engine_error")
    return Failed(code, f"{found.code}: {found.detail}" if found.detail else found.code)
