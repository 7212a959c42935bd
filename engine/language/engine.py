"""The engine over a language model: it writes records under a form's exact constraint, several requests at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from cinnabar.engine.asking.few_shot import Examples, shown_with
from cinnabar.engine.fill.choices import drop_unlikely_values, drop_unsupported_choices
from cinnabar.engine.fill.engine import FormState, Watcher, failure_of, notify, run_stream
from cinnabar.engine.language.answer import read_written
from cinnabar.engine.language.decoded import Decoded, Undecoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.prepared_requests import PreparedRequest, RequestPreparer
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.language.settings import LEAST_PASSAGE, beside_answer, settings_for
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.request import Failed, Filler, Passage, Request, Result
from cinnabar.engine.settings import Effort, effort_of
from cinnabar.engine.version import engine_fingerprint
from cinnabar.errors import NotAccepted, UsageError
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import arrange
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import MISSING, parts_of

#: Tokens of a batch. On a CPU keys and values take some hundred megabytes, and eight rows are as good as thirty.
TOKENS, TOKENS_OF_ACCELERATOR = 8_192, 32_768


class LanguageEngine(Filler):
    """Fills forms with a language model and enforces the schema in every denoising step.

    Requests join the batch when there is room, and leave it when they are done. steps: the most passes of a block,
    instead of those of `effort`; of a causal model those of the whole answer. examples: labelled documents that stand
    in the prompts. denoiser: of the model, which others may use too, in the same thread; without it the engine has its
    own. Raises UsageError for an unknown effort.
    """

    def __init__(
        self,
        model: LanguageModel,
        effort: Effort | str = "medium",
        *,
        steps: int | None = None,
        calibration: Calibration | None = None,
        examples: Examples | None = None,
        denoiser: Denoiser | None = None,
    ) -> None:
        self._room = TOKENS if model.decoder.device.type == "cpu" else TOKENS_OF_ACCELERATOR
        self.model, self.calibration = model, calibration
        self.examples, self.effort = examples, effort_of(effort, steps)
        settings = settings_for(model.traits, self.effort.name, steps)
        self._decoder, self._settings = denoiser or Denoiser(model.decoder, model.tokenizer), settings
        self._preparer = RequestPreparer(model, examples)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model and of everything in the engine that a record depends on."""
        examples = None if self.examples is None else self.examples.fingerprint
        return engine_fingerprint(shown_with(self.model.fingerprint, examples), self.effort, "language")

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage beside an answer, with the shortest form in words."""
        return beside_answer(self.model.traits.window)

    def context_beside(self, form: Form) -> int:
        """Returns the most tokens of one passage beside this form in words, its examples and its answer.

        Raises UsageError if there is no room for any.
        """
        taken = self._preparer.prompt_tokens(form)
        if self.context_tokens - taken < LEAST_PASSAGE:
            beside = "" if self.examples is None else ", with examples,"
            raise UsageError(
                f"{self.model.folder}: the task and the schema{beside} take {taken} tokens, expected at most"
                f" {self.context_tokens - LEAST_PASSAGE} of the model's {self.model.traits.window}; use a model with a"
                " larger window, or a smaller schema"
            )
        return self.context_tokens - taken

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking."""
        return len(self.model.tokenizer.encode(text))

    def windows(self, _: Passage) -> list[tuple[int, int]]:
        """Returns no windows: a passage is read as a whole."""
        return []

    def prepare(self, form: Form) -> None:
        """Builds the graph of a form, which is kept for its requests; from any thread. Raises TooLarge."""
        cached_graph(form, self.model.tokenizer)

    def fill(self, requests: Sequence[Request], watcher: Watcher | None = None) -> list[Result]:
        """Returns exactly one result for each request, in their order; no result depends on the other requests.

        Raises RunError if the watcher fails. A failure within a request becomes its `Failed`.
        """
        ready = self._preparer.prepare(requests)
        shown = None if watcher is None else _Shown(ready, watcher)
        costs = [0 if isinstance(one, Failed) or one.task is None else one.task.tokens for one in ready]
        return run_stream(requests, costs, self._room, lambda at, room: self._fill_prepared(ready, at, room, shown))

    def _fill_prepared(
        self, ready: Sequence[PreparedRequest | Failed], at: Sequence[int], room: int, shown: _Shown | None
    ) -> Iterator[tuple[int, Result]]:
        """Yields the number of each of these requests with its result, as soon as there is one."""
        asked = dict[int, tuple[PreparedRequest, Task]]()
        for number in at:
            prepared = ready[number]
            if isinstance(prepared, Failed):
                yield number, prepared
            elif prepared.task is None:
                yield number, self._read(prepared, None)
            else:
                asked[number] = prepared, replace(prepared.task, settings=self._settings)
        numbers = [*asked]
        tasks = [task for _, task in asked.values()]
        stream = self._decoder.stream(tasks, None if shown is None else shown.of(numbers), room=room)
        for index, decoded in stream:
            yield numbers[index], self._read(asked[numbers[index]][0], decoded)

    def _read(self, prepared: PreparedRequest, decoded: Decoded | Undecoded | None) -> Result:
        request = prepared.request
        if isinstance(decoded, Undecoded):
            return Failed(request.id, decoded.code, decoded.detail)
        try:
            filled = read_written(request, prepared.remaining, decoded)
            if self.calibration is not None:
                filled = self.calibration.calibrate(request.form, request.passage, filled)
                # A reading beside another one is weighed with that.
                if request.passage.draft is None:
                    filled = drop_unlikely_values(request.form, filled)
            # A demanded value that the document does not print is made up if the model itself rather doubts it.
            return drop_unsupported_choices(request.form, filled, ("chosen", "generated"))
        except Exception as error:  # the batch's other records need no second decoding
            return failure_of(request.id, error)


