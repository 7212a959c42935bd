"""A language model behind a server: it writes texts, records, calls, middles and edits, and reads documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cinnabar.engine.branches.engine import has_branches, language_engine
from cinnabar.engine.chat.document_chat import OPEN, DocumentChat, OpenRequest, Planned
from cinnabar.engine.chat.planning import Plan, Planner
from cinnabar.engine.chat.requests import Ability, ChatRequest, Done, FinishReason, ToolCall, Usage
from cinnabar.engine.chat.shared_engine import BatchWatch, SharedEngine
from cinnabar.engine.chat.task_stream import AwaitedText, TaskStream
from cinnabar.engine.diffusion.decoded import Decoded, Run
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.examples import Examples
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.request import Passage, text_passage
from cinnabar.schemas.errors import NotAccepted


class LanguageChat(DocumentChat):
    """Answers requests with one language model: as tasks of its engine, or from a document; see `ChatModel`.

    engine: of the model, with the denoiser of its tasks. The others are those of `DocumentChat`.
    """

    abilities: frozenset[Ability] = frozenset({"extract", "chat", "tools", "fim", "edit"})

    def __init__(
        self,
        model: LanguageModel,
        engine: SharedEngine,
        name: str,
        passage_of: Callable[[str], Passage] = text_passage,
        most: int = OPEN,
    ) -> None:
        super().__init__(engine, name, model.traits.window, passage_of, most)
        self._engine, self._planner = engine, Planner(model)

    def plan(self, opened: OpenRequest) -> Planned:
        """Returns what is done for a request. Raises RequestRefused if the model cannot answer it."""
        request = opened.request
        if request.extract and not (request.tools and request.tool_choice != "none"):
            return super().plan(opened)
        plan = self._planner.plan(request)
        watch = _States(opened, plan) if request.states else None
        one = AwaitedText(identity=request.identity, task=plan.task, watch=watch)
        return Planned(partial(self._engine.decode, one), partial(_answer, request, plan))


class _States:
    """Shows the states of a request while it is decoded; the first one is a smallest record, if there is any."""

    def __init__(self, opened: OpenRequest, plan: Plan) -> None:
        self._opened, self._answer, self._state, self._passes = opened, plan.answer, plan.task.minimal, 0
        if self._state:
            self._show(0)

    def __call__(self, run: Run) -> None:
        """Shows the state after a step."""
        # A step that only read a part of the prompt shows nothing new.
        if run.sequence.passes != self._passes:
            self._passes = run.sequence.passes
            self._state = run.shown(self._state)
            self._show(self._answer.settled(run.settled()))

    def _show(self, settled: int) -> None:
        try:
            read = self._answer.read(self._state)
        except (ValueError, NotAccepted):
            return
        if read.call is None:
            self._opened.show(read.text, min(settled, len(read.text)))


def _answer(request: ChatRequest, plan: Plan, decoded: Decoded) -> Done:
    """Returns the answer with a task's result."""
    read, tokens = plan.answer.read(decoded.text), len(decoded.tokens)
    # The last place of the budget can hold the end alone.
    full = tokens >= plan.task.budget - 1 and not plan.answer.ends(decoded.text)
    calls = () if read.call is None else (ToolCall(f"call_{request.identity}", *read.call),)
    reason: FinishReason = "length" if full else "tool_calls" if calls else "stop"
    prompt = len(plan.task.prompt)
    # What is forced at the answer's beginning may have been read for another request, too.
    return Done(read.text, calls, reason, Usage(prompt, tokens, min(decoded.cached, prompt)))


def shared_language_engine(
    model: LanguageModel,
    chats: LanguageModel | None,
    seconds: float | None = None,
    on_batch: BatchWatch | None = None,
    calibration: Calibration | None = None,
    examples: Examples | None = None,
    document_first: bool = False,
) -> SharedEngine:
    """Returns the shared engine of a language model.

    chats: the one that decodes tasks, the same without its adapter for fields; None if there are none. The others are
    those of `SharedEngine` and `language_engine`.
    """
    # A document of branches is a batch of its own, so that the others wait less.
    branched = examples is None and has_branches(model)
    denoiser = None if chats is None else Denoiser(chats.decoder, chats.tokenizer)
    # One cache for all that is read with the same weights.
    own = denoiser if branched or model is chats else Denoiser(model.decoder, model.tokenizer)
    return SharedEngine(
        lambda effort: language_engine(model, effort, None, calibration, examples, own, document_first),
        seconds,
        on_batch,
        not branched,
        None if denoiser is None else TaskStream(denoiser, branched or own is not denoiser, seconds),
    )
