"""A language model behind a server: it writes texts, records, calls, middles and edits, and reads documents."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from cinnabar.engine.asking.few_shot import Examples
from cinnabar.engine.chat.document_chat import DocumentChat, OpenRequest
from cinnabar.engine.chat.prepared_chats import ChatPreparer, PreparedChat
from cinnabar.engine.chat.requests import Ability, ChatRequest, Done, FinishReason, ToolCall, Usage
from cinnabar.engine.chat.shared_engine import Awaited, SharedEngine
from cinnabar.engine.fill.engine import ALONE, failure_of, out_of_memory
from cinnabar.engine.language.contexts import most_pages
from cinnabar.engine.language.decoded import Decoded, DecodingRun, Undecoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.drafts import is_drafted
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.models.language.cache import PAGE
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.request import Passage, text_passage
from cinnabar.engine.work_time import limit_batches
from cinnabar.errors import NotAccepted


class LanguageChat(DocumentChat):
    """Answers requests with one language model: as tasks of its engine, or from a document.

    engine: of the model, which decodes tasks too. The others are those of `DocumentChat`.
    """

    abilities: frozenset[Ability] = frozenset({"extract", "chat", "tools", "fim", "edit"})

    def __init__(
        self,
        model: LanguageModel,
        engine: SharedEngine,
        name: str,
        passage_of: Callable[[str], Passage] = text_passage,
    ) -> None:
        super().__init__(engine, name, model.traits.window, passage_of)
        self._engine, self._preparer = engine, ChatPreparer(model)

    def begin(self, opened: OpenRequest) -> tuple[Awaited, Callable[[Any], Done]]:
        """Has the engine decode a request that is no document to read."""
        request = opened.request
        if request.extract and not (request.tools and request.tool_choice != "none"):
            return super().begin(opened)
        prepared = self._preparer.prepare(request)
        watch = _States(opened, prepared) if request.states else None
        one = AwaitedText(identity=request.identity, task=prepared.task, watch=watch)
        return self._engine.decode(one), partial(_answer, request, prepared)


class _States:
    """Shows the states of a request while it is decoded; the first one is a smallest record, if there is any."""

    def __init__(self, opened: OpenRequest, prepared: PreparedChat) -> None:
        self._opened, self._answer, self._state, self._passes = opened, prepared.answer, prepared.task.minimal, 0
        if self._state:
            self._show(0)

    def __call__(self, run: DecodingRun) -> None:
        """Shows the state after a step."""
        # A step that only read a part of the prompt shows nothing new.
        if run.sequence.passes != self._passes:
            self._passes = run.sequence.passes
            self._state = run.shown(self._state)
            self._show(self._answer.settled_length(run.settled_beginning()))

    def _show(self, settled: int) -> None:
        try:
            read = self._answer.read(self._state)
        except (ValueError, NotAccepted):
            return
        if read.call is None:
            self._opened.show(read.text, min(settled, len(read.text)))


def _answer(request: ChatRequest, prepared: PreparedChat, decoded: Decoded) -> Done:
    """Returns the answer with a task's result."""
    read, tokens = prepared.answer.read(decoded.text), len(decoded.tokens)
    # The last place of the budget can hold the end alone.
    full = tokens >= prepared.task.budget - 1 and not prepared.answer.ends(decoded.text)
    calls = () if read.call is None else (ToolCall(f"call_{request.identity}", *read.call),)
    reason: FinishReason = "length" if full else "tool_calls" if calls else "stop"
    prompt = len(prepared.task.prompt)
    # What is forced at the answer's beginning may have been read for another request, too.
    return Done(read.text, calls, reason, Usage(prompt, tokens, min(decoded.cached, prompt)))


def shared_language_engine(
    model: LanguageModel,
    chats: bool,
    seconds: float | None = None,
    calibration: Calibration | None = None,
    examples: Examples | None = None,
) -> SharedEngine:
    """Returns the shared engine of a language model.

    chats: whether it decodes tasks, too. The others are those of `SharedEngine` and `LanguageEngine`.
    """
    # Forms have a cache of their own, so that they are filled between two passes of a long chat.
    pages = None
    if chats and model.decoder.device.type != "cpu":
        # Both are made at once there, each with half of the memory for keys.
        dtype = model.decoder.model.norm.weight.dtype
        pages = max(most_pages(model.traits, dtype, model.decoder.device, PAGE) // 2, 1)
    own = Denoiser(model.decoder, model.tokenizer, pages=pages)
    return SharedEngine(
        lambda effort: LanguageEngine(model, effort, calibration=calibration, examples=examples, denoiser=own),
        seconds,
        # A batch gains little there, and all of it is as late as its slowest record.
        shares=not is_drafted(model.decoder),
        tasks=TaskStream(Denoiser(model.decoder, model.tokenizer, pages=pages), seconds) if chats else None,
    )


# Tasks of many clients in one batch of the denoiser, which they join and leave one by one.
#
# What a task gets does not depend on the others. If a pass fails, the tasks that took part in it are decoded once more,
# each alone, and one that fails alone gets the failure.

#: Tokens that are decoded together, prompts and answers.
ROOM = 32_768
_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class AwaitedText(Awaited):
    """A task to decode; its result is a `Decoded`.

    watch: sees its run after each step. alone: it failed beside others, and is decoded without any.
    """

    task: Task
    watch: Callable[[DecodingRun], None] | None = None
    alone: bool = False


class TaskStream:
    """Decodes tasks with one denoiser.

    seconds: the most seconds that the thread may work while a task is decoded, None for no limit.
    """

    def __init__(self, denoiser: Denoiser, seconds: float | None = None) -> None:
        self.denoiser, self._seconds, self._room = denoiser, seconds, ROOM

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
        def watch(_: int, runs: Sequence[DecodingRun]) -> None:
            for run in runs:
                one = batch.open[run.index]
                if one.watch is not None and not one.result.done():
                    one.watch(run)
            begun = time.thread_time()
            between()
            spent = time.thread_time() - begun
            for run in runs:
                run.postpone(spent)

        with limit_batches(self._seconds):
            for number, decoded in self.denoiser.serve(batch, watch, room=self._room):
                one = batch.open.pop(number)
                if not isinstance(decoded, Undecoded):
                    one.settle(decoded)
                elif decoded.code in ALONE and not one.alone:
                    batch.apart.append(one)
                else:
                    one.fail(decoded.code, decoded.detail)


class _Batch:
    """The requests that one batch has taken in: see `Arrivals`.

    apart: tasks that shall be decoded alone behind the batch, which takes no more then, so that it ends.
    """

    def __init__(self, take: Callable[[], Awaited | None]) -> None:
        self.open: dict[int, AwaitedText] = {}
        self.apart: list[AwaitedText] = []
        self._take, self._count = take, 0

    def take(self) -> tuple[int, Task] | None:
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