class _Shown:
    """Hands the states of the requests that changed to a watcher.

    The records are whole, with their frozen values.
    """

    def __init__(self, ready: Sequence[PreparedRequest | Failed], watcher: Watcher) -> None:
        self._prepared, self._watcher = ready, watcher
        self._told = [set[str]() for _ in ready]
        self._last = [MISSING if isinstance(one, Failed) else self._record(one, None) for one in ready]

    def of(self, numbers: Sequence[int]) -> Callable[[int, list[bytes]], None]:
        """Returns what a stream of the tasks of the requests with these numbers calls with their states after a step.

        It raises RunError if the engine's watcher fails.
        """

        def show(step: int, states: Sequence[bytes]) -> None:
            for number, state in zip(numbers, states, strict=True):
                prepared, before = self._prepared[number], self._last[number]
                assert isinstance(prepared, PreparedRequest)
                now = self._record(prepared, state)
                now = self._last[number] = before if now is MISSING else now
                if step and now != before:
                    # A text that grows is told once.
                    fresh = tuple(at for at in _changed(before, now) if at not in self._told[number])
                    self._told[number].update(fresh)
                    notify(self._watcher, FormState(prepared.request.id, step, now, fresh, (), {}))
                elif not step:
                    frozen = tuple(at for at, text in prepared.request.known.items() if text is not None)
                    sure = dict.fromkeys(frozen, 1.0)
                    notify(self._watcher, FormState(prepared.request.id, step, now, frozen, (), sure))

        return show

    def _record(self, prepared: PreparedRequest, state: bytes | None) -> Any:
        """Returns the record of this state; MISSING for a state that is no record."""
        if state is None and prepared.task is not None:
            return parse(prepared.request.form.instance)
        try:
            record = prepared.remaining.add_frozen(None if state is None else parse(state.decode()))
            return arrange(prepared.request.form, record)
        except (NotAccepted, ValueError):
            return MISSING


def _changed(before: Any, now: Any) -> Iterator[str]:
    """Yields the pointers of the scalars of a record that another one lacks, or has otherwise."""
    old = dict(parts_of(before))
    for at, part in parts_of(now):
        if not isinstance(part, dict | list) and (at not in old or old[at] != part):
            yield at
