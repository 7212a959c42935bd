"""Denoising of the answers of a batch, block by block, under the graphs of their records.

Each round: forced text is written, full blocks are closed, one pass scores the open positions, and the most certain
tokens of the witness are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from cinnabar.engine.denoising import GRAIN
from cinnabar.engine.diffusion.class_scores import ClassScores
from cinnabar.engine.diffusion.contexts import Context, FullContext, Prefill
from cinnabar.engine.diffusion.forced import ForcedText, Spelling, TokenTexts
from cinnabar.engine.diffusion.outlook import Constraint, Outlook, Span, Unconstrained
from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.diffusion.record_text import whole_record
from cinnabar.engine.diffusion.sequences import Block, OpenSequence, Task
from cinnabar.engine.diffusion.settings import Settings, settings_of
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.schemas.errors import ModelError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

#: Graphs whose tables are kept.
KEPT = 16

#: Gets the number of the step and, for each task, a whole valid record.
Observer = Callable[[int, list[bytes]], None]
#: May change committed tokens of the open blocks after a step, such as to put wrong ones in (`OpenSequence.commit`).
Edit = Callable[[int, Sequence[OpenSequence]], None]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The answer to a task.

    text: the record. tokens: those that spell it. posteriors: of each token at its commit. chosen: whether the model
    chose it; else it was forced. passes: forward passes that the request took part in, those of its prompt apart.
    reopened: tokens that were masked again. log_mass: log share of the model's mass that the constraint left, summed
    over the first passes of the blocks. accepted: whether the record is the decoded one; if not, the judge refused
    that, and this is the last state that it accepts.
    """

    text: bytes
    tokens: tuple[int, ...]
    posteriors: tuple[float, ...]
    chosen: tuple[bool, ...]
    passes: int
    reopened: int
    log_mass: float
    accepted: bool = True


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A task without an answer: a reason code and a detail."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The state of an answer after a step: the committed tokens and the witness, all that is spelled so far."""

    tokens: Ints
    posterior: Floats
    chosen: npt.NDArray[np.bool_]


class Run:
    """One task while it is decoded: its sequence and the states that were shown."""

    def __init__(self, index: int, sequence: OpenSequence) -> None:
        self.index, self.sequence = index, sequence
        self.shown: list[Shown] = []
        self.failed: Undecoded | None = None


