"""Decodes the branches of documents together until all have their value.

A pass reads the last token of each branch and a draft behind it, tokens with which its text may go on in the document.
The longest part of a draft that is the model's own choice under the branch's constraint is taken, and one token more
(Speculative Decoding, arXiv 2211.17192; Copy-as-Decode, 2604.18170). So such drafts change time and never values.

A model that denoises blocks (Block Diffusion, arXiv 2503.09573) drafts by itself: it reads a branch's open block with
masks in it, and says all that is left of the block at once. The first token is taken, and those behind it while each
is the model's own choice and as sure as its authors ask for (Fast-dLLM, 2505.22618).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np

from cinnabar.engine.branches.constraint import BranchConstraint, Floats, Grounded, Pair
from cinnabar.engine.branches.forks import Fork, Forks, read_branches
from cinnabar.engine.branches.stretches import ValueTokens
from cinnabar.engine.diffusion.settings import settings_for
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.work_time import check_time, part, tell_share

#: Below this share of the model's mass, somewhere in a copied text, the value is written freely too, in so many tokens:
#: of one that goes on the model is wording, not putting together.
COMPOSED_SHARE, COMPOSED_TOKENS = 0.05, 48
#: The most tokens of a value, and items of a list.
VALUE_TOKENS, LIST_ITEMS = 400, 200
#: The next item of a list is sought within so many times the usual way between two items so far, at first within so
#: many bytes, if the places there have this part of the model's mass: it skips items where nothing holds it.
ITEM_FURTHER, ITEM_NEAR, ITEM_MEANT = 2, 400, 0.1
#: The most tokens of a pass.
PASS = 256
#: The fewest tokens of a common beginning that are worth a pass.
_LEAST = 6
#: The tokens that a pass reads at most for drafts, on a CPU and on other devices, or where drafts are likely, and the
#: most of one branch.
DRAFTED, DRAFTED_ON_DEVICE, LONGEST_DRAFT = 16, 64, 12


@dataclass(eq=False)
class Branch:
    """The answer to one head.

    head: its tokens up to the opening quote. item: a number of its item in a list, -1 outside of any. null: the share
    of the tokens that say that there is no value. final: the state of the constraint at the end of the value, None if
    it has none. share: the product of the shares of all moves; mass: the smallest share of what was allowed, 1 where
    nothing was weighed. tokens, most: how many were and may be written. whole: whether all tokens are read, also those
    that nothing else is left than to write. otherwise: what may be written freely where copying leaves little of the
    model's mass, and `free` the branch that does so. tried: a text that may well be the value, the first draft.
    """

    head: list[int]
    constraint: BranchConstraint
    item: int = -1
    most: int = VALUE_TOKENS
    whole: bool = False
    otherwise: Callable[[], BranchConstraint] | None = None
    free: Branch | None = None
    tried: bytes = b""
    null: float = 0.0
    final: object | None = None
    share: float = 1.0
    mass: float = 1.0
    tokens: int = 0
    done: bool = False
    fork: Fork = field(default_factory=lambda: Fork(-1))
    state: object = None
    ahead: list[int] = field(default_factory=list)

    def advance(self, shares: Floats) -> None:
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
        settled = None if self.whole else self.constraint.only_end(self.state)
        if settled is not None:
            self.final, self.done = settled, True


@dataclass(frozen=True, slots=True)
class BranchItem:
    """An item of a list: the pairs of the stretch that begins it, and the share of its moves."""

    pairs: tuple[Pair, ...]
    share: float


@dataclass(eq=False)
class BranchListing:
    """The items of a list behind its head, each behind the one before, and the share of there being `none`."""

    head: list[int]
    grounded: Grounded
    items: list[BranchItem] = field(default_factory=list)
    none: float = 1.0


@dataclass(frozen=True, slots=True)
class BranchPiece:
    """Tokens that a branch reads next, and how many of them it asks for the shares of the vocabulary behind.

    A model that writes in blocks tells, behind the last one, the shares of all positions that are left of the block.
    """

    forks: Forks
    fork: Fork
    tokens: Sequence[int]
    wanted: int


#: Yields what is read next, is sent the shares [V] behind its last tokens, and returns those behind the last of all.
Steps = Generator[BranchPiece, list[Floats], Floats | None]


class BranchDecoder:
    """Decodes branches of documents with one model. `passes` and `rows` count what was computed behind documents."""

    def __init__(self, decoder: Decoder, tokens: ValueTokens, quote: int) -> None:
        """quote: the token of a blank and a quote, which opens a value."""
        self._decoder, self._tokens, self._quote = decoder, tokens, quote
        self._mask = decoder.traits.mask if decoder.traits.noise == "mask" else None
        self._drafted = DRAFTED if decoder.device.type == "cpu" else DRAFTED_ON_DEVICE
        if self._mask is not None:
            self._drafted = 0  # its own passes draft
        self._threshold = settings_for(decoder.traits, "medium").threshold
        self._room = 0
        self._added: list[Steps] = []
        self.passes = 0

    def decode(self, asked: Sequence[tuple[Forks, Sequence[Branch]]], likely: bool = False) -> None:
        """Gives every branch of these documents its answer; likely: whether what was `tried` most likely is it."""
        with part(0, 0.1):
            self._run([steps for forks, branches in asked for steps in self._stems(forks, branches)], 0)
        with part(0.1, 1):
            drafted = DRAFTED_ON_DEVICE if likely and self._drafted else self._drafted
            self._run([self._fill(forks, branch) for forks, branches in asked for branch in branches], drafted)

    def list_items(self, asked: Sequence[tuple[Forks, BranchListing]]) -> None:
        """Gives every list of these documents its items."""
        self._run([self._list(forks, listing) for forks, listing in asked], self._drafted)

    def _run(self, begun: Sequence[Steps], drafted: int) -> None:
        """Takes all steps together, those that are added on the way too; drafted: the most drafted tokens of a pass."""
        waiting: list[tuple[Steps, BranchPiece]] = []
        self._added = list(begun)
        total, share = 0, 0.0
        while self._added or waiting:
            self._room = min(drafted // (len(self._added) + len(waiting)), LONGEST_DRAFT)
            total += len(self._added)
            begin, self._added = self._added, []
            waiting += [(steps, self._whole(piece)) for steps in begin if (piece := next(steps, None)) is not None]
            if not waiting:
                continue
            share = max(share, 1 - len(waiting) / total)
            tell_share(share)
            left: list[tuple[Steps, BranchPiece]] = []
            for some in _passes(waiting):
                for (steps, _), shares in zip(some, self._read([piece for _, piece in some]), strict=True):
                    with suppress(StopIteration):
                        left.append((steps, self._whole(steps.send(shares))))
            waiting = left

    def _stems(self, forks: Forks, branches: Sequence[Branch]) -> list[Steps]:
        """Opens a fork for each branch, and returns what reads the common beginnings of heads, which is read once.

        Heads of one item begin alike.
        """
        groups: dict[int, list[Branch]] = {}
        for branch in branches:
            groups.setdefault(branch.item, []).append(branch)
        steps: list[Steps] = []
        for item, own in groups.items():
            # What the first and the last one in order have in common, all have.
            heads = sorted(branch.head for branch in own)
            pairs = enumerate(zip(heads[0], heads[-1], strict=False))
            same = next((at for at, (one, other) in pairs if one != other), len(heads[0]))
            if item >= 0 and len(own) > 1 and same >= _LEAST and self._mask is None:
                steps.append(self._stem(forks, own, min(same, *(len(branch.head) - 1 for branch in own))))
                continue
            for branch in own:
                branch.fork = forks.open()
        return steps

    def _stem(self, forks: Forks, branches: Sequence[Branch], same: int) -> Steps:
        stem = forks.open()
        yield BranchPiece(forks, stem, branches[0].head[:same], 0)
        for branch in branches:
            branch.fork = forks.open(stem)
        return None

    def _fill(self, forks: Forks, branch: Branch) -> Steps:
        """Reads the rest of a branch's head and writes its answer."""
        draft = self._tokens.spell(branch.tried, self._room)
        opening = [*branch.head[branch.fork.length :], self._quote, *draft]
        null, first = yield from self._open(forks, branch.fork, opening, len(draft))
        branch.null = round(float(null[self._tokens.null].sum()), 4)
        branch.state = branch.constraint.first()
        branch.final = branch.constraint.only_end(branch.state)
        if branch.final is None:
            # Rows of its own: the others of the pass are not kept with them.
            own = [one.copy() for one in first]
            del null, first
            yield from self._write(forks, branch, own, draft)
        return None

    def _open(
        self, forks: Forks, fork: Fork, tokens: Sequence[int], drafted: int = 0
    ) -> Generator[BranchPiece, list[Floats], tuple[Floats, list[Floats]]]:
        """Reads tokens, of which the last one before a draft opens a value or a list.

        Returns the shares of that token, and those behind it and each of the draft.
        """
        if self._mask is None:
            last, *behind = yield BranchPiece(forks, fork, tokens, 2 + drafted)
            return last, behind
        (last, *_) = yield BranchPiece(forks, fork, tokens[:-1], 1)
        return last, (yield BranchPiece(forks, fork, tokens[-1:], 1))

    def _write(self, forks: Forks, branch: Branch, first: list[Floats], draft: Sequence[int] = ()) -> Steps:
        """Writes a branch's value behind its head; `first` are the shares of its first tokens, of a draft too."""
        begun = min(branch.fork.length - len(draft), branch.fork.opened), len(branch.fork.text)
        own, taken = first, 0
        while True:
            branch.advance(own[taken])
            if branch.otherwise is not None and branch.free is None and _is_doubted(branch):
                branch.free = Branch(branch.head, branch.otherwise(), most=COMPOSED_TOKENS, null=branch.null)
                branch.free.state = branch.free.constraint.first()
                branch.free.fork = forks.open(branch.fork, begun)
                self._added.append(self._write(forks, branch.free, first))
            if not branch.done and taken < len(draft) and branch.ahead == [draft[taken]]:
                taken += 1
                continue
            if not branch.done and self._mask is not None and self._is_sure(branch, own[taken : taken + 2]):
                branch.fork.text += branch.ahead
                taken += 1
                continue
            if draft:
                branch.fork.length -= len(draft) - taken
            if branch.done:
                return own[taken]
            draft = branch.constraint.draft(branch.state, self._room)
            own = yield BranchPiece(forks, branch.fork, [*branch.ahead, *draft], 1 + len(draft))
            taken = 0

    def _is_sure(self, branch: Branch, shares: Sequence[Floats]) -> bool:
        """Returns whether the next position's token is taken in the same pass, as its own shares and the next's say."""
        if len(shares) < 2 or branch.ahead != [int(shares[0].argmax())]:
            return False
        move = branch.constraint.move(branch.state, shares[1])
        return move is not None and move.share * move.mass >= self._threshold

    def _list(self, forks: Forks, listing: BranchListing) -> Steps:
        """Writes the items of a list."""
        fork, quote, grounded = forks.open(), self._tokens.token[b'"'], listing.grounded
        opening = self._tokens.token.get(b' ["', self._tokens.token.get(b'["', quote))
        empty, first = yield from self._open(forks, fork, [*listing.head, opening])
        none = np.concatenate([self._tokens.no_items, self._tokens.null])
        listing.none = round(float(empty[none].sum()), 4)
        state: tuple[Pair, ...] = grounded.first()
        while first and state and listing.none < 0.5 and len(listing.items) < LIST_ITEMS:
            near, share = _near(listing, state, first[0])
            begun = min(fork.length, fork.opened), len(fork.text)
            branch = Branch([], grounded, fork=fork, state=near, whole=True)
            shares = yield from self._write(forks, branch, first)
            if len(near) < len(state) and branch.mass < ITEM_MEANT:
                # Far and near ones may begin alike, which only the later tokens tell.
                anywhere = Branch([], grounded, fork=forks.open(fork, begun), state=state, whole=True)
                behind = yield from self._write(forks, anywhere, first)
                if anywhere.final and branch.mass < ITEM_MEANT * anywhere.mass:
                    branch, fork, shares, share = anywhere, anywhere.fork, behind, 1.0
            if not isinstance(branch.final, tuple) or not branch.final or shares is None:
                break
            listing.items.append(BranchItem(branch.final, branch.share * share))
            last = min(end for _, end in branch.final)
            state = tuple(pair for pair in grounded.first() if pair[0] >= last)
            first = yield from self._goes_on(forks, fork, shares)
        return None

    def _goes_on(
        self, forks: Forks, fork: Fork, shares: Floats
    ) -> Generator[BranchPiece, list[Floats], list[Floats]]:
        """Returns the shares of the first tokens of the next item, none if the list ends behind this one."""
        tokens = self._tokens
        on, ends = float(shares[tokens.goes_on].sum()), float(shares[tokens.ends_list].sum())
        bare = float(shares[tokens.token[b'"']])
        comma = [tokens.token[b'",']]
        if bare > max(on, ends):
            (shares, *_) = yield BranchPiece(forks, fork, [tokens.token[b'"']], 1)
            on, ends = float(shares[tokens.comma].sum()), float(shares[tokens.bracket].sum())
            comma = [tokens.token[b","]]
        if on <= ends:
            return []
        return (yield BranchPiece(forks, fork, [*comma, self._quote], 1))

    def _whole(self, piece: BranchPiece) -> BranchPiece:
        """Returns what is read for a piece: of a model that writes in blocks, all that is not kept, then masks."""
        if self._mask is None:
            return piece
        fork, traits = piece.fork, self._decoder.traits
        fork.text += piece.tokens
        fork.length = max(min(fork.length, fork.opened) - int(traits.shift), 0)
        fork.opened = len(fork.text) // traits.block * traits.block
        masks = fork.opened + traits.block - len(fork.text)
        return BranchPiece(piece.forks, fork, [*fork.text[fork.length :], *[self._mask] * masks], masks)

    def _read(self, pieces: Sequence[BranchPiece]) -> list[list[Floats]]:
        """Reads tokens of branches; returns the shares of the vocabulary [V] that each asked for."""
        check_time()
        self.passes += 1
        hidden = read_branches(self._decoder, [(piece.forks, piece.fork, piece.tokens) for piece in pieces])
        ends = np.cumsum([len(piece.tokens) for piece in pieces])
        # What a block leaves open is told at its masks, or before each of them.
        ends -= int(self._mask is not None and self._decoder.traits.shift)
        rows = [at for end, one in zip(ends.tolist(), pieces, strict=True) for at in range(end - one.wanted, end)]
        if not rows:
            return [[] for _ in pieces]
        shares = iter(self._decoder.logits(hidden[rows]).float().softmax(-1).cpu().numpy())
        return [list(islice(shares, piece.wanted)) for piece in pieces]


