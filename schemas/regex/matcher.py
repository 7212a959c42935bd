"""Exact matching of any ECMA-262 pattern against one text, without an automaton.

A set of positions in the text (before, between and behind its code points) is one integer with bit i for position i. A
part of a pattern maps its start positions to its end positions. Counted classes take logarithmic time, lookarounds are
sets of positions themselves, and nothing is tried twice, so no pattern takes exponential time.
"""

from __future__ import annotations

from bisect import bisect_right

from cinnabar.schemas.regex.codepoints import WORD, Ranges
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree

# For each repeat (by its id), the positions from which it was already followed within one enclosing loop.
Seen = dict[int, int]


def matches_somewhere(tree: Tree, text: str) -> bool:
    """Whether the tree matches anywhere in the text, as for JSON Schema's `pattern`."""
    places = _TextPositions(text)
    return places.follow(tree, places.all, False, {}) != 0


class _TextPositions:
    """The positions of one text, and the effect of patterns on sets of them."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.all = (1 << self.length + 1) - 1
        where: dict[str, list[int]] = {}
        for place, char in enumerate(text):
            where.setdefault(char, []).append(place)
        self.before = {ord(char): _bits(places, self.length) for char, places in where.items()}
        self.classes: dict[Ranges, int] = {}
        self.looks: dict[int, int] = {}

    def before_any(self, ranges: Ranges) -> int:
        """The positions before a code point of these ranges."""
        places_before = self.classes.get(ranges)
        if places_before is None:
            firsts, places_before = [first for first, _ in ranges], 0
            for code, places in self.before.items():
                at = bisect_right(firsts, code) - 1
                if at >= 0 and code <= ranges[at][1]:
                    places_before |= places
            self.classes[ranges] = places_before
        return places_before

    def follow(self, tree: Tree, places: int, back: bool, seen: Seen) -> int:
        """The ends of the matches that start in `places`; with `back`, the starts of those that end there."""
        if not places:
            return 0
        match tree:
            case Chars(ranges):
                return self._repeat_class(ranges, 1, 1, places, back)
            case Sequence(parts):
                for part in reversed(parts) if back else parts:
                    places = self.follow(part, places, back, seen)
                return places
            case Choice(branches):
                ends = 0
                for branch in branches:
                    ends |= self.follow(branch, places, back, seen)
                return ends
            case Repeat(Chars(ranges), least, most):
                return self._repeat_class(ranges, least, most, places, back)
            case Repeat():
                return self._repeat(tree, places, back, seen)
            case Look():
                return places & self._look(tree)
            case Edge(kind):
                return places & self._edge(kind)

    def _repeat_class(self, ranges: Ranges, least: int, most: int | None, places: int, back: bool) -> int:
        """The positions after a counted class; each added run is as long as all runs before it together."""
        one = self.before_any(ranges) << back
        if least > self.length:
            return 0
        if least:
            places = _shift(places & _run(one, least, back), least, back)
        left, done = self.length if most is None else min(most - least, self.length), 0
        while done < left:
            more = min(done + 1, left - done)
            grown = places | _shift(places & _run(one, more, back), more, back)
            if grown == places:
                break
            places, done = grown, done + more
        return places

    def _repeat(self, tree: Repeat, places: int, back: bool, seen: Seen) -> int:
        before = seen.get(id(tree), 0)
        places &= ~before
        start = places
        for _ in range(tree.least - 1):
            reached = self.follow(tree.body, places, back, {})
            if reached == places:  # It then stays the same after any number of turns.
                seen[id(tree)] = before | start
                return places
            places = reached
        # Further turns are followed from new positions only; the others are already in the result.
        reached = 0 if tree.least else places
        turns = None if tree.most is None else tree.most - max(tree.least, 1) + 1
        inner: Seen = {}
        while places and turns != 0:
            places = self.follow(tree.body, places, back, inner) & ~reached
            reached |= places
            turns = None if turns is None else turns - 1
        closed = tree.most is None and tree.least <= 1
        seen[id(tree)] = before | start | (reached if closed else 0)
        return reached

    def _look(self, look: Look) -> int:
        """The positions at which a lookahead or a lookbehind holds."""
        holding = self.looks.get(id(look))
        if holding is None:
            holding = self.follow(look.body, self.all, look.ahead, {})
            holding = self.all & ~holding if look.negative else holding
            self.looks[id(look)] = holding
        return holding

    def _edge(self, kind: str) -> int:
        match kind:
            case "^":
                return 1
            case "$":
                return 1 << self.length
        word = self.before_any(WORD)
        border = word ^ word << 1
        return border if kind == "b" else self.all & ~border


def _bits(places: list[int], length: int) -> int:
    """The number with these bits, in time linear in its length."""
    out = bytearray(length // 8 + 1)
    for place in places:
        out[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(out, "little")


def _shift(places: int, steps: int, back: bool) -> int:
    return places >> steps if back else places << steps


def _run(one: int, length: int, back: bool) -> int:
    """The positions from which `length` steps can be taken, each from a position of `one`."""
    run, done = one, 1
    while done < length:
        more = min(done, length - done)
        run &= run << more if back else run >> more
        done += more
    return run
