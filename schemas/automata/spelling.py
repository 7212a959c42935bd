"""Conversion of automata over code points to automata over the canonical JSON spelling of a string's content.

Canonical is UTF-8 as it is, with a backslash only before `"` and `\\`. Control characters below U+0020 are
`\\b \\f \\n \\r \\t` or `\\u00xx` in lower-case hexadecimal. Surrogates are excluded (RFC 8259; RFC 8785 3.2.2.2).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.automaton import Automaton, from_dfa
from cinnabar.schemas.automata.minimise import MAX_RAW_STATES, merge_columns, nearest, reverse_edges

LAST = 0x10FFFF
# The most cells of a table before it is minimised, which takes some 60 bytes for each.
MAX_RAW_CELLS = 12_000_000
SHORT_ESCAPES = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}


class Classifier:
    """An automaton that reads the canonical spelling of one code point and returns its class.

    `starts` are the first code points of consecutive ranges (the first is 0), `kinds` the class of each range.
    `table`: [N, 256] int32; -1 no transition, 0 .. K-1 the class that was read, K + n continue at node n; node 0 is
    the start.
    """

    def __init__(self, starts: Sequence[int], kinds: Sequence[int]) -> None:
        self._starts, self._kinds = list(starts), list(kinds)
        self.classes = max(kinds, default=-1) + 1
        self._nodes: dict[tuple[int, ...], int] = {}
        self._rows: list[tuple[int, ...]] = [()]
        self._whole: dict[tuple[int, int], int] = {}
        self._rows[0] = self._root()
        self.table = np.array(self._rows, np.int32)

    def _node(self, row: dict[int, int]) -> int:
        """The node with these transitions, shared with an equal one made before."""
        key = tuple(row.get(byte, -1) for byte in range(256))
        if key not in self._nodes:
            self._nodes[key] = len(self._rows)
            self._rows.append(key)
        return self.classes + self._nodes[key]

    def _kind(self, code: int) -> int:
        return self._kinds[bisect_right(self._starts, code) - 1]

    def _block(self, low: int, trailing: int) -> int:
        """The target after the lead bytes of the 64 ** trailing code points from `low`."""
        if not trailing:
            return self._kind(low)
        first = bisect_right(self._starts, low) - 1
        alike = first + 1 == len(self._starts) or self._starts[first + 1] >= low + 64**trailing
        if alike and (self._kinds[first], trailing) in self._whole:
            return self._whole[self._kinds[first], trailing]
        step = 64 ** (trailing - 1)
        if alike:
            target = self._block(low, trailing - 1)
            row = {0x80 + i: target for i in range(64)}
            return self._whole.setdefault((self._kinds[first], trailing), self._node(row))
        return self._node({0x80 + i: self._block(low + i * step, trailing - 1) for i in range(64)})

    def _root(self) -> tuple[int, ...]:
        row = {code: self._kind(code) for code in range(0x20, 0x80) if code not in SHORT_ESCAPES}
        for lead in range(0xC2, 0xE0):
            row[lead] = self._block((lead & 0x1F) << 6, 1)
        for lead in range(0xE0, 0xF0):
            row[lead] = self._lead((lead & 0x0F) << 12, 2)
        for lead in range(0xF0, 0xF5):
            row[lead] = self._lead((lead & 0x07) << 18, 3)
        row[0x5C] = self._escape()
        return tuple(row.get(byte, -1) for byte in range(256))

    def _lead(self, low: int, trailing: int) -> int:
        """The target after a lead byte; overlong forms, surrogates and code points past `LAST` are excluded."""
        shortest, step = (0x800, 64) if trailing == 2 else (0x10000, 4096)
        if shortest <= low and low + 64**trailing - 1 <= LAST and low != 0xD000:
            return self._block(low, trailing)
        firsts = [(0x80 + i, low + i * step) for i in range(64)]
        return self._node(
            {
                byte: self._block(code, trailing - 1)
                for byte, code in firsts
                if shortest <= code <= LAST and not 0xD800 <= code <= 0xDFFF
            }
        )

    def _escape(self) -> int:
        long = {code: self._kind(code) for code in range(0x20) if code not in SHORT_ESCAPES}
        last = [
            self._node({ord(f"{c & 15:x}"): kind for c, kind in long.items() if c >> 4 == high})
            for high in (0, 1)
        ]
        zero = self._node({ord("0"): last[0], ord("1"): last[1]})
        moves = {ord(letter): self._kind(code) for code, letter in SHORT_ESCAPES.items()}
        moves[ord("u")] = self._node({ord("0"): self._node({ord("0"): zero})})
        return self._node(moves)


@lru_cache(maxsize=256)
def _classifier(starts: tuple[int, ...], kinds: tuple[int, ...]) -> tuple[npt.NDArray[np.int32], ...]:
    """The nodes by byte class, the class of each byte, and the classes read from each node as [N, K]."""
    classifier = Classifier(starts, kinds)
    table, classes = classifier.table, classifier.classes
    reach = np.zeros((len(table), classes + len(table) + 1), np.int32)
    # A node leads to deeper nodes or to ones made later, so a few passes settle it.
    np.put_along_axis(reach, np.where(table < 0, reach.shape[1] - 1, table), 1, axis=1)
    direct, inner = reach[:, :classes], reach[:, classes:-1]
    read = direct
    while True:
        grown = np.minimum(direct + inner @ read, 1)
        if (grown == read).all():
            return (*merge_columns(table, np.arange(256, dtype=np.int32)), read)
        read = grown


def lift(
    table: npt.ArrayLike, starts: Sequence[int], kinds: Sequence[int], accepting: npt.ArrayLike
) -> Automaton:
    """The automaton over canonical spellings that corresponds to a deterministic one over code points.

    table: [S, K] integers, the next state by code point class, -1 for no transition; state 0 is the start.
    starts, kinds: range i runs from starts[i] up to the next start, exclusive, and has class kinds[i].
    Raises TooLarge if a table before or after minimisation is too large.
    """
    moves, ends = np.asarray(table, np.int32), np.asarray(accepting, np.bool_)
    least = nearest(ends, reverse_edges(moves))
    moves = np.where((moves >= 0) & (least[moves] >= 0), moves, -1).astype(np.int32)
    nodes, byte_class, read = _classifier(tuple(starts), tuple(kinds))
    # The pair (s, n) is "in state s at node n of the spelling"; node 0 is between two code points. Most pairs of a
    # large class lead nowhere and are not made.
    classes = moves.shape[1]
    alive = (moves >= 0).astype(np.int32) @ read[:, :classes].T > 0
    alive[:, 0] = True
    state, node = np.nonzero(alive)
    if len(state) > MAX_RAW_STATES or len(state) * nodes.shape[1] > MAX_RAW_CELLS:
        raise TooLarge(len(state), min(MAX_RAW_STATES, MAX_RAW_CELLS // nodes.shape[1]))
    number = np.where(alive, np.cumsum(alive).reshape(alive.shape) - 1, -1).astype(np.int32)
    target = np.empty((len(moves), classes + nodes.shape[0] + 1), np.int32)
    target[:, :classes] = np.where(moves < 0, -1, number[moves, 0])
    target[:, classes:-1] = number
    target[:, -1] = -1
    final = ends[state] & (node == 0)
    return from_dfa(target[state[:, None], nodes[node]], byte_class, final)
