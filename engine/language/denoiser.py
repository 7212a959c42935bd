"""Denoising of the answers of a batch, block by block, under the graphs of their records.

Each round: forced text is written, full blocks are closed, whole answers leave and others join, one pass scores the
open positions, and the certain tokens of the witness are committed, or the first one if none is certain.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch

from cinnabar.engine.fill.step import GRAIN
from cinnabar.engine.language.class_scores import ClassScores, DeviceScores
from cinnabar.engine.language.commitment import Commitment, grade
from cinnabar.engine.language.contexts import PagedContext
from cinnabar.engine.language.decoded import Decoded, DecodingRun, Undecoded
from cinnabar.engine.language.drafts import Drafter, is_drafted
from cinnabar.engine.language.forced import Forced, TokenSpelling, TokenTexts
from cinnabar.engine.language.graph_tables import GraphTables
from cinnabar.engine.language.noise_context import NoiseContext
from cinnabar.engine.language.pass_times import PassTimes
from cinnabar.engine.language.sequences import Block, OpenSequence, Task
from cinnabar.engine.language.settings import SETTINGS, DecodingSettings
from cinnabar.engine.language.text_ends import LONG, REPEATED, is_over, is_within_string
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma
from cinnabar.engine.work_time import TOO_SLOW, check_time, report_share
from cinnabar.errors import ModelError

#: How often an answer that the judge refuses goes back to the block in which it left the accepted states; in the second
#: half one choice more, so that a list whose next item would repeat another one ends.
REPAIRS = 16
#: The last block is checked only if one of its tokens had a lower posterior at its commit: as many values were right
#: (60 pages), and a record took 9.9 passes in place of 10.6.
SURE_TOKEN = 0.97
#: Tasks that are decoded together, at most.
ROWS = 128
#: The most drafted tokens of a causal model that a pass of a CPU reads, of all tasks together and of one. There a pass
#: of 13 tokens takes 1.6 times as long as one of a single token (Qwen2.5-Coder-0.5B, int8, one thread).
DRAFTED, DRAFTED_OF_ONE = 16, 12

#: The share of a task's time that its prompt takes (of a CPU; the document's tokens beside those of a short record).
READING = 0.5

#: Told of a task that its `Arrivals` gave up.
GIVEN_UP = Undecoded("given_up", "")
#: Told of a task whose time is over, or would be before it has an answer; what it has read is sound.
LATE = Undecoded(TOO_SLOW, "no answer in the seconds of a document")

#: Gets the number of the step and, for each task, a whole valid record.
Observer = Callable[[int, list[bytes]], None]
#: Gets the number of the step and the tasks that took part in it.
Watch = Callable[[int, Sequence[DecodingRun]], None]


class Arrivals(Protocol):
    """The tasks that a batch takes in while it runs."""

    def take(self) -> tuple[int, Task] | None:
        """Returns the next task with a number that no earlier one had, None if none waits now."""
        ...

    def given_up(self, number: int) -> bool:
        """Whether nobody wants the result of this task any more."""
        ...


class Listed:
    """Tasks that are all known at the beginning, in their order."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._waiting = deque(enumerate(tasks))

    def take(self) -> tuple[int, Task] | None:
        """Returns the next task with its place in the list, None after the last."""
        return self._waiting.popleft() if self._waiting else None

    def given_up(self, _: int) -> bool:
        """Returns False: the result of each task is wanted."""
        return False


