"""Requests made ready to decode: the prompt, in which frozen values stand, the graph, the budget, and the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cinnabar.engine.asking.few_shot import Example, Examples, FewShot, record_line, value_line
from cinnabar.engine.asking.prompt import messages
from cinnabar.engine.fill.engine import failure_of
from cinnabar.engine.language.drafts import draft_source, is_drafted
from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.remaining_form import Remaining
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.language.settings import answer_budget
from cinnabar.engine.language.text_ends import paragraph_ends
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.request import Failed, Request
from cinnabar.errors import EngineFailure, TooLarge
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import accept
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.instances import smallest_instance
from cinnabar.schemas.form.record_language import one_line
from cinnabar.schemas.judging.judge import Judge, Violation
from cinnabar.schemas.kept_by_weight import kept_by_weight
from cinnabar.schemas.pointers import MISSING

#: The tokens of the beginnings of prompts that are kept.
_KEPT_TOKENS = 1 << 20


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request, what is left to fill of its form, and the task to decode; None if nothing is left."""

    request: Request
    remaining: Remaining
    task: Task | None


class RequestPreparer:
    """Makes requests ready for a language model, which is shown examples. Raises UsageError if none of a form fits."""

    def __init__(self, model: LanguageModel, examples: Examples | None = None) -> None:
        self._model = model
        self._few_shot = FewShot(examples, model.traits.window, lambda text: len(model.tokenizer.encode(text)))
        self._beginning = kept_by_weight(_KEPT_TOKENS, len)(self._rendered_beginning)

    def prompt_tokens(self, form: Form) -> int:
        """Returns the most tokens of a prompt for a form without a document.

        Raises ModelError if the chat template refuses examples.
        """
        shown = len(self._beginning(form, form, self._few_shot.nearest(form, "")))
        return max(shown, len(self._beginning(form, form, ())) + self._few_shot.most(form))

    def prepare(self, requests: Sequence[Request]) -> list[PreparedRequest | Failed]:
        """Returns what is to decode for each request, or the failure of one that cannot be asked."""
        return [self._prepare_one(request) for request in requests]

    def _rendered_beginning(self, whole: Form, form: Form, shown: tuple[Example, ...]) -> list[int]:
        return self._model.chat.render(messages(form, {}, "", _example_texts(whole, form, shown)))

    def _prepare_one(self, request: Request) -> PreparedRequest | Failed:
        try:
            remaining = Remaining(request)
            if remaining.form is None:
                return PreparedRequest(request, remaining, None)
            shown = self._few_shot.nearest(request.form, request.passage.text)
            return PreparedRequest(request, remaining, self._task(request, remaining, shown))
        except TooLarge as error:
            return Failed(request.id, "schema_too_large", str(error))
        except Exception as error:
            return failure_of(request.id, error)

    def _task(self, request: Request, remaining: Remaining, shown: Sequence[Example]) -> Task:
        form, tokenizer = remaining.form, self._model.tokenizer
        assert form is not None
        graph = cached_graph(form, tokenizer)
        examples = _example_texts(request.form, form, shown)
        prompt = self._model.chat.render(messages(form, request.known, request.passage.text, examples))
        window, least = self._model.traits.window, int(graph.distance[0])
        if least < 0:
            raise EngineFailure("tokenizer", "the tokens of the model spell no record of this schema")
        room = window - len(prompt)
        if room < least:
            raise EngineFailure(
                "too_long",
                f"prompt and smallest answer take {len(prompt) + least} tokens, the model holds {window};"
                " use a smaller context, or a smaller schema",
            )
        most = answer_budget(form, request.passage.text, lambda text: len(tokenizer.encode(text)))
        return Task(
            prompt=prompt,
            graph=graph,
            budget=min(room, least + most),
            judge=lambda text: _is_accepted(request.form, remaining, text),
            minimal=_minimal(request.form, remaining, form),
            source=_draft_source(request, form) if is_drafted(self._model.decoder) else b"",
            ends_of=None if any(slot.written for slot in form.slots) else paragraph_ends(request.passage.text),
        )


def _draft_source(request: Request, form: Form) -> bytes:
    drafted = request.passage.draft
    return draft_source("" if drafted is None else value_line(drafted.value, request.form, form), request.passage.text)


def _example_texts(whole: Form, form: Form, shown: Sequence[Example]) -> list[tuple[str, str]]:
    """Returns the texts of examples, each with its record as far as the form asks for it."""
    return [(example.text, record_line(example, whole, form)) for example in shown]


@dataclass(frozen=True, slots=True)
class _Whole:
    """Judges a record of a remaining form together with the frozen values."""

    judge: Judge
    remaining: Remaining

    def violation(self, value: Any) -> Violation | None:
        """Returns the first rule that the whole record breaks."""
        return self.judge.violation(self.remaining.add_frozen(value))


def _is_accepted(form: Form, remaining: Remaining, text: bytes) -> bool:
    """Returns whether the schema accepts the record of this text with the frozen values, and can write its numbers."""
    try:
        return accept(form, remaining.add_frozen(parse(text.decode()))) is not MISSING
    except ValueError:
        return False


def _minimal(whole: Form, remaining: Remaining, form: Form) -> bytes:
    """Returns a smallest text of the remaining form with which the schema accepts the whole record."""
    if form is whole:
        return one_line(whole.instance).encode()
    assert whole.judge is not None
    smallest = smallest_instance(form, _Whole(whole.judge, remaining))
    if smallest is None:
        raise EngineFailure("known", "no record that the schema allows has the known values")
    return one_line(smallest).encode()
