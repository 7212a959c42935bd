"""The states of an answer while it is decoded, and its result.

A state is a whole record: the committed tokens, the witness of the open block, and a smallest rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from cinnabar.engine.fill.engine import failure_of, out_of_memory
from cinnabar.engine.language.forced import TokenTexts
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.sequences import OpenSequence
from cinnabar.engine.models.language.arrays import Bools, Ints
from cinnabar.engine.work_time import answer_by, check, deadline
from cinnabar.errors import RunError

#: How many times an answer goes back although no beginning of it is accepted.
BLIND_REPAIRS = 4


@dataclass(frozen=True, slots=True)
class Decoded:
    """The answer to a task.

    text: the record. tokens: those that spell it. lengths: the bytes of each. posteriors: of each token at its commit.
    chosen: whether the model chose it; else it was forced. passes: forward passes that the request took part in, those
    of its prompt apart. reopened: tokens that were masked again. log_mass: log share of the model's mass that the
    constraint left, summed over the first passes of the blocks. accepted: whether the record is the decoded one; if
    not, the judge refused that, or its time was over, and this is the longest beginning that it accepts, with a
    smallest rest. cached: tokens of the prompt that were not computed, since another request had read them.
    """

    text: bytes
    tokens: tuple[int, ...]
    lengths: tuple[int, ...]
    posteriors: tuple[float, ...]
    chosen: tuple[bool, ...]
    passes: int
    reopened: int
    log_mass: float
    accepted: bool = True
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A task without an answer: a reason code and a detail."""

    code: str
    detail: str