class Denoiser:
    """Decodes tasks with one model; pages, page: see `PagedContext`."""

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: TokenSpelling,
        settings: DecodingSettings = SETTINGS["medium"],
        pages: int | None = None,
        page: int | None = None,
    ) -> None:
        traits = decoder.traits
        if traits.mask is None and traits.noise == "mask":
            raise ModelError(f"{traits.family}: expected a mask token, config.json names none")
        self.decoder, self.tokenizer, self.settings = decoder, tokenizer, settings
        #: Tasks that are decoded together, at most.
        self.rows = ROWS
        self.end = tokenizer.end
        self.texts: TokenTexts = TokenTexts(tokenizer.vocabulary)
        self.block = traits.block
        self._context: PagedContext | NoiseContext
        if isinstance(decoder, DiffusionGemma):
            self._context = NoiseContext(decoder, self.end)
        else:
            self._context = PagedContext(decoder, pages, page)
        self._tables = GraphTables(decoder)
        self._commitment = Commitment(self._tables, self.end)
        self._times = PassTimes()
        self._drafter = Drafter(tokenizer, self.texts) if is_drafted(decoder) else None

    @torch.inference_mode()
    def decode(self, tasks: Sequence[Task], observer: Observer | None = None) -> list[Decoded | Undecoded]:
        """Returns exactly one result for each task, in their order."""
        found = dict(self.stream(tasks, observer))
        return [found[index] for index in range(len(tasks))]

    @torch.inference_mode()
    def stream(
        self,
        tasks: Sequence[Task],
        observer: Observer | None = None,
        room: int | None = None,
    ) -> Iterator[tuple[int, Decoded | Undecoded]]:
        """Yields the number of each task with its result, as soon as there is one.

        Tasks join in their order, as soon as their tokens fit into `room` beside those of others and their pages into
        the cache; the first one joins in any case. They leave when they are done. An error of one task is its result.
        An error of a pass ends the stream; tasks without a result may be tried again.
        """
        states = [task.minimal for task in tasks]

        shares = [0.0] * len(tasks)

        def tell(runs: Sequence[DecodingRun]) -> None:
            for run in runs:
                unread = self._context.unread(run.sequence) if isinstance(self._context, PagedContext) else 0
                read = 1.0 - unread / len(run.sequence.task.prompt)
                shares[run.index] = READING * max(read, 0.0) + (1.0 - READING) * run.sequence.share
            report_share(sum(shares) / len(tasks))

        def watch(step: int, runs: Sequence[DecodingRun]) -> None:
            if observer is not None:
                for run in runs:
                    states[run.index] = run.shown(states[run.index])
                observer(step, [*states])

        if observer is not None:
            observer(0, [*states])
        for index, decoded in self.serve(Listed(tasks), watch, room, tell):
            shares[index] = 1.0
            yield index, decoded

    @torch.inference_mode()
    def serve(
        self,
        arrivals: Arrivals,
        watch: Watch | None = None,
        room: int | None = None,
        tell: Callable[[Sequence[DecodingRun]], None] | None = None,
    ) -> Iterator[tuple[int, Decoded | Undecoded]]:
        """Yields the number of each arriving task with its result, as `stream` does, until no more tasks arrive.

        watch: sees the tasks of a pass that scored some; tell: of every pass.
        """
        active = list[DecodingRun]()
        ready: DecodingRun | None = None
        steps = 0
        try:
            while True:
                check_time()
                for run in active if ready is None else (*active, ready):
                    if arrivals.given_up(run.index):
                        run.failed = GIVEN_UP
                done = [run for run in active if not self._goes_on(run)]
                active = [run for run in active if run not in done]
                # All of them before the first is told: whoever stops listening leaves no pages behind.
                for run in done:
                    run.cached = self._context.count_cached(run.sequence)
                    self._context.leave(run.sequence, spoilt=run.failed not in (None, GIVEN_UP, LATE))
                for run in done:
                    yield run.index, run.outcome()
                before = len(active)
                ready = yield from self._admit(arrivals, active, ready, room)
                if not active:
                    return
                if any(self._is_late(run) for run in active[before:]):
                    self._times.forget()
                    continue
                self._tables.keep(run.sequence.task.graph for run in active)
                begun = time.monotonic()
                scored = self._step(active)
                if isinstance(self._context, PagedContext):
                    self._times.note(self._context.read, time.monotonic() - begun)
                if tell is not None:
                    tell(active)
                steps += scored
                if scored and watch is not None:
                    watch(steps, active)
        finally:
            if active:
                self._context.clear()

    def _admit(
        self, arrivals: Arrivals, active: list[DecodingRun], ready: DecodingRun | None, room: int | None
    ) -> Generator[tuple[int, Decoded | Undecoded], None, DecodingRun | None]:
        """Takes `ready` and arriving tasks into `active` while there is room, and returns the one that has to wait.

        Yields the results of tasks that need no pass.
        """
        while True:
            if ready is None:
                arrived = arrivals.take()
                if arrived is None:
                    return None
                index, task = arrived
                refused = self._refuse(task)
                if refused is not None:
                    yield index, refused
                    continue
                ready = DecodingRun(index, self._open(task), self.texts)
            if not self._goes_on(ready):
                yield ready.index, ready.outcome()
                ready = None
                continue
            tokens = ready.sequence.task.tokens + sum(run.sequence.task.tokens for run in active)
            full = len(active) >= self.rows or (room is not None and tokens > room)
            if (active and full) or not self._context.join(ready.sequence):
                return ready
            ready.joined = True
            active.append(ready)
            ready = None

    def _refuse(self, task: Task) -> Undecoded | None:
        """Returns why a task cannot be decoded at all."""
        least = int(task.graph.distance[0])
        if 0 <= least <= task.budget and task.prompt:
            detail = self._context.refusal(len(task.prompt) + task.budget + self.block)
            return None if detail is None else Undecoded("too_long", detail)
        detail = f"expected a prompt and {least} tokens or more, got {len(task.prompt)} and {task.budget}"
        return Undecoded("budget", detail)

    def _open(self, task: Task) -> OpenSequence:
        # Blocks are counted from the prompt's end where the prompt was not read in blocks.
        apart = self.decoder.traits.visibility == "token_causal"
        origin, settings = len(task.prompt) if apart else 0, task.settings or self.settings
        return OpenSequence(task, self.block, origin, self.end, settings)

    def _goes_on(self, run: DecodingRun) -> bool:
        """Writes forced text and closes full blocks; returns whether the run needs another pass."""
        with run.catch_errors():
            return run.failed is None and self._proceeds(run) and not run.is_ended() and not self._is_late(run)
        return False

    def _is_late(self, run: DecodingRun) -> bool:
        """Returns whether a run has had its passes, or the next one would end behind its time.

        It then ends with what it has, or fails.
        """
        sequence, needed, most = run.sequence, 0.0, run.sequence.settings.passes_in_all
        if most is not None and sequence.passes >= most:
            run.late = True
            return True
        if run.answer_by is None:
            return False
        begun = bool(sequence.chosen.any())
        if run.joined and isinstance(context := self._context, PagedContext):
            needed = self._times.needed(context.unread(sequence), context.stretch, begun)
        if time.monotonic() + needed <= run.answer_by:
            return False
        run.late, run.failed = True, None if begun else LATE
        return True

    def _proceeds(self, run: DecodingRun) -> bool:
        self._proceed(run.sequence)
        while run.sequence.done:
            # A rule that no automaton knows can be broken by the whole record alone.
            fault = run.fault(earlier=2 * run.repairs >= REPAIRS) if run.repairs < REPAIRS else None
            if fault is None:
                return False
            run.repairs += 1
            begin = run.sequence.repair(*fault)
            if run.joined:
                self._context.rewind(run.sequence, begin)
            self._proceed(run.sequence)
        run.check_time()
        return True

    def _proceed(self, sequence: OpenSequence) -> None:
        """Writes forced text and closes full blocks, up to the next position that needs a pass."""
        while sequence.block is not None:
            block = sequence.block
            sequence.advance()
            if not sequence.over:
                self._force(sequence, block)
            if not sequence.over and block.front < block.stop:
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
        forced = self._tables.forced_text(graph).after(block.ahead)
        if self.block == 1 and not forced.tokens and sequence.task.ends_of is not None:
            forced = self._end_of_text(sequence, block)
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

    def _end_of_text(self, sequence: OpenSequence, block: Block) -> Forced:
        """Returns the quotation mark with which a long text has to end (`is_over`), else nothing."""
        begin, end = block.front - LONG, self.texts.token[b'"']
        if begin < sequence.begin or (state := sequence.task.graph.run([end], block.ahead)) < 0:
            return Forced((), ())
        first = max(sequence.begin, block.front - REPEATED)
        parts = [sequence.tokens[first:begin].tolist(), sequence.tokens[begin : block.front].tolist()]
        before, last = map(self.texts.text, parts)
        over = is_over(before + last, len(last), sequence.task.ends_of or frozenset())
        over = over and is_within_string(self.texts.text(sequence.answer().tolist()))
        return Forced((end,), (state,)) if over else Forced((), ())

    def _checkable(self, sequence: OpenSequence, block: Block) -> bool:
        """Whether the pass that writes this block's keys should score its visible tokens, too."""
        # A block of one token has nothing to be doubted by.
        if not self.decoder.traits.revises or self.block == 1 or block.rounds >= sequence.settings.rounds:
            return False
        part = slice(block.first, block.front)
        chosen = sequence.posterior[part][sequence.chosen[part]]
        # The next block's first pass scores these tokens too, but for the last block it would be a pass of its own.
        return bool((grade(chosen) < round(SURE_TOKEN * GRAIN)).any()) if sequence.over else len(chosen) > 0

    def _step(self, runs: Sequence[DecodingRun]) -> bool:
        """Has all runs read in one pass, and commits or re-masks tokens; returns whether the pass scored any run."""
        self._draft([run.sequence for run in runs])
        if isinstance(self._context, PagedContext):
            self._context.hurried = any(run.answer_by is not None for run in runs)
        checked, scored = (
            [_checked_positions(run.sequence) for run in runs],
            [self._positions_to_score(run.sequence) for run in runs],
        )
        wanted = [np.concatenate(pair) for pair in zip(checked, scored, strict=True)]
        rows, hidden = self._context.hidden([run.sequence for run in runs], wanted)
        if not rows:
            return False
        sequences = [runs[row].sequence for row in rows]
        scores = self._tables.scores(sequences, hidden, [wanted[row] for row in rows])
        ahead = list[tuple[Ints, ClassScores | DeviceScores]]()
        if self._drafter is not None:
            # Each position has its turn when those before it are committed.
            ahead = [(scored[row], one) for row, one in zip(rows, scores, strict=True)]
            scored, scores = [at[:1] for at in scored], [one.at(slice(1)) for one in scores]
        results = self._commitment.commit(
            sequences, [checked[row] for row in rows], [scored[row] for row in rows], scores
        )
        for row, result in zip(rows, results, strict=True):
            run = runs[row]
            run.sequence.passes += 1
            if isinstance(result, Undecoded):
                run.failed = result
            elif result is not None:
                self._context.rewind(run.sequence, result.begin)
        for row, (at, one) in zip(rows, ahead, strict=False):
            self._take_draft(runs[row], at, one)
        return True

    def _draft(self, sequences: Sequence[OpenSequence]) -> None:
        """Drafts what may follow the open positions of causal texts."""
        left = DRAFTED
        for number, sequence in enumerate(sequences):
            block, task, sequence.draft = sequence.block, sequence.task, []
            if self._drafter is None or block is None or not task.source:
                continue
            most = min(DRAFTED_OF_ONE, -(-left // (len(sequences) - number)), sequence.limit - block.stop)
            written = self.texts.text(sequence.answer().tolist())
            forced = self._tables.forced_text(task.graph)
            sequence.draft = self._drafter.draft(task.graph, forced, block.ahead, written, task.source, most)
            left -= len(sequence.draft)

    def _take_draft(self, run: DecodingRun, places: Ints, scores: ClassScores | DeviceScores) -> None:
        """Commits further choices of a causal text, as long as the text is the one that the pass has read.

        places: the positions with `scores`, the first of which is committed.
        """
        sequence, begin = run.sequence, int(places[0])
        draft = np.array(sequence.draft, np.int64)
        for number, at in enumerate(places.tolist()[1:], 1):
            with run.catch_errors():
                self._proceed(sequence)
            block = sequence.block
            read = (sequence.tokens[begin:at] == draft[: at - begin]).all()
            if run.failed is not None or block is None or block.front != at or not read or run.is_ended():
                break
            part = slice(number, number + 1)
            (result,) = self._commitment.commit([sequence], [places[:0]], [places[part]], [scores.at(part)])
            run.failed = result if isinstance(result, Undecoded) else None
        differs = np.flatnonzero(sequence.tokens[begin : begin + len(draft)] != draft)
        assert isinstance(self._context, PagedContext)
        self._context.keep_draft(sequence, begin + (int(differs[0]) if len(differs) else len(draft)))
        sequence.draft = []

    def _positions_to_score(self, sequence: OpenSequence) -> Ints:
        """Returns the positions of the open block to score: the open ones, and committed ones that may be doubted."""
        block = sequence.block
        if block is None:
            return np.zeros(0, np.int64)
        part = slice(block.first, block.stop)
        scored = sequence.tokens[part] < 0
        if self.decoder.traits.revises:
            scored |= sequence.chosen[part] & (sequence.doubts[part] < sequence.settings.rounds)
        at = block.first + np.flatnonzero(scored)
        return np.concatenate([at, self._drafted_choices(sequence, block)]) if sequence.draft else at

    def _drafted_choices(self, sequence: OpenSequence, block: Block) -> Ints:
        """Returns the positions within and behind a draft at which the model has a choice."""
        graph, state, choices = sequence.task.graph, block.ahead, list[int]()
        for at, token in enumerate(sequence.draft, block.stop):
            state = graph.run([token], state)
            if not self._tables.forced_text(graph).after(state).tokens:
                choices.append(at)
        return np.array(choices, np.int64)


def _checked_positions(sequence: OpenSequence) -> Ints:
    """Returns the positions of the checked block that hold chosen tokens."""
    block = sequence.checked
    if block is None:
        return np.zeros(0, np.int64)
    return block.first + np.flatnonzero(sequence.chosen[block.first : block.stop])
