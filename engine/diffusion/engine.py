"""The engine over a language model: it writes records under a form's exact constraint, several requests at a time.

Tells how a language model fills a form: the values whose tokens a pass committed, and those that it masked again.

A value is committed when all of its tokens are. Tokens of the witness and of a smallest rest are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from cinnabar.engine.diffusion.answer import AnswerText, places_of, read_written, without_made_up_values, written_by
from cinnabar.engine.diffusion.arrays import Bools, Floats, Ints
from cinnabar.engine.diffusion.decoded import Decoded, Undecoded
from cinnabar.engine.diffusion.denoiser import Denoiser, Edit
from cinnabar.engine.diffusion.forced import TokenTexts
from cinnabar.engine.diffusion.graph_cache import cached_graph
from cinnabar.engine.diffusion.planning import Plan, Planner
from cinnabar.engine.diffusion.sequences import OpenSequence, Task
from cinnabar.engine.diffusion.settings import beside_answer, settings_for
from cinnabar.engine.diffusion.thresholds import LEAST_PASSAGE
from cinnabar.engine.engine import FormState, Observer, Watcher, failure_of, notify, run_stream
from cinnabar.engine.few_shot import Examples, shown_with
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.request import Failed, Passage, Request, Result
from cinnabar.engine.settings import Effort, effort_of
from cinnabar.engine.version import engine_fingerprint
from cinnabar.engine.work_time import time_stage
from cinnabar.errors import NotAccepted, RunError, UsageError
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.form import Form

#: Tokens of a batch. On a CPU keys and values take some hundred megabytes, and eight rows are as good as thirty.
TOKENS, TOKENS_OF_ACCELERATOR = 8_192, 32_768


class DiffusionEngine:
    """Fills forms with a language model and enforces the schema in every denoising step.

    Requests join the batch when there is room, and leave it when they are done. token_budget: tokens of the requests in
    the batch, prompts and answers together; without it the device decides. steps: the most passes of a block, instead
    of those of `effort`. examples: labelled documents that stand in the prompts. denoiser: of the model, which others
    may use too, in the same thread; without it the engine has its own. `timings` has the seconds spent so far in each
    stage; `counts` the records so far, their passes, their tokens, how many of these the model chose, and how many of
    the prompts' tokens were not computed, since an earlier request had read them (`cached`). Raises UsageError for an
    unknown effort or a budget below one token.
    """

    def __init__(
        self,
        model: LanguageModel,
        effort: Effort | str = "medium",
        token_budget: int | None = None,
        *,
        steps: int | None = None,
        calibration: Calibration | None = None,
        examples: Examples | None = None,
        denoiser: Denoiser | None = None,
    ) -> None:
        if token_budget is None:
            token_budget = TOKENS if model.decoder.device.type == "cpu" else TOKENS_OF_ACCELERATOR
        if token_budget < 1:
            raise UsageError(f"token budget: expected at least 1, got {token_budget}")
        self.model, self.token_budget, self.calibration = model, token_budget, calibration
        self.examples, self.effort = examples, effort_of(effort, steps)
        self.timings = dict.fromkeys(("prepare", "decode", "read"), 0.0)
        self.counts = dict.fromkeys(("records", "passes", "tokens", "chosen", "cached"), 0)
        settings = settings_for(model.traits, self.effort.name, steps)
        self._decoder, self._settings = denoiser or Denoiser(model.decoder, model.tokenizer), settings
        self._planner = Planner(model, examples)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model and of everything in the engine that a record depends on."""
        return engine_fingerprint(shown_with(self.model.fingerprint, self.examples), self.effort, "language")

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage beside an answer, with the shortest form in words."""
        return beside_answer(self.model.traits.window)

    def context_beside(self, form: Form) -> int:
        """Returns the most tokens of one passage beside this form in words, its examples and its answer.

        Raises UsageError if there is no room for any.
        """
        taken = self._planner.prompt_tokens(form)
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

    def fill(
        self, requests: Sequence[Request], observer: Observer | None = None, watcher: Watcher | None = None
    ) -> list[Result]:
        """Returns exactly one result for each request, in their order; no result depends on the other requests.

        Raises RunError if the observer or the watcher fails. A failure within a request becomes its `Failed`.
        """
        with time_stage(self.timings, "prepare"):
            plans = self._planner.plans(requests)
        shown = None if observer is None and watcher is None else _Shown(plans, observer, watcher, self._decoder.texts)
        costs = [0 if isinstance(plan, Failed) or plan.task is None else plan.task.tokens for plan in plans]
        return run_stream(requests, costs, self.token_budget, lambda at, room: self._fill_plans(plans, at, room, shown))

    def _fill_plans(
        self, plans: Sequence[Plan | Failed], at: Sequence[int], room: int, shown: _Shown | None
    ) -> Iterator[tuple[int, Result]]:
        """Yields the number of each of these plans with its result, as soon as there is one."""
        asked = dict[int, tuple[Plan, Task]]()
        for number in at:
            plan = plans[number]
            if isinstance(plan, Failed):
                yield number, plan
            elif plan.task is None:
                yield number, self._read(plan, None)
            else:
                asked[number] = plan, replace(plan.task, settings=self._settings)
        numbers = [*asked]
        tasks = [task for _, task in asked.values()]
        observer, look = (None, None) if shown is None else shown.of(numbers, tasks)
        watched = {} if look is None else {"edit": look}
        stream = self._decoder.stream(tasks, observer, room=room, **watched)
        while True:
            with time_stage(self.timings, "decode"):
                following = next(stream, None)
            if following is None:
                return
            index, decoded = following
            with time_stage(self.timings, "read"):
                result = self._read(asked[numbers[index]][0], decoded)
            yield numbers[index], result

    def _read(self, plan: Plan, decoded: Decoded | Undecoded | None) -> Result:
        request = plan.request
        if isinstance(decoded, Undecoded):
            return Failed(request.id, decoded.code, decoded.detail)
        try:
            written = None if decoded is None else self._written(decoded)
            filled = read_written(request, plan.remaining, written)
            if self.calibration is not None:
                filled = self.calibration.calibrate(request.form, request.passage, filled)
            return without_made_up_values(request.form, filled)
        except Exception as error:  # the batch's other records need no second decoding
            return failure_of(request.id, error)

    def _written(self, decoded: Decoded) -> AnswerText:
        for name, more in (
            ("records", 1),
            ("passes", decoded.passes),
            ("tokens", len(decoded.tokens)),
            ("chosen", sum(decoded.chosen)),
            ("cached", decoded.cached),
        ):
            self.counts[name] += more
        return written_by(decoded, self.model.tokenizer)


class _Shown:
    """Hands the records of all requests to an observer and their values to a watcher.

    The records are whole, with their frozen values, as canonical texts.
    """

    def __init__(
        self,
        plans: Sequence[Plan | Failed],
        observer: Observer | None,
        watcher: Watcher | None,
        texts: TokenTexts,
    ) -> None:
        self._plans, self._observer, self._watcher, self._texts = plans, observer, watcher, texts
        self._last = ["" if isinstance(plan, Failed) else self._record(plan, None) for plan in plans]

    def of(
        self, numbers: Sequence[int], tasks: Sequence[Task]
    ) -> tuple[Callable[[int, list[bytes]], None], Edit | None]:
        """Returns what a stream of these tasks calls after each step: with their states, and before, their sequences.

        `numbers` are those of the tasks' plans. The first raises RunError if the engine's observer or watcher fails.
        """
        requests = [plan.request for number in numbers if isinstance(plan := self._plans[number], Plan)]
        watch = None
        if self._watcher is not None:
            watch = TokenWatch(tasks, [request.id for request in requests], self._texts, self._watcher)

        def show(step: int, states: Sequence[bytes]) -> None:
            for at, (number, state) in enumerate(zip(numbers, states, strict=True)):
                plan = self._plans[number]
                assert isinstance(plan, Plan)
                self._last[number] = self._record(plan, state) or self._last[number]
                if watch is not None and step:
                    watch.look(step, at, state, self._last[number])
                elif watch is not None:
                    known = [pointer for pointer, text in plan.request.known.items() if text is not None]
                    watch.begin(at, self._last[number], known)
            if self._observer is None:
                return
            try:
                self._observer(step, list(self._last))
            except Exception as error:
                raise RunError(f"the observer failed at step {step}: {error}") from error

        return show, None if watch is None else watch.note

    def _record(self, plan: Plan, state: bytes | None) -> str:
        """Returns the record of this state; none for a state that is no record."""
        if state is None and plan.task is not None:
            return plan.request.form.instance
        try:
            record = plan.remaining.with_frozen(None if state is None else parse(state.decode()))
            return fit(plan.request.form, record).text
        except (NotAccepted, ValueError):
            return ""


# The least posterior that counts in a product.
_LEAST = 1e-12


@dataclass(slots=True)
class _LastState:
    """The last state of an answer: its tokens, -1 where open, their posteriors, and the tokens of each value."""

    tokens: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    posterior: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    values: Mapping[str, Ints] = field(default_factory=dict)
    committed: frozenset[str] = frozenset()


class TokenWatch:
    """Compares the answers to some tasks with their last states."""

    def __init__(self, tasks: Sequence[Task], ids: Sequence[str], texts: TokenTexts, watcher: Watcher) -> None:
        self._tasks, self._ids, self._texts, self._watcher = tasks, ids, texts, watcher
        self._seen = [_LastState() for _ in tasks]
        self._open: dict[int, OpenSequence] = {}

    def note(self, _step: int, sequences: Iterable[OpenSequence]) -> None:
        """Takes the sequences that a pass worked on; `Denoiser.stream` calls it before it shows the states."""
        self._open = {id(sequence.task): sequence for sequence in sequences}

    def begin(self, number: int, record: str, known: Iterable[str]) -> None:
        """Tells the state of a task before the first pass; `known` are the pointers of its frozen values."""
        frozen = tuple(known)
        notify(self._watcher, FormState(self._ids[number], 0, record, frozen, (), dict.fromkeys(frozen, 1.0)))

    def look(self, step: int, number: int, state: bytes, record: str) -> None:
        """Tells the state of a task if the pass worked on it: its record, and the text of that as the model has it."""
        sequence = self._open.get(id(self._tasks[number]))
        if sequence is None:
            return
        part = slice(sequence.begin, sequence.limit)
        tokens, posterior = sequence.tokens[part].copy(), sequence.posterior[part].copy()
        shown = np.where(tokens < 0, sequence.witness[part], tokens)
        chosen, seen = sequence.chosen[part], self._seen[number]
        again = _masked_again(seen, tokens, posterior)
        doubted = tuple(pointer for pointer, at in seen.values.items() if again[at].any())
        values = self._values(state, shown, sequence.end)
        committed = frozenset(p for p, at in values.items() if len(at) and (tokens[at] >= 0).all())
        fresh = tuple(p for p in values if p in committed and (p not in seen.committed or p in doubted))
        confidence = {pointer: _sureness(posterior[at], chosen[at], tokens[at]) for pointer, at in values.items()}
        self._seen[number] = _LastState(tokens, posterior, values, committed)
        notify(self._watcher, FormState(self._ids[number], step, record, fresh, doubted, confidence))

    def _values(self, state: bytes, shown: Ints, end: int) -> dict[str, Ints]:
        """Returns the places of the tokens of each scalar; none for one that lies behind the tokens."""
        stop = np.flatnonzero((shown < 0) | (shown == end))
        tokens = shown[: stop[0]] if len(stop) else shown
        texts = [self._texts.text([token]) for token in tokens.tolist()]
        ends = np.array([*accumulate(map(len, texts))], np.int64)
        if not state.startswith(b"".join(texts)):
            # The judge refused these tokens, and the state is an earlier one.
            return {}
        places: dict[str, Ints] = {}
        for pointer, (first, last) in places_of(state).values.items():
            if state[first : first + 1] in (b"{", b"["):
                continue
            # A number goes on until the token behind it says that it ends.
            number = state[first : first + 1] not in (b'"', b"t", b"f", b"n")
            begin, stop_at = np.searchsorted(ends, [first, last - 1 + number], side="right")
            whole = len(ends) > 0 and last <= ends[-1]
            places[pointer] = np.arange(begin, min(stop_at + 1, len(ends))) if whole else np.zeros(0, np.int64)
        return places


def _masked_again(seen: _LastState, tokens: Ints, posterior: Floats) -> Bools:
    """[T] bool, committed tokens that were masked since, also if they were committed once more meanwhile."""
    if not len(seen.tokens):
        return np.zeros(len(tokens), np.bool_)
    again: Bools = (seen.tokens >= 0) & ((tokens != seen.tokens) | (posterior != seen.posterior))
    return again


def _sureness(posterior: Floats, chosen: Bools, tokens: Ints) -> float:
    """Returns the product of the posteriors of tokens that the model chose, or would choose now; 0 without a token."""
    if not len(tokens):
        return 0.0
    asked = posterior[chosen | (tokens < 0)].tolist()
    return round(math.exp(math.fsum(math.log(max(one, _LEAST)) for one in asked)), 4)