def _passes(waiting: Sequence[tuple[Steps, BranchPiece]]) -> Iterator[list[tuple[Steps, BranchPiece]]]:
    """Yields what is read in one pass after the other: document by document, and so many tokens at most."""
    documents = {id(piece.forks): at for at, (_, piece) in reversed([*enumerate(waiting)])}
    some, tokens = list[tuple[Steps, BranchPiece]](), 0
    for one in sorted(waiting, key=lambda one: documents[id(one[1].forks)]):
        if some and tokens + len(one[1].tokens) > PASS:
            yield some
            some, tokens = [], 0
        some.append(one)
        tokens += len(one[1].tokens)
    yield some


def _near(listing: BranchListing, state: tuple[Pair, ...], shares: Floats) -> tuple[tuple[Pair, ...], float]:
    """Returns the places where the next item may begin, and their part of the model's mass for all of them.

    They are those near the item before, if the model thinks of them too.
    """
    begins = [min(item.pairs)[0] for item in listing.items]
    if not begins:
        return state, 1.0
    gaps = [two - one for one, two in pairwise(begins)] or [ITEM_NEAR]
    reach = begins[-1] + ITEM_FURTHER * statistics.median_high(gaps)
    near = tuple(pair for pair in state if pair[0] <= reach)
    all_moves, near_moves = listing.grounded.move(state, shares), listing.grounded.move(near, shares)
    if all_moves is None or near_moves is None or not all_moves.mass:
        return state, 1.0
    part = min(1.0, near_moves.mass / all_moves.mass)
    return (near, part) if part >= ITEM_MEANT else (state, 1.0)


def _is_doubted(branch: Branch) -> bool:
    """Returns whether copying left little, or nothing, of the model's mass."""
    return branch.null < 0.5 and (branch.mass < COMPOSED_SHARE or (branch.done and branch.final is None))


def logarithm(share: float) -> float:
    """Returns the natural logarithm of a share, bounded below."""
    return math.log(max(share, 1e-9))
