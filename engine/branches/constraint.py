"""A branch may write a stretch of the document, one of some texts, or any text that a slot accepts.

A state of a grounded value is the set of places that it may have reached; following a token never needs an undo, for
states do not change. All shares are of the model's softmax over the whole vocabulary.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cinnabar.engine.branches.stretches import Stretches, ValueTokens
from cinnabar.engine.lifting import Ints
from cinnabar.schemas.automata.automaton import Automaton

#: The tokens that are looked at, the likeliest first, where an automaton cannot list what it allows.
LOOKED_AT_TOKENS = 512
#: The share of all tokens below which none of them is looked at any more.
LOST_SHARE = 1e-5
#: The bytes of a text that a draft is made of, and the fewest and the most of a written text that are looked for.
DRAFT_BYTES, FEWEST_WRITTEN, MOST_WRITTEN = 80, 2, 16
#: The most bytes of a text that is copied.
LONGEST_COPY = 1200
Floats = npt.NDArray[np.float32]
#: Places of a stretch: its begin, and where it is now.
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Move:
    """What a branch does next: it writes `token`, or ends if there is none.

    state: behind the move. share: of this move among those that are allowed. mass: the share of all allowed moves.
    """

    token: int | None
    state: object
    share: float
    mass: float


class BranchConstraint(Protocol):
    """The texts that a branch may write."""

    def first(self) -> object:
        """Returns the state before the first token."""
        ...

    def only_end(self, state: object) -> object | None:
        """Returns the final state if only one text is left, None if there is a choice."""
        ...

    def move(self, state: object, shares: Floats) -> Move | None:
        """Returns the best move given the model's shares of all tokens [V]; None if no move is allowed."""
        ...

    def draft(self, state: object, many: int) -> list[int]:
        """Returns tokens, so many at most, with which the text may well go on; none where nobody knows."""
        ...


class Grounded:
    """Stretches of a document: any that begin and end at borders of words, or those that are given.

    given: for each begin the places at which the stretch may end; None for any within `borders`. taken: decides late
    whether a stretch may end.
    """

    def __init__(
        self,
        stretches: Stretches,
        tokens: ValueTokens,
        given: Mapping[int, frozenset[int]] | None = None,
        within: tuple[int, int] | None = None,
        taken: Callable[[int, int], bool] | None = None,
    ) -> None:
        self._stretches, self._tokens, self._given, self._taken = stretches, tokens, given, taken
        begins: Iterable[int] = sorted(given) if given is not None else stretches.begins
        self._stop = len(stretches.written)
        if within is not None:
            known = list(begins)
            begins = known[bisect_left(known, within[0]) : bisect_left(known, within[1])]
            self._stop = within[1]
        self._first = tuple((begin, begin) for begin in begins)
        self._moves: dict[tuple[Pair, ...], tuple[Ints, list[tuple[Pair, ...]], list[tuple[Pair, ...]]]] = {}

    def first(self) -> tuple[Pair, ...]:
        """Returns all begins."""
        return self._first

    def ends(self, begin: int, at: int) -> bool:
        """Returns whether the stretch between these places is a whole value."""
        if at == begin or at > self._stop:
            return False
        allowed = at in self._stretches.ends if self._given is None else at in self._given[begin]
        return allowed and (self._taken is None or self._taken(begin, at))

    def only_end(self, state: object) -> tuple[Pair, ...] | None:
        """Returns the pairs at their end if all that are left go on with one text."""
        assert isinstance(state, tuple)
        if self._given is None or not state:
            return None
        left, final = set[bytes](), list[Pair]()
        for begin, at in state:
            ends = [end for end in self._given[begin] if end >= at]
            if len(ends) != 1:
                return None
            left.add(self._stretches.written[at : ends[0]])
            final.append((begin, ends[0]))
        return tuple(final) if len(left) == 1 else None

    def move(self, state: object, shares: Floats) -> Move | None:
        """Returns the likeliest token that goes on, or the end if its tokens together are likelier."""
        assert isinstance(state, tuple)
        tokens, targets, ended = self._moves_from(state)
        if not len(tokens):
            return None
        own = shares[tokens]
        # The tokens that end a value count together: those of one final state stand side by side.
        going = len(targets)
        total = float(own.sum())
        ends = np.array([own[at] for at in range(going, len(tokens))], np.float32)
        best = int(own[:going].argmax()) if going else -1
        end = float(ends.sum()) if len(ends) else 0.0
        if ended and (best < 0 or end >= own[best]):
            final = ended[int(ends.argmax())]
            return Move(None, final, _ratio(end, total, going == 0), total)
        return Move(int(tokens[best]), targets[best], _ratio(float(own[best]), total, len(tokens) == 1), total)

    def draft(self, state: object, many: int) -> list[int]:
        """Returns the document's own next tokens at the first place that is left; see `BranchConstraint`."""
        assert isinstance(state, tuple)
        if not state:
            return []
        (begin, at), *_ = state
        stop = min(self._stop, begin + LONGEST_COPY) if self._given is None else max(self._given[begin])
        return self._tokens.spell(self._stretches.written[at : min(stop, at + DRAFT_BYTES)], many)

    def _moves_from(self, state: tuple[Pair, ...]) -> tuple[Ints, list[tuple[Pair, ...]], list[tuple[Pair, ...]]]:
        """Returns the tokens that go on, then those that end; the states of the former, and the final ones."""
        known = self._moves.get(state)
        if known is not None:
            return known
        written, texts = self._stretches.written, self._tokens
        on: dict[int, list[Pair]] = {}
        closed: dict[int, list[Pair]] = {}
        for begin, at in state:
            limit = min(self._stop, begin + LONGEST_COPY) if self._given is None else max(self._given[begin])
            for token, behind in self._stretches.edges(at):
                if behind <= limit:
                    on.setdefault(token, []).append((begin, behind))
            for size in range(min(texts.longest_closing, limit - at) + 1):
                closing = texts.closing.get(written[at : at + size])
                if closing is not None and self.ends(begin, at + size):
                    for token in closing.tolist():
                        closed.setdefault(token, []).append((begin, at + size))
        tokens = np.array([*on, *closed], np.int64)
        made = tokens, [tuple(pairs) for pairs in on.values()], [tuple(pairs) for pairs in closed.values()]
        self._moves[state] = made
        return made


