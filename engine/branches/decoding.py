"""Decodes the branches of one document together until all have their value.

A pass reads the last token of each branch and a draft behind it, tokens with which its text may go on in the document.
The longest part of a draft that is the model's own choice under the branch's constraint is taken, and one token more
(Speculative Decoding, arXiv 2211.17192; Copy-as-Decode, 2604.18170). So drafts change time and never values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from cinnabar.engine.branches.constraint import Constraint, Floats, Grounded, Pair
from cinnabar.engine.branches.forks import Fork, Forks
from cinnabar.engine.branches.value_tokens import ValueTokens
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.share_done import tell_share
from cinnabar.engine.time_limit import check_time

#: The most tokens of a value, and items of a list.
VALUE_TOKENS, ITEMS = 400, 200
#: Below this share of the model's mass, somewhere in a copied text, the value is written freely too, in so many tokens:
#: of one that goes on the model is wording, not putting together.
COMPOSED, COMPOSED_TOKENS = 0.05, 48
#: The fewest tokens of a common beginning that are worth a pass.
_LEAST = 6
#: The tokens that a pass reads at most for drafts, on a CPU and on other devices, and the most of one branch.
DRAFTED, DRAFTED_ON_DEVICE, LONGEST_DRAFT = 16, 1024, 12


@dataclass(eq=False)
class Branch:
    """The answer to one head.

    head: its tokens up to the opening quote. item: a number of its item in a list, -1 outside of any. null: the share
    of the tokens that say that there is no value. final: the state of the constraint at the end of the value, None if
    it has none. share: the product of the shares of all moves; mass: the smallest share of what was allowed, 1 where
    nothing was weighed. tokens, most: how many were and may be written. whole: whether all tokens are read, also those
    that nothing else is left than to write. otherwise: what may be written freely where copying leaves little of the
    model's mass, and `free` the branch that does so. begun: the shares of the first token. read: the tokens of
    its head with the quote.
    """

    head: list[int]
    constraint: Constraint
    item: int = -1
    most: int = VALUE_TOKENS
    whole: bool = False
    otherwise: Callable[[], Constraint] | None = None
    free: Branch | None = None
    begun: Floats | None = None
    null: float = 0.0
    final: object | None = None
    share: float = 1.0
    mass: float = 1.0
    tokens: int = 0
    done: bool = False
    read: int = 0
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
        settled = None if self.whole else self.constraint.settled(self.state)
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
        for branch, (null, first) in zip(branches, self._read(forks, heads, [2] * len(heads)), strict=True):
            branch.null = round(float(null[self._tokens.null].sum()), 4)
            settled = branch.constraint.settled(branch.state)
            if settled is not None:
                branch.final, branch.done = settled, True
            else:
                branch.begun = first
                branch.moved(first)
        every = [*branches]
        while True:
            every += [self._freed(forks, branch) for branch in branches if _is_doubted(branch)]
            left = [branch for branch in every if not branch.done]
            if not left:
                break
            tell_share(sum(one.done or one.tokens / one.most for one in every) / len(every))
            self._advance(forks, left)

    def _freed(self, forks: Forks, branch: Branch) -> Branch:
        """Returns a branch behind the same head that writes freely; it has made its first move."""
        assert branch.otherwise is not None and branch.begun is not None
        fork = forks.open(branch.fork)
        fork.length = branch.read
        constraint = branch.otherwise()
        free = Branch(branch.head, constraint, most=COMPOSED_TOKENS, null=branch.null, fork=fork)
        free.state = constraint.first()
        free.moved(branch.begun)
        branch.free = free
        return free

    def _advance(self, forks: Forks, branches: Sequence[Branch]) -> list[Floats]:
        """Takes all branches on by a token at least; returns the shares of the vocabulary behind each one's last."""
        on_cpu = self._decoder.device.type == "cpu"
        room = min((DRAFTED if on_cpu else DRAFTED_ON_DEVICE) // len(branches), LONGEST_DRAFT)
        drafts = [branch.constraint.draft(branch.state, room) for branch in branches]
        pieces = [(one.fork, [*one.ahead, *draft]) for one, draft in zip(branches, drafts, strict=True)]
        behind = self._read(forks, pieces, [1 + len(draft) for draft in drafts])
        last = list[Floats]()
        for branch, draft, own in zip(branches, drafts, behind, strict=True):
            taken = 0
            for token, shares in zip([*draft, None], own, strict=True):
                branch.moved(shares)
                if branch.done or branch.ahead != [token]:
                    break
                taken += 1
            branch.fork.length -= len(draft) - taken
            last.append(own[taken])
        return last

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
            read = [(fork, groups[item][0].head[:same]) for item, (fork, same) in stems.items()]
            self._read(forks, read, [0] * len(read))
        begun: list[int] = []
        for branch in branches:
            stem, same = stems.get(branch.item, (None, 0))
            branch.fork = forks.open(stem)
            branch.read = len(branch.head) + 1
            begun.append(same)
        return begun

    def items(self, forks: Forks, head: Sequence[int], grounded: Grounded) -> tuple[list[Item], float]:
        """Returns the items of a list, each behind the one before, and the share of there being none."""
        fork, quote = forks.open(), self._tokens.token[b'"']
        opening = self._tokens.token.get(b' ["', self._tokens.token.get(b'["', quote))
        ((empty, shares),) = self._read(forks, [(fork, [*head, opening])], [2])
        none = round(float(empty[np.concatenate([self._tokens.no_items, self._tokens.null])].sum()), 4)
        items = list[Item]()
        if none >= 0.5:
            return items, none
        state: tuple[Pair, ...] = grounded.first()
        pairs = len(state)
        while len(items) < ITEMS:
            branch = Branch([], grounded, fork=fork, state=state, whole=True)
            branch.moved(shares)
            while not branch.done:
                (shares,) = self._advance(forks, [branch])
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
            ((shares,),) = self._read(forks, [(fork, [tokens.token[b'"']])], [1])
            on, ends = float(shares[tokens.comma].sum()), float(shares[tokens.bracket].sum())
            comma = [tokens.token[b","]]
        else:
            comma = [tokens.token[b'",']]
        if on <= ends:
            return None
        ((shares,),) = self._read(forks, [(fork, [*comma, self._quote])], [1])
        return shares

    def _read(
        self, forks: Forks, pieces: Sequence[tuple[Fork, Sequence[int]]], wanted: Sequence[int]
    ) -> list[list[Floats]]:
        """Reads tokens of branches; returns the shares of the vocabulary [V] behind the last ones, so many of each."""
        check_time()
        self.passes += 1
        self.rows += sum(len(tokens) for _, tokens in pieces)
        hidden = forks.read(pieces)
        ends = np.cumsum([len(tokens) for _, tokens in pieces])
        rows = [at for end, many in zip(ends.tolist(), wanted, strict=True) for at in range(end - many, end)]
        if not rows:
            return [[] for _ in pieces]
        shares = iter(self._decoder.logits(hidden[rows]).float().softmax(-1).cpu().numpy())
        return [list(islice(shares, many)) for many in wanted]


def _is_doubted(branch: Branch) -> bool:
    """Returns whether a branch is to be written freely too, and is not yet: copying left little of the model's mass."""
    if branch.otherwise is None or branch.free is not None or branch.begun is None or branch.null >= 0.5:
        return False
    return branch.mass < COMPOSED or (branch.done and branch.final is None)


def logarithm(share: float) -> float:
    """Returns the natural logarithm of a share, bounded below."""
    return math.log(max(share, 1e-9))