class DecodingRun:
    """One task while it is decoded: its sequence, and its last state.

    `index` is the task's place, `failed` the reason for which it cannot be decoded, `repairs` how often it went back,
    `joined` whether it is in the batch, `cached` as in `Decoded`. `answer_by`: the moment of `time.monotonic` when it
    ends with what it has, None for none; `late`: whether it does.
    """

    def __init__(self, index: int, sequence: OpenSequence, texts: TokenTexts) -> None:
        self.index, self.sequence = index, sequence
        self.failed: Undecoded | None = None
        self.repairs = self.cached = 0
        self.joined = self.late = False
        self._deadline, self.answer_by = deadline(), answer_by()
        self._texts = texts
        self._judge = sequence.task.judge

    @contextmanager
    def catch_errors(self) -> Iterator[None]:
        """Makes an error of this block the reason for which the task fails, unless it is one of the whole batch."""
        try:
            yield
        except RunError:
            raise
        except Exception as error:
            if out_of_memory(error):
                raise
            failure = failure_of("", error)
            self.failed = Undecoded(failure.code, failure.detail)

    def settled_beginning(self) -> bytes:
        """Returns the beginning of the answer whose blocks are not opened any more, if no judge sends it back."""
        tokens, _ = self._part()
        block = self.sequence.checked or self.sequence.block
        end = self.sequence.limit if block is None else block.begin
        return self._texts.text(tokens[: max(end - self.sequence.begin, 0)].tolist())

    def is_ended(self) -> bool:
        """Whether the task's answer ends with its settled beginning."""
        ends = self.sequence.task.ends
        return ends is not None and ends(self.settled_beginning())

    def postpone(self, seconds: float) -> None:
        """Gives the task so many seconds more, which its thread has spent on something else."""
        if self._deadline is not None:
            self._deadline += seconds

    def check_time(self) -> None:
        """Raises EngineFailure with the code TOO_SLOW if the batch has worked too long since the task began."""
        check(self._deadline)

    def outcome(self) -> Decoded | Undecoded:
        """Returns the result, or the reason for which there is none."""
        outcome: Decoded | Undecoded | None = None
        if self.failed is None:
            with self.catch_errors():
                outcome = self.result()
        outcome = outcome or self.failed
        assert outcome is not None
        return outcome

    def shown(self, before: bytes) -> bytes:
        """Returns the record of the present state, or `before` if the judge refuses it or there is none.

        A block that was just masked again has no witness yet. Blocks of one token have none beside it.
        """
        sequence = self.sequence
        stop = sequence.limit if sequence.block is None else sequence.block.stop
        tokens = sequence.tokens[sequence.begin : stop]
        tokens = np.where(tokens < 0, sequence.witness[sequence.begin : stop], tokens)
        tokens = sequence.answer() if sequence.size == 1 else tokens
        ended = np.flatnonzero(tokens == sequence.end)
        tokens = tokens[: ended[0]] if len(ended) else tokens
        if self.failed is not None or (tokens < 0).any():
            return before
        with self.catch_errors():
            text = self._record(tokens)
            return text if self._accepts(text) else before
        return before

    def fault(self, earlier: bool = False) -> tuple[int, int] | None:
        """Returns the position and the token with which the answer left the records that the judge accepts.

        None if the judge accepts the whole answer. If it accepts no beginning of it with a smallest rest, the last
        token that the model chose is at fault, the first few times: that the fault is there is a guess. `earlier`: the
        one chosen before that, which may be the one that began a part of which no text is accepted.
        """
        tokens, chosen = self._part()
        if self._accepts(self._texts.text(tokens.tolist())):
            return None
        at = self._accepted_tokens(tokens)
        if at < 0:
            if self.repairs >= BLIND_REPAIRS:
                return None
            at = len(tokens) - 1
        # A forced token follows from one that the model chose.
        before = np.flatnonzero(chosen[: at + 1])
        if not len(before):
            return None
        at = int(before[-2] if earlier and len(before) > 1 else before[-1])
        return self.sequence.begin + at, int(tokens[at])

    def result(self) -> Decoded:
        """Returns the whole answer, or the longest beginning of it that the judge accepts, with a smallest rest.

        What completes a beginning has the posterior 0.
        """
        sequence = self.sequence
        tokens, chosen = self._part()
        text, many, rest = self._texts.text(tokens.tolist()), len(tokens), list[int]()
        accepted = not self.late and self._accepts(text)
        if not accepted:
            many = max(self._accepted_tokens(tokens), 0)
            text = self._record(tokens[:many])
            text = text if self._accepts(text) else sequence.task.minimal
            while not text.startswith(self._texts.text(tokens[:many].tolist())):
                many -= 1
            rest = self._texts.spell(text[len(self._texts.text(tokens[:many].tolist())) :])
        spelled = (*tokens[:many].tolist(), *rest)
        posterior = sequence.posterior[sequence.begin : sequence.begin + many]
        return Decoded(
            text=text,
            tokens=spelled,
            lengths=tuple(len(self._texts.text([token])) for token in spelled),
            posteriors=(*posterior.tolist(), *(0.0 for _ in rest)),
            chosen=(*chosen[:many].tolist(), *(True for _ in rest)),
            passes=sequence.passes,
            reopened=sequence.reopened,
            log_mass=sequence.log_mass,
            accepted=accepted,
            cached=self.cached,
        )

    def _part(self) -> tuple[Ints, Bools]:
        """Returns the committed tokens of the answer, and which of them were chosen."""
        tokens = self.sequence.answer()
        return tokens, self.sequence.chosen[self.sequence.begin : self.sequence.begin + len(tokens)]

    def _accepts(self, text: bytes) -> bool:
        return self._judge is None or self._judge(text)

    def _record(self, tokens: Ints) -> bytes:
        return whole_record(self.sequence.task.graph, self._texts.text(tokens.tolist()))

    def _accepted_tokens(self, tokens: Ints) -> int:
        """Returns how many of the tokens begin a record that the judge accepts; -1 for none."""
        counts = reversed(range(len(tokens) + 1))
        return next((count for count in counts if self._accepts(self._record(tokens[:count]))), -1)


def whole_record(graph: RecordGraph, text: bytes) -> bytes:
    """Returns this beginning of a record, completed by a smallest rest."""
    state = graph.automaton.run(text)
    if state < 0:
        raise ValueError(f"no record begins with {text!r}")
    return text + graph.automaton.completion(state)