class WrittenText:
    """Any text that an automaton accepts, written within quotes; the state is the automaton's, and the text so far.

    automaton: of the canonical JSON texts of strings, quotes included. source: lines that it may well be put together
    from.
    """

    def __init__(self, automaton: Automaton, tokens: ValueTokens, source: bytes = b"") -> None:
        self._automaton, self._tokens, self._source = automaton, tokens, source

    def first(self) -> tuple[int, bytes]:
        """Returns the state behind the opening quote; -1 if no string is accepted."""
        return self._automaton.run(b'"'), b""

    def only_end(self, state: object) -> object | None:  # noqa: ARG002, as in the protocol
        """Returns None: what is left to write is not looked for."""
        return None

    def draft(self, state: object, many: int) -> list[int]:
        """Returns what goes on in the source behind the last words of the text."""
        assert isinstance(state, tuple)
        _, text = state
        for size in range(min(len(text), MOST_WRITTEN) if many else 0, FEWEST_WRITTEN - 1, -1):
            at = self._source.find(text[-size:])
            if at >= 0:
                line, _, _ = self._source[at + size : at + size + DRAFT_BYTES].partition(b"\n")
                return self._tokens.spell(line, many)
        return []

    def move(self, state: object, shares: Floats) -> Move | None:
        """Returns the likeliest move among the likeliest tokens."""
        assert isinstance(state, tuple)
        at, text = state
        if at < 0 or len(text) > LONGEST_COPY:
            return None
        many = min(LOOKED_AT_TOKENS, len(shares) - 1)
        likely = np.argpartition(shares, -many)[-many:]
        likely = likely[np.argsort(-shares[likely], kind="stable")]
        total = end = 0.0
        best: tuple[float, int, tuple[int, bytes]] | None = None
        final, unseen = text, 1.0
        for token in likely.tolist():
            if unseen < LOST_SHARE and (end or best):
                break
            unseen -= float(shares[token])
            spelled = self._tokens.texts.get(token)
            if spelled is None:
                continue
            before, quote, _ = spelled.partition(b'"')
            if quote and token in self._closing_tokens(before):
                behind = self._automaton.run(before + b'"', at)
                if behind >= 0 and self._automaton.accepting[behind]:
                    if not end:
                        final = text + before
                    end += float(shares[token])
                    total += float(shares[token])
                continue
            behind = self._automaton.run(spelled, at)
            if behind >= 0:
                total += float(shares[token])
                if best is None:
                    best = float(shares[token]), token, (behind, text + spelled)
        if end and (best is None or end >= best[0]):
            return Move(None, (at, final), _ratio(end, total, best is None), total)
        if best is None:
            return None
        return Move(best[1], best[2], _ratio(best[0], total, alone=False), total)

    def _closing_tokens(self, before: bytes) -> frozenset[int]:
        closing = self._tokens.closing.get(before)
        return frozenset() if closing is None else frozenset(closing.tolist())


class OptionTexts(Grounded):
    """One of some texts, written within quotes; no token goes over the border of two."""

    def __init__(self, texts: Iterable[bytes], tokens: ValueTokens) -> None:
        joined, given = bytearray(), dict[int, frozenset[int]]()
        for text in texts:
            given[len(joined)] = frozenset({len(joined) + len(text)})
            joined += text + b"\x00"
        stretches = Stretches("", tokens)
        stretches.written = bytes(joined)
        super().__init__(stretches, tokens, given)
        self._begins = sorted(given)

    def number(self, begin: int) -> int:
        """Returns the number of the text that begins at this place."""
        return bisect_right(self._begins, begin) - 1


def _ratio(part: float, whole: float, alone: bool) -> float:
    """Returns the share of a part, rounded to four places: the last bits of a product decide nothing."""
    return 1.0 if alone or whole <= 0 else round(min(part / whole, 1.0), 4)
