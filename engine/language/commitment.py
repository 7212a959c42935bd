"""The choice of the tokens to commit in a pass, and of those to doubt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cinnabar.engine.fill.engine import NO_NUMBERS
from cinnabar.engine.fill.step import GRAIN
from cinnabar.engine.language.class_scores import ClassScores, DeviceScores
from cinnabar.engine.language.decoded import Undecoded
from cinnabar.engine.language.graph_tables import GraphTables, LookaheadQuery
from cinnabar.engine.language.lookahead import Lookahead
from cinnabar.engine.language.sequences import Block, OpenSequence
from cinnabar.engine.models.language.arrays import Bools, Floats, Ints

#: Told of a sequence whose scores mean nothing.
NOT_FINITE = Undecoded(NO_NUMBERS, "expected finite scores, got NaN or infinity")


class Commitment:
    """Commits and masks tokens of open blocks by the settings of each sequence. end: the end token."""

    def __init__(self, tables: GraphTables, end: int) -> None:
        self._tables, self._end = tables, end

    def doubtful_positions(self, look: LookaheadQuery, lookahead: Lookahead, at: Ints) -> Ints:
        """Returns those of the positions `at` whose tokens the model no longer believes, given all others."""
        now, other = grade(lookahead.posterior[at - look.begin]), grade(lookahead.runner_up[at - look.begin])
        settings = look.sequence.settings
        low, apart = settings.doubt * GRAIN, settings.margin * GRAIN
        return at[(now < low) & (other - now >= apart)]

    def commit(
        self,
        sequences: Sequence[OpenSequence],
        checked: Sequence[Ints],
        scored: Sequence[Ints],
        scores: Sequence[ClassScores | DeviceScores],
    ) -> list[Undecoded | Block | None]:
        """Commits the certain tokens of the open blocks, or the first open one of each, and masks doubted ones.

        checked, scored: for each sequence the positions of its checked and of its open block that have `scores`, in
        this order. Returns for each why it cannot be decoded, or the checked block if it was opened again.
        """
        checks, opens = dict[int, LookaheadQuery](), dict[int, LookaheadQuery]()
        for row, (sequence, one) in enumerate(zip(sequences, scores, strict=True)):
            many = len(checked[row])
            if (block := sequence.checked) is not None:
                at = checked[row]
                # What is forced behind the last chosen token would be another text for another token.
                checks[row] = LookaheadQuery(sequence, block, block.first, int(at[-1]) + 1, at, one.at(slice(many)))
            if (block := sequence.block) is not None:
                at = scored[row]
                begin = block.front if block.front <= int(at[0]) else block.first
                opens[row] = LookaheadQuery(sequence, block, begin, block.stop, at, one.at(slice(many, None)))
        lookaheads = self._tables.lookaheads([*checks.values(), *opens.values()])
        ahead = dict(zip(opens, lookaheads[len(checks) :], strict=True))
        results: list[Undecoded | Block | None] = [None] * len(sequences)
        for (row, look), lookahead in zip(checks.items(), lookaheads, strict=False):
            if not lookahead.finite or (row in ahead and not ahead[row].finite):
                results[row] = NOT_FINITE
                continue
            doubted = self.doubtful_positions(look, lookahead, look.scored)
            if len(doubted):
                look.sequence.reopen(look.block, doubted)
                results[row] = look.block
            look.sequence.checked = None
        again = dict[int, Ints]()
        for row, lookahead in ahead.items():
            if results[row] is None and not lookahead.finite:
                results[row] = NOT_FINITE
            if results[row] is None:
                again[row] = self._mask_doubtful(opens[row], lookahead)
        # The tokens beside doubted ones are weighed without these.
        anew = [row for row, doubted in again.items() if len(doubted)]
        ahead.update(zip(anew, self._tables.lookaheads([opens[row] for row in anew]), strict=True))
        for row, doubted in again.items():
            results[row] = self._commit(opens[row], ahead[row], doubted)
        return results

    def _mask_doubtful(self, look: LookaheadQuery, lookahead: Lookahead) -> Ints:
        """Masks the doubted tokens of an open block and returns their positions."""
        sequence, block = look.sequence, look.block
        block.passes += 1
        held = look.scored[sequence.tokens[look.scored] >= 0]
        doubted = (
            self.doubtful_positions(look, lookahead, held) if block.passes < sequence.settings.passes else held[:0]
        )
        if len(doubted):
            sequence.mask(doubted)
            sequence.doubts[doubted] += 1
        return doubted

    def _commit(self, look: LookaheadQuery, lookahead: Lookahead, doubted: Ints) -> Undecoded | None:
        """Commits the certain tokens of the witness of an open block, or the first open one."""
        sequence, block, begin = look.sequence, look.block, look.begin
        if not lookahead.complete:
            return Undecoded("model", "expected committed tokens that a record can go on from")
        if block.log_mass is None:
            block.log_mass = lookahead.log_mass
        tokens, graph = sequence.tokens[begin : block.stop], sequence.task.graph
        opened = np.flatnonzero(tokens < 0)
        # Whichever token of its class ends the text, the sequence has the end token.
        witness = np.where(graph.token_class[lookahead.witness] == graph.end_class, self._end, lookahead.witness)
        sequence.witness[begin + opened] = witness[opened]
        sequence.posterior[begin + opened] = lookahead.posterior[opened]
        eligible = (tokens < 0) & ~_tail(tokens, witness, self._end)
        # A doubted token is scored again when it is no longer visible.
        eligible[doubted - begin] = False
        alone = eligible & (lookahead.choices == 1)
        eligible &= ~alone
        picked = eligible & (grade(lookahead.posterior) >= round(sequence.settings.threshold * GRAIN))
        if block.passes >= sequence.settings.passes:
            picked = eligible
        elif not picked.any() and eligible.any():
            # The most certain one may be any letter of a string without an end, while the first one settles all text
            # that it forces. A half-trained model (171 values of 40 held-back pages, medium) had 59 right in 23 passes
            # a record with the first one, 46 in 49 with the most certain one.
            picked[eligible.argmax()] = True
        for places, chosen in ((alone, False), (picked, True)):
            where = begin + np.flatnonzero(places)
            sequence.commit(where, witness[places], lookahead.posterior[places], chosen)
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