class Denoiser:
    """Decodes tasks with one model.

    Without `constrained` the same loop runs without graphs and judges, to compare with: up to the end token or the
    budget, and the text need not be a record.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Spelling,
        settings: Settings | str = "medium",
        constrained: bool = True,
    ) -> None:
        traits = decoder.traits
        if traits.visibility == "block_causal" and traits.shift:
            raise ModelError(f"{traits.family}: expected block-causal attention without the shift of the logits")
        if traits.mask is None and traits.visibility != "causal":
            raise ModelError(f"{traits.family}: expected a mask token, config.json names none")
        self.decoder, self.tokenizer, self.settings = decoder, tokenizer, settings_of(settings)
        self.constrained = constrained
        self.end = tokenizer.end
        self.texts = TokenTexts(tokenizer.vocabulary)
        self.block = self.settings.block if traits.visibility == "full" else traits.block
        self._prefill = Prefill(decoder)
        self._free = None if constrained else Unconstrained(traits.vocabulary, traits.mask)
        self._graphs: dict[RecordGraph, tuple[Constraint, ForcedText]] = {}

    @torch.inference_mode()
    def decode(
        self, tasks: Sequence[Task], observer: Observer | None = None, edit: Edit | None = None
    ) -> list[Decoded | Undecoded]:
        """Returns exactly one result for each task, in their order.

        Tasks that share a prefix are decoded in one batch.
        """
        results: list[Decoded | Undecoded | None] = [None] * len(tasks)
        states = [task.minimal for task in tasks]
        groups: dict[tuple[int, ...], list[Run]] = {}
        for index, task in enumerate(tasks):
            least = int(task.graph.distance[0]) if self.constrained else 1
            if not 0 <= least <= task.budget or not task.prompt:
                detail = f"expected a prompt and {least} tokens or more, got {len(task.prompt)} and {task.budget}"
                results[index] = Undecoded("budget", detail)
                continue
            origin = len(task.prompt) if self.decoder.traits.visibility == "full" else 0
            sequence = OpenSequence(task, self.block, origin, self.end, self.constrained)
            groups.setdefault(self._prefix(sequence), []).append(Run(index, sequence))
        steps = 0
        if observer is not None:
            observer(0, [*states])
        for prefix, runs in groups.items():
            context = self._context([run.sequence for run in runs], prefix)
            while True:
                for run in runs:
                    self._proceed(run.sequence)
                kept = [run.failed is None and _reads(run.sequence) for run in runs]
                for run, stays in zip(runs, kept, strict=True):
                    if not stays:
                        results[run.index] = run.failed or self._result(run)
                runs = [run for run, stays in zip(runs, kept, strict=True) if stays]
                if not runs:
                    break
                context.select(np.flatnonzero(kept))
                self._step(context, runs)
                steps += 1
                if edit is not None:
                    edit(steps, [run.sequence for run in runs])
                for run in runs:
                    self._note(run)
                if observer is not None:
                    for run in runs:
                        states[run.index] = self._state(run, states[run.index])
                    observer(steps, [*states])
        return [result for result in results if result is not None]

    def _prefix(self, sequence: OpenSequence) -> tuple[int, ...]:
        """Returns the shared prefix of the prompt that can be read apart."""
        if self.decoder.traits.visibility == "full":
            return ()
        assert sequence.block is not None
        most = min(sequence.task.shared, sequence.block.begin - int(self.decoder.traits.shift))
        return tuple(sequence.task.prompt[: max(most, 0) // self.block * self.block])

    def _context(self, sequences: Sequence[OpenSequence], prefix: tuple[int, ...]) -> Context:
        if self.decoder.traits.visibility == "full":
            return FullContext(self.decoder, self.settings.canvas)
        return self._prefill(sequences, prefix)

    def _tools(self, graph: RecordGraph) -> tuple[Constraint, ForcedText]:
        if graph not in self._graphs:
            while len(self._graphs) >= KEPT:
                self._graphs.pop(next(iter(self._graphs)))
            self._graphs[graph] = (Constraint(graph), ForcedText(graph, self.tokenizer, self.texts))
        return self._graphs[graph]

    def _proceed(self, sequence: OpenSequence) -> None:
        """Writes forced text and closes full blocks, up to the next position that needs a pass."""
        while sequence.block is not None:
            block = sequence.block
            sequence.advance()
            if self.constrained and not sequence.over:
                self._force(sequence, block)
            if not sequence.over and block.front < block.stop:
                return
            if self._remasked(sequence, block):
                return
            if self._checkable(sequence, block):
                sequence.checked = block
            if sequence.over:
                sequence.tokens[block.front : block.stop] = self.end
                sequence.block = None
            else:
                sequence.open_next()

    def _force(self, sequence: OpenSequence, block: Block) -> None:
        """Commits the forced text at the front of the open block."""
        graph = sequence.task.graph
        forced = self._tools(graph)[1].after(block.ahead)
        room = min(len(forced.tokens), block.stop - block.front)
        while room and graph.distance[forced.states[room - 1]] > sequence.limit - block.front - room:
            room -= 1
        if not room:
            return
        at = np.arange(block.front, block.front + room)
        tokens = np.array(forced.tokens[:room], np.int64)
        if (sequence.tokens[block.front : block.stop] >= 0).any():
            # Tokens further right are committed: only the witness is known to agree with them.
            differs = np.flatnonzero(sequence.witness[at] != tokens)
            room = int(differs[0]) if len(differs) else room
        fresh = np.flatnonzero(sequence.tokens[at[:room]] < 0)
        sequence.commit(at[fresh], tokens[fresh], np.ones(len(fresh), np.float32), False)
        sequence.advance()

    def _remasked(self, sequence: OpenSequence, block: Block) -> bool:
        """Masks the least certain tokens of a full block again if the effort asks for it.

        A model whose logits at visible tokens mean nothing has to mask a token in order to doubt it.
        """
        if not self._doubts(block) or self.decoder.traits.revises:
            return False
        at = np.arange(block.first, block.front)
        at = at[sequence.chosen[at] & (_grade(sequence.posterior[at]) < round(self.settings.threshold * GRAIN))]
        if not len(at):
            return False
        sequence.reopen(block, at)
        # One pass commits them all.
        block.passes = self.settings.passes - 1
        return True

    def _checkable(self, sequence: OpenSequence, block: Block) -> bool:
        """Whether the pass that writes this block's keys should score its visible tokens, too."""
        chosen = sequence.chosen[block.first : block.front]
        return self.decoder.traits.revises and self._doubts(block) and bool(chosen.any())

    def _doubts(self, block: Block) -> bool:
        # A block of one token has nothing to be doubted by.
        return self.block > 1 and block.rounds < self.settings.rounds

    def _step(self, context: Context, runs: Sequence[Run]) -> None:
        """Scores the open and the checked positions of all runs in one pass, and commits or re-masks tokens."""
        checked, opened = [_checked(run.sequence) for run in runs], [_opened(run.sequence) for run in runs]
        wanted = [np.concatenate(pair) for pair in zip(checked, opened, strict=True)]
        hidden = context.hidden([run.sequence for run in runs], wanted)
        for row, (run, scores) in enumerate(zip(runs, self._scores(runs, hidden, wanted), strict=True)):
            sequence, many = run.sequence, len(checked[row])
            sequence.passes += 1
            if not scores.finite.all():
                run.failed = Undecoded("model", "expected finite scores, got NaN or infinity")
                continue
            if sequence.checked is not None:
                at = self._doubted(sequence, sequence.checked, checked[row], scores.at(slice(many)))
                if len(at):
                    sequence.reopen(sequence.checked, at)
                    context.reject(row)
                    continue
                sequence.checked = None
            if sequence.block is not None:
                run.failed = self._commit(sequence, sequence.block, opened[row], scores.at(slice(many, None)))

    def _scores(self, runs: Sequence[Run], hidden: torch.Tensor, wanted: Sequence[Ints]) -> list[ClassScores]:
        """Returns the scores of each run's wanted positions; those of one graph are computed together."""
        held = [run.sequence.tokens[at] for run, at in zip(runs, wanted, strict=True)]
        cuts = np.cumsum([0, *map(len, wanted)]).tolist()
        graphs: dict[RecordGraph | None, list[int]] = {}
        for row, run in enumerate(runs):
            graphs.setdefault(run.sequence.task.graph if self.constrained else None, []).append(row)
        found: dict[int, ClassScores] = {}
        for graph, rows in graphs.items():
            classes = self._constraint(graph).classes
            part = hidden
            if len(graphs) > 1:
                part = torch.cat([hidden[cuts[row] : cuts[row + 1]] for row in rows])
            scores = classes.scores(self.decoder, part, np.concatenate([held[row] for row in rows]))
            begin = 0
            for row in rows:
                found[row] = scores.at(slice(begin, begin + len(held[row])))
                begin += len(held[row])
        return [found[row] for row in range(len(runs))]

    def _constraint(self, graph: RecordGraph | None) -> Constraint | Unconstrained:
        if graph is not None:
            return self._tools(graph)[0]
        assert self._free is not None
        return self._free

    def _outlook(self, sequence: OpenSequence, span: Span, scores: ClassScores) -> Outlook:
        return self._constraint(sequence.task.graph if self.constrained else None).outlook(span, scores)

    def _doubted(self, sequence: OpenSequence, block: Block, at: Ints, scores: ClassScores) -> Ints:
        """Returns the positions of a full block whose tokens the model no longer believes."""
        stop = int(at[-1]) + 1
        # The text behind the last chosen token is forced by it, and would be another one for another token.
        span = Span(block.state, sequence.tokens[block.first : stop], at - block.first, sequence.limit - stop)
        outlook = self._outlook(sequence, span, scores)
        now, other = _grade(outlook.posterior[span.scored]), _grade(outlook.runner_up[span.scored])
        low, apart = self.settings.doubt * GRAIN, self.settings.margin * GRAIN
        return at[(now < low) & (other - now >= apart)]

    def _commit(self, sequence: OpenSequence, block: Block, at: Ints, scores: ClassScores) -> Undecoded | None:
        """Commits the certain tokens of the witness of the open block, or the most certain one."""
        tokens = sequence.tokens[block.front : block.stop]
        span = Span(block.ahead, tokens, at - block.front, sequence.limit - block.stop)
        outlook = self._outlook(sequence, span, scores)
        if not outlook.complete:
            return Undecoded("model", "expected committed tokens that a record can go on from")
        if not block.passes and not block.rounds:
            sequence.log_mass += outlook.log_mass
        block.passes += 1
        sequence.witness[block.front : block.stop] = outlook.witness
        sequence.posterior[block.front + span.scored] = outlook.posterior[span.scored]
        eligible = (tokens < 0) & ~_tail(tokens, outlook.witness, self.end)
        alone = eligible & (outlook.choices == 1)
        eligible &= ~alone
        grade = np.where(eligible, _grade(outlook.posterior), -1)
        picked = eligible & (grade >= round(self.settings.threshold * GRAIN))
        if block.passes >= self.settings.passes:
            picked = eligible
        elif not picked.any() and eligible.any():
            picked[grade.argmax()] = True
        for places, chosen in ((alone, False), (picked, True)):
            where = block.front + np.flatnonzero(places)
            sequence.commit(where, outlook.witness[places], outlook.posterior[places], chosen)
        return None

    def _note(self, run: Run) -> None:
        """Keeps the state of the answer: the committed tokens and the witness."""
        sequence, judge = run.sequence, run.sequence.task.judge
        block = sequence.block
        stop = sequence.limit if block is None else block.stop
        tokens = sequence.tokens[sequence.begin : stop]
        tokens = np.where(tokens < 0, sequence.witness[sequence.begin : stop], tokens)
        ended = np.flatnonzero(tokens == self.end)
        tokens = tokens[: ended[0]] if len(ended) else tokens
        if run.failed is not None or (tokens < 0).any():
            return  # A block that was just masked again has no witness yet.
        part = slice(sequence.begin, sequence.begin + len(tokens))
        shown = Shown(tokens, sequence.posterior[part].copy(), sequence.chosen[part] | (sequence.tokens[part] < 0))
        run.shown = [*run.shown, shown] if judge is not None else [shown]

    def _record(self, run: Run, shown: Shown) -> bytes:
        text = self.texts.text(shown.tokens.tolist())
        return whole_record(run.sequence.task.graph, text) if self.constrained else text

    def _state(self, run: Run, before: bytes) -> bytes:
        """Returns the whole record to show now: that of the last step, or `before` if the judge refuses it."""
        judge = run.sequence.task.judge if self.constrained else None
        if not run.shown:
            return before
        text = self._record(run, run.shown[-1])
        return text if judge is None or judge(text) else before

    def _result(self, run: Run) -> Decoded:
        sequence, task = run.sequence, run.sequence.task
        tokens = sequence.answer()
        part = slice(sequence.begin, sequence.begin + len(tokens))
        posterior, chosen = sequence.posterior[part], sequence.chosen[part]
        text, accepted = self.texts.text(tokens.tolist()), True
        if self.constrained and task.judge is not None and not task.judge(text):
            accepted = False
            text, tokens, posterior, chosen = self._last_accepted(run, task.judge)
        return Decoded(
            text=text,
            tokens=tuple(tokens.tolist()),
            posteriors=tuple(posterior.tolist()),
            chosen=tuple(chosen.tolist()),
            passes=sequence.passes,
            reopened=sequence.reopened,
            log_mass=sequence.log_mass,
            accepted=accepted,
        )

    def _last_accepted(
        self, run: Run, judge: Callable[[bytes], bool]
    ) -> tuple[bytes, Ints, Floats, npt.NDArray[np.bool_]]:
        """Returns the last state that the judge accepts; what completes it has the posterior 0."""
        nothing = Shown(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.bool_))
        shown, text = nothing, run.sequence.task.minimal
        for earlier in reversed(run.shown):
            record = self._record(run, earlier)
            if judge(record):
                shown, text = earlier, record
                break
        rest = self.texts.spell(text[len(self.texts.text(shown.tokens.tolist())) :])
        return (
            text,
            np.concatenate([shown.tokens, np.array(rest, np.int64)]),
            np.concatenate([shown.posterior, np.zeros(len(rest), np.float32)]),
            np.concatenate([shown.chosen, np.ones(len(rest), np.bool_)]),
        )


