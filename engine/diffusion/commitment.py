"""The choice of the tokens to commit in a pass, and of those to doubt."""

from __future__ import annotations

import numpy as np

from cinnabar.engine.denoising import GRAIN
from cinnabar.engine.diffusion.arrays import Bools, Floats, Ints
from cinnabar.engine.diffusion.class_scores import ClassScores
from cinnabar.engine.diffusion.decoded import Undecoded
from cinnabar.engine.diffusion.graph_tables import GraphTables
from cinnabar.engine.diffusion.outlook import Outlook
from cinnabar.engine.diffusion.sequences import Block, OpenSequence
from cinnabar.engine.diffusion.settings import Settings


class Commitment:
    """Commits and masks tokens of open blocks by the settings of an effort. end: the end token."""

    def __init__(self, tables: GraphTables, settings: Settings, end: int) -> None:
        self._tables, self._settings, self._end = tables, settings, end

    def doubted(self, outlook: Outlook, at: Ints, begin: int) -> Ints:
        """Returns those of the positions `at` whose tokens the model no longer believes, given all others."""
        now, other = grade(outlook.posterior[at - begin]), grade(outlook.runner_up[at - begin])
        low, apart = self._settings.doubt * GRAIN, self._settings.margin * GRAIN
        return at[(now < low) & (other - now >= apart)]

    def commit(self, sequence: OpenSequence, block: Block, at: Ints, scores: ClassScores) -> Undecoded | None:
        """Commits the certain tokens of the witness of the open block, or the first open one; masks doubted ones."""
        block.passes += 1
        begin = min(int(at[0]), block.front)
        begin = block.front if begin == block.front else block.first
        outlook = self._tables.outlook(sequence, begin, block.stop, at, scores)
        held = at[sequence.tokens[at] >= 0]
        doubted = self.doubted(outlook, held, begin) if block.passes < self._settings.passes else held[:0]
        if len(doubted):
            sequence.mask(doubted)
            sequence.doubts[doubted] += 1
            # The tokens beside it are weighed without it.
            outlook = self._tables.outlook(sequence, begin, block.stop, at, scores)
        if not outlook.complete:
            return Undecoded("model", "expected committed tokens that a record can go on from")
        if block.log_mass is None:
            block.log_mass = outlook.log_mass
        tokens = sequence.tokens[begin : block.stop]
        opened = np.flatnonzero(tokens < 0)
        sequence.witness[begin + opened] = outlook.witness[opened]
        sequence.posterior[begin + opened] = outlook.posterior[opened]
        eligible = (tokens < 0) & ~_tail(tokens, outlook.witness, self._end)
        # A doubted token is scored again when it is no longer visible.
        eligible[doubted - begin] = False
        alone = eligible & (outlook.choices == 1)
        eligible &= ~alone
        picked = eligible & (grade(outlook.posterior) >= round(self._settings.threshold * GRAIN))
        if block.passes >= self._settings.passes:
            picked = eligible
        elif not picked.any() and eligible.any():
            # The most certain one may be any letter of a string without an end, while the first one settles all text
            # that it forces. A half-trained model (171 values of 40 held-back pages, medium) had 59 right in 23 passes
            # a record with the first one, 46 in 49 with the most certain one.
            picked[eligible.argmax()] = True
        for places, chosen in ((alone, False), (picked, True)):
            where = begin + np.flatnonzero(places)
            sequence.commit(where, outlook.witness[places], outlook.posterior[places], chosen)
        if len(doubted):
            block.rewind()
        return None


def _tail(tokens: Ints, witness: Ints, end: int) -> Bools:
    """[L] bool, the positions behind an end token: they follow from it."""
    behind = np.zeros(len(tokens), np.bool_)
    behind[1:] = (witness[1:] == end) & (witness[:-1] == end)
    behind[1:] |= np.logical_or.accumulate(tokens == end)[:-1]
    return behind


def grade(posterior: Floats) -> Ints:
    """Returns probabilities rounded to whole multiples of 1 / GRAIN."""
    return np.round(posterior * GRAIN).astype(np.int64)
