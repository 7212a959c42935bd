"""Decodes the branches of one document together, one token of each in a pass, until all have their value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cinnabar.engine.branches.constraint import Constraint, Floats, Grounded, Pair
from cinnabar.engine.branches.forks import Fork, Forks
from cinnabar.engine.branches.value_tokens import ValueTokens
from cinnabar.engine.lifting import Ints
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.share_done import tell_share
from cinnabar.engine.time_limit import check_time

#: The most tokens of a value, and items of a list.
VALUE_TOKENS, ITEMS = 400, 200
#: The fewest tokens of a common beginning that are worth a pass.
_LEAST = 6


@dataclass(eq=False)
class Branch:
    """The answer to one head.

    head: its tokens up to the opening quote. item: a number of its item in a list, -1 outside of any. null: the share
    of the tokens that say that there is no value. final: the state of the constraint at the end of the value, None if
    it has none. share: the product of the shares of all moves; mass: the smallest share of what was allowed, 1 where
    nothing was weighed. tokens, most: how many were and may be written.
    """

    head: list[int]
    constraint: Constraint
    item: int = -1
    most: int = VALUE_TOKENS
    null: float = 0.0
    final: object | None = None
    share: float = 1.0
    mass: float = 1.0
    tokens: int = 0
    done: bool = False
    fork: Fork = field(default_factory=lambda: Fork(-1))
    state: object = None
    ahead: list[int] = field(default_factory=list)

    def moved(self, shares: Floats) -> None:
        """Takes the next move of the constraint."""
        move = self.constraint.move(self.state, shares)
        if move is None or self.tokens >= self.most:
            self.done = True
            return
        self.share *= move.share
        self.mass = min(self.mass, round(move.mass, 4))
        if move.token is None:
            self.final, self.done = move.state, True
            return
        self.tokens += 1
        self.state, self.ahead = move.state, [move.token]
        settled = self.constraint.settled(self.state)
        if settled is not None:
            self.final, self.done = settled, True


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list: the pairs of the stretch that begins it, and the share of its moves."""

    pairs: tuple[Pair, ...]
    share: float


class BranchDecoder:
    """Decodes branches with one model. `passes` and `rows` count what was computed behind documents."""

    def __init__(self, decoder: Decoder, tokens: ValueTokens, quote: int) -> None:
        """quote: the token of a blank and a quote, which opens a value."""
        self._decoder, self._tokens, self._quote = decoder, tokens, quote
        self.passes = self.rows = 0

    def decode(self, forks: Forks, branches: Sequence[Branch]) -> None:
        """Gives every branch its answer."""
        if not branches:
            return
        read = self._stems(forks, branches)
        for branch in branches:
            branch.state = branch.constraint.first()
        heads = [(one.fork, [*one.head[begin:], self._quote]) for one, begin in zip(branches, read, strict=True)]
        shares = self._read(forks, heads, last=2)
        for at, branch in enumerate(branches):
            null, first = shares[2 * at], shares[2 * at + 1]
            branch.null = round(float(null[self._tokens.null].sum()), 4)
            settled = branch.constraint.settled(branch.state)
            if settled is not None:
                branch.final, branch.done = settled, True
            else:
                branch.moved(first)
        while left := [branch for branch in branches if not branch.done]:
            tell_share(sum(one.done or one.tokens / one.most for one in branches) / len(branches))
            shares = self._read(forks, [(one.fork, one.ahead) for one in left])
            for branch, own in zip(left, shares, strict=True):
                branch.moved(own)

    def _stems(self, forks: Forks, branches: Sequence[Branch]) -> list[int]:
        """Opens a fork for each branch, and returns how many tokens of its head that has read.

        Heads of one item begin alike, and these tokens are read once.
        """
        groups: dict[int, list[Branch]] = {}
        for branch in branches:
            groups.setdefault(branch.item, []).append(branch)
        stems: dict[int, tuple[Fork, int]] = {}
        for item, own in groups.items():
            # What the first and the last one in order have in common, all have.
            heads = sorted(branch.head for branch in own)
            pairs = enumerate(zip(heads[0], heads[-1], strict=False))
            same = next((at for at, (one, other) in pairs if one != other), len(heads[0]))
            if item >= 0 and len(own) > 1 and same >= _LEAST:
                stems[item] = forks.open(), min(same, *(len(branch.head) - 1 for branch in own))
        if stems:
            self._read(forks, [(fork, groups[item][0].head[:same]) for item, (fork, same) in stems.items()])
        for branch in branches:
            branch.fork = forks.open(stems[branch.item][0] if branch.item in stems else None)
        return [stems[branch.item][1] if branch.item in stems else 0 for branch in branches]

    def items(self, forks: Forks, head: Sequence[int], grounded: Grounded) -> tuple[list[Item], float]:
        """Returns the items of a list, each behind the one before, and the share of there being none."""
        fork, quote = forks.open(), self._tokens.token[b'"']
        opening = self._tokens.token.get(b' ["', self._tokens.token.get(b'["', quote))
        empty, shares = self._read(forks, [(fork, [*head, opening])], last=2)
        none = round(float(empty[np.concatenate([self._tokens.no_items, self._tokens.null])].sum()), 4)
        items = list[Item]()
        if none >= 0.5:
            return items, none
        state: tuple[Pair, ...] = grounded.first()
        pairs = len(state)
        while len(items) < ITEMS:
            branch = Branch([], grounded, state=state)
            while not branch.done:
                branch.moved(shares)
                if not branch.done:
                    (shares,) = self._read(forks, [(fork, branch.ahead)])
            if not isinstance(branch.final, tuple) or not branch.final:
                break
            items.append(Item(branch.final, branch.share))
            behind = min(end for _, end in branch.final)
            state = tuple(pair for pair in grounded.first() if pair[0] >= behind)
            tell_share(1 - len(state) / pairs)
            going = self._goes_on(forks, fork, shares)
            if not state or going is None:
                break
            shares = going
        return items, none

    def _goes_on(self, forks: Forks, fork: Fork, shares: Floats) -> Floats | None:
        """Returns the shares of the first token of the next item, None if the list ends behind this one."""
        tokens = self._tokens
        on, ends = float(shares[tokens.goes_on].sum()), float(shares[tokens.ends_list].sum())
        bare = float(shares[tokens.token[b'"']])
        if bare > max(on, ends):
            (shares,) = self._read(forks, [(fork, [tokens.token[b'"']])])
            on, ends = float(shares[tokens.comma].sum()), float(shares[tokens.bracket].sum())
            comma = [tokens.token[b","]]
        else:
            comma = [tokens.token[b'",']]
        if on <= ends:
            return None
        (shares,) = self._read(forks, [(fork, [*comma, self._quote])])
        return shares

    def _read(self, forks: Forks, pieces: Sequence[tuple[Fork, Sequence[int]]], last: int = 1) -> list[Floats]:
        """Reads these tokens, and returns the shares of the vocabulary [V] behind the last ones of each piece."""
        check_time()
        self.passes += 1
        self.rows += sum(len(tokens) for _, tokens in pieces)
        hidden = forks.read(pieces)
        ends = np.cumsum([len(tokens) for _, tokens in pieces])
        wanted: Ints = (ends[:, None] - np.arange(last, 0, -1)).ravel()
        logits = self._decoder.logits(hidden[wanted.tolist()]).float()
        made: list[Floats] = list(logits.softmax(-1).cpu().numpy())
        return made


def logarithm(share: float) -> float:
    """Returns the natural logarithm of a share, bounded below."""
    return math.log(max(share, 1e-9))