def _reads(sequence: OpenSequence) -> bool:
    """Whether a sequence needs another pass."""
    return sequence.block is not None or sequence.checked is not None


def _checked(sequence: OpenSequence) -> Ints:
    """Returns the positions of the checked block that hold chosen tokens."""
    block = sequence.checked
    if block is None:
        return np.zeros(0, np.int64)
    return block.first + np.flatnonzero(sequence.chosen[block.first : block.stop])


def _opened(sequence: OpenSequence) -> Ints:
    """Returns the open positions of the open block."""
    block = sequence.block
    if block is None:
        return np.zeros(0, np.int64)
    return block.front + np.flatnonzero(sequence.tokens[block.front : block.stop] < 0)


def _tail(tokens: Ints, witness: Ints, end: int) -> npt.NDArray[np.bool_]:
    """[L] bool, the positions behind an end token: they follow from it."""
    behind = np.zeros(len(tokens), np.bool_)
    behind[1:] = (witness[1:] == end) & (witness[:-1] == end)
    behind[1:] |= np.logical_or.accumulate(tokens == end)[:-1]
    return behind


def _grade(posterior: Floats) -> Ints:
    """Returns probabilities rounded to whole multiples of 1 / GRAIN."""
    return np.round(posterior * GRAIN).astype(np.int64)
