"""Denoising of the answers of a batch, block by block, under the graphs of their records.

Each round: forced text is written, full blocks are closed, one pass scores the open positions, and the certain tokens
of the witness are committed, or the first one if none is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from cinnabar.engine.denoising import GRAIN
from cinnabar.engine.diffusion.arrays import Ints
from cinnabar.engine.diffusion.commitment import Commitment, grade
from cinnabar.engine.diffusion.contexts import Context, FullContext, Prefill
from cinnabar.engine.diffusion.decoded import Decoded, Run, Undecoded
from cinnabar.engine.diffusion.forced import TokenTexts
from cinnabar.engine.diffusion.forced_spelling import Spelling
from cinnabar.engine.diffusion.graph_tables import GraphTables
from cinnabar.engine.diffusion.noise_context import NoiseContext
from cinnabar.engine.diffusion.sequences import Block, OpenSequence, Task
from cinnabar.engine.diffusion.settings import Settings, settings_of
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma
from cinnabar.engine.time_limit import check_time
from cinnabar.schemas.errors import ModelError

#: How often an answer that the judge refuses goes back to the block in which it left the accepted states.
REPAIRS = 4
#: The last block is checked only if one of its tokens had a lower posterior at its commit: as many values were right
#: (60 pages), and a record took 9.9 passes in place of 10.6.
SURE = 0.97

#: Gets the number of the step and, for each task, a whole valid record.
Observer = Callable[[int, list[bytes]], None]
#: May change the sequences after a step, such as to put wrong tokens in (`OpenSequence.replace`).
Edit = Callable[[int, Sequence[OpenSequence]], None]


class Denoiser:
    """Decodes tasks with one model.

    Without `constrained` the same loop runs without graphs and judges, to compare with: up to the end token or the
    budget, and the text need not be a record. With `beside` it shares the prompts that another one has read.
    """

    def __init__(
        self,
        decoder: Decoder,
        tokenizer: Spelling,
        settings: Settings | str = "medium",
        constrained: bool = True,
        beside: Denoiser | None = None,
    ) -> None:
        traits = decoder.traits
        if traits.mask is None and traits.noise == "mask":
            raise ModelError(f"{traits.family}: expected a mask token, config.json names none")
        self.decoder, self.tokenizer, self.settings = decoder, tokenizer, settings_of(settings)
        self.constrained = constrained
        self.end = tokenizer.end
        self.texts: TokenTexts = TokenTexts(tokenizer.vocabulary) if beside is None else beside.texts
        self.block = self.settings.block if traits.visibility == "full" else traits.block
        self._prefill: Prefill = Prefill(decoder) if beside is None else beside._prefill
        self._noised: NoiseContext | None = None
        if isinstance(decoder, DiffusionGemma):
            self._noised = NoiseContext(decoder, self.end) if beside is None else beside._noised
        self._tables = GraphTables(decoder, self.settings.local, constrained)
        self._commitment = Commitment(self._tables, self.settings, self.end)

    @torch.inference_mode()
    def decode(
        self, tasks: Sequence[Task], observer: Observer | None = None, edit: Edit | None = None
    ) -> list[Decoded | Undecoded]:
        """Returns exactly one result for each task, in their order.

        Tasks that share a prefix are decoded in one batch.
        """
        self._tables.keep(task.graph for task in tasks)
        results: list[Decoded | Undecoded | None] = [None] * len(tasks)
        states = [task.minimal for task in tasks]
        groups: dict[tuple[int, ...], list[Run]] = {}
        for index, task in enumerate(tasks):
            least = int(task.graph.distance[0]) if self.constrained else 1
            if not 0 <= least <= task.budget or not task.prompt:
                detail = f"expected a prompt and {least} tokens or more, got {len(task.prompt)} and {task.budget}"
                results[index] = Undecoded("budget", detail)
                continue
            # Blocks are counted from the prompt's end where the prompt was not read in blocks.
            apart = self.decoder.traits.visibility in ("full", "token_causal")
            origin = len(task.prompt) if apart else 0
            sequence = OpenSequence(task, self.block, origin, self.end, self.constrained)
            groups.setdefault(self._prefix(sequence), []).append(Run(index, sequence, self.texts, self.constrained))
        steps = 0
        if observer is not None:
            observer(0, [*states])
        for prefix, runs in groups.items():
            context: Context | None = None
            while True:
                check_time()
                kept = [self._proceeds(run, row, context) for row, run in enumerate(runs)]
                for run, stays in zip(runs, kept, strict=True):
                    if not stays:
                        results[run.index] = run.failed or run.result()
                runs = [run for run, stays in zip(runs, kept, strict=True) if stays]
                if not runs:
                    break
                if context is None:
                    context = self._context([run.sequence for run in runs], prefix)
                else:
                    context.select(np.flatnonzero(kept))
                self._step(context, runs)
                steps += 1
                if edit is not None:
                    edit(steps, [run.sequence for run in runs])
                    for run in runs:
                        run.sequence.rewind()
                if observer is not None:
                    for run in runs:
                        states[run.index] = run.shown(states[run.index])
                    observer(steps, [*states])
        return [result for result in results if result is not None]

    def _prefix(self, sequence: OpenSequence) -> tuple[int, ...]:
        """Returns the shared prefix of the prompt that can be read apart."""
        # Canvases of random tokens are read by a context that keeps shared prefixes itself.
        if self.decoder.traits.visibility == "full" or self._noised is not None:
            return ()
        assert sequence.block is not None
        most = min(sequence.task.shared, sequence.block.begin - int(self.decoder.traits.shift))
        return tuple(sequence.task.prompt[: max(most, 0) // self.block * self.block])

    def _context(self, sequences: Sequence[OpenSequence], prefix: tuple[int, ...]) -> Context:
        if self.decoder.traits.visibility == "full":
            return FullContext(self.decoder, self.settings.canvas)
        if self._noised is not None:
            self._noised.clear()
            return self._noised
        return self._prefill(sequences, prefix)

    def _proceeds(self, run: Run, row: int, context: Context | None) -> bool:
        """Writes forced text and closes full blocks; returns whether the run needs another pass."""
        if run.failed is not None:
            return False
        self._proceed(run.sequence)
        while run.sequence.done:
            # A rule that no automaton knows can be broken by the whole record alone.
            fault = run.fault() if run.repairs < REPAIRS else None
            if fault is None:
                return False
            run.repairs += 1
            begin = run.sequence.repair(*fault)
            if context is not None:
                context.rewind(row, begin)
            self._proceed(run.sequence)
        return True

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
        forced = self._tables.forced(graph).after(block.ahead)
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
        at = at[sequence.chosen[at] & (grade(sequence.posterior[at]) < round(self.settings.threshold * GRAIN))]
        if not len(at):
            return False
        sequence.reopen(block, at)
        # One pass commits them all.
        block.passes = self.settings.passes - 1
        return True

    def _checkable(self, sequence: OpenSequence, block: Block) -> bool:
        """Whether the pass that writes this block's keys should score its visible tokens, too."""
        if not self.decoder.traits.revises or not self._doubts(block):
            return False
        part = slice(block.first, block.front)
        chosen = sequence.posterior[part][sequence.chosen[part]]
        # The next block's first pass scores these tokens too, but for the last block it would be a pass of its own.
        return bool((grade(chosen) < round(SURE * GRAIN)).any()) if sequence.over else len(chosen) > 0

    def _doubts(self, block: Block) -> bool:
        # A block of one token has nothing to be doubted by.
        return self.block > 1 and block.rounds < self.settings.rounds

    def _step(self, context: Context, runs: Sequence[Run]) -> None:
        """Scores the open and the doubtable positions of all runs in one pass, and commits or re-masks tokens."""
        checked, scored = [_checked(run.sequence) for run in runs], [self._scored(run.sequence) for run in runs]
        wanted = [np.concatenate(pair) for pair in zip(checked, scored, strict=True)]
        sequences = [run.sequence for run in runs]
        found = self._tables.scores(sequences, context.hidden(sequences, wanted), wanted)
        for row, result in enumerate(self._commitment.commit(sequences, checked, scored, found)):
            sequences[row].passes += 1
            if isinstance(result, Undecoded):
                runs[row].failed = result
            elif result is not None:
                context.rewind(row, result.begin)

    def _scored(self, sequence: OpenSequence) -> Ints:
        """Returns the positions of the open block to score: the open ones, and committed ones that may be doubted."""
        block = sequence.block
        if block is None:
            return np.zeros(0, np.int64)
        part = slice(block.first, block.stop)
        scored = sequence.tokens[part] < 0
        if self.decoder.traits.revises:
            scored |= sequence.chosen[part] & (sequence.doubts[part] < self.settings.rounds)
        return block.first + np.flatnonzero(scored)

def _checked(sequence: OpenSequence) -> Ints:
    """Returns the positions of the checked block that hold chosen tokens."""
    block = sequence.checked
    if block is None:
        return np.zeros(0, np.int64)
    return block.first + np.flatnonzero(sequence.chosen[block.first : block.stop])
