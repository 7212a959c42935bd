"""The machine of a pattern: nondeterministic over classes of code points, then deterministic.

Assertions are regular too. Anchors and word boundaries look at the code points on either side of a position. A
lookbehind is a machine that runs along from the start of the text. A lookahead is an obligation that a thread carries
until the text has met or broken it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from math import prod

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.automaton import MAX_STATES
from cinnabar.schemas.regex.codepoints import ANY, WORD, Ranges
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree

# A thread is a state and the obligations it carries; an obligation is a lookahead and its body's threads.
Obligation = tuple[int, frozenset["Thread"]]
Thread = tuple[int, frozenset[Obligation]]
Threads = frozenset[Thread]
# The context of a position: the neighbour before it, and the threads of each lookbehind.
Context = tuple[int, tuple[Threads, ...]]

# Neighbours of a position: no code point (start or end of the text), one of a word, another one.
NONE, IN_WORD, OTHER = 0, 1, 2
_FREE: frozenset[Obligation] = frozenset()

# The most work for one pattern; beyond it the subset construction would run for seconds.
MAX_WORK = 2_000_000
# The work of a thread within an obligation, in threads.
_OWED_WORK = 10
# The work of a state that is passed without reading, in threads.
_CLOSING_WORK = 3


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    match tree:
        case Sequence(parts) | Choice(parts):
            for part in parts:
                yield from _nodes(part)
        case Repeat(body, _, _) | Look(body, _, _):
            yield from _nodes(body)


def _partition(sets: list[Ranges]) -> tuple[list[int], list[int], dict[Ranges, int], int]:
    """The coarsest classes of code points for which every set is a union of classes.

    Returns the first code point of each range, the class of each range, the bit mask of classes of each set, and the
    number of classes.
    """
    marks: dict[int, int] = {0: 0}
    for number, ranges in enumerate(sets):
        for first, last in ranges:
            marks[first] = marks.get(first, 0) ^ (1 << number)
            marks[last + 1] = marks.get(last + 1, 0) ^ (1 << number)
    starts: list[int] = []
    kinds: list[int] = []
    seen: dict[int, int] = {}
    member = 0
    for start in sorted(marks):
        member ^= marks[start]
        if start <= ANY[0][1] and (not kinds or kinds[-1] != seen.get(member)):
            starts.append(start)
            kinds.append(seen.setdefault(member, len(seen)))
    masks = {
        ranges: sum(1 << kind for member, kind in seen.items() if member >> number & 1)
        for number, ranges in enumerate(sets)
    }
    return starts, kinds, masks, len(seen)


class Machine:
    """The nondeterministic machine of a pattern, and its simulation thread by thread."""

    def __init__(self, tree: Tree, anywhere: bool) -> None:
        nodes = list(_nodes(tree))
        self.bounded = any(isinstance(n, Edge) and n.kind in "bB" for n in nodes)
        sets = {n.ranges: None for n in nodes if isinstance(n, Chars)} | {ANY: None}
        if self.bounded:
            sets[WORD] = None
        self.starts, self.kinds, self.masks, self.classes = _partition(list(sets))
        self.moves: list[tuple[int, int] | None] = []  # by state: mask of classes, destination
        self.empty_moves: list[list[tuple[int, Edge | Look | None]]] = []
        self.looks: dict[Look, int] = {}
        self.aheads: list[tuple[int, int, bool]] = []  # start, final, negative
        self.behinds: list[tuple[int, int, bool]] = []
        self.final = self._new()
        if anywhere:
            self.moves[self.final] = (self.masks[ANY], self.final)
        self.start = self._build(tree, self.final)
        if anywhere:
            self.start = self._anywhere(self.start)
        self.anywhere = anywhere
        self.work = 0
        # Cached on the instance, so that the caches end with it.
        self.close = cache(self._close)
        self.step_one = cache(self._step_one)

    def _new(self) -> int:
        if len(self.moves) >= MAX_STATES:
            raise TooLarge(len(self.moves), MAX_STATES)
        self.moves.append(None)
        self.empty_moves.append([])
        return len(self.moves) - 1

    def _anywhere(self, start: int) -> int:
        """A state that reads any text before the continuation at `start`."""
        loop, inner = self._new(), self._new()
        self.empty_moves[loop] = [(start, None), (inner, None)]
        self.moves[inner] = (self.masks[ANY], loop)
        return loop

    def _build(self, tree: Tree, after: int) -> int:
        """The state from which the texts of `tree` lead to `after`."""
        match tree:
            case Chars(ranges):
                state = self._new()
                self.moves[state] = (self.masks[ranges], after)
                return state
            case Sequence(parts):
                for part in reversed(parts):
                    after = self._build(part, after)
                return after
            case Choice(branches):
                state = self._new()
                self.empty_moves[state] = [(self._build(branch, after), None) for branch in branches]
                return state
            case Repeat(body, least, most):
                return self._repeat(body, least, most, after)
            case Look():
                self._look(tree)
        state = self._new()
        self.empty_moves[state] = [(after, tree)]
        return state

    def _repeat(self, body: Tree, least: int, most: int | None, after: int) -> int:
        if most is None:
            loop = self._new()
            self.empty_moves[loop] = [(self._build(body, loop), None), (after, None)]
            state = loop
        else:
            state = after
            for _ in range(most - least):
                again = self._new()
                self.empty_moves[again] = [(self._build(body, state), None), (after, None)]
                state = again
        for _ in range(least):
            built = self._build(body, state)
            if built == state:  # the body matches the empty text alone
                break
            state = built
        return state

    def _look(self, look: Look) -> None:
        if look in self.looks:
            return
        final = self._new()
        if look.ahead:
            self.moves[final] = (self.masks[ANY], final)
        start = self._build(look.body, final)
        if look.ahead:
            # A lookahead stands beside its opposite, at number ^ 1.
            self.looks[look] = len(self.aheads)
            self.aheads += [(start, final, look.negative), (start, final, not look.negative)]
        else:
            self.looks[look] = len(self.behinds)
            self.behinds.append((self._anywhere(start), final, look.negative))

    def _neighbour(self, kind: int) -> int:
        return IN_WORD if self.bounded and self.masks[WORD] >> kind & 1 else OTHER

    def _holds(self, edge: Edge, before: int, after: int) -> bool:
        match edge.kind:
            case "^":
                return before == NONE
            case "$":
                return after == NONE
            case _:
                return ((before == IN_WORD) != (after == IN_WORD)) == (edge.kind == "b")

    def _close(self, state: int, context: Context, after: int) -> tuple[Thread, ...]:
        """The threads that reach a move or an end from this state without reading, at a position in the text."""
        threads: dict[Thread, None] = {(state, _FREE): None}
        queue = [(state, _FREE)]
        for at, owed in queue:
            self.work += _CLOSING_WORK
            for target, condition in self.empty_moves[at]:
                options: Iterable[frozenset[Obligation]] = (_FREE,)
                if isinstance(condition, Edge):
                    if not self._holds(condition, context[0], after):
                        continue
                elif isinstance(condition, Look) and condition.ahead:
                    number = self.looks[condition]
                    options = (frozenset({(number, frozenset({(self.aheads[number][0], _FREE)}))}),)
                elif isinstance(condition, Look):
                    options = self._behind(condition, context, after)
                for option in options:
                    thread = target, owed | option
                    if thread not in threads:
                        threads[thread] = None
                        queue.append(thread)
        if self.work > MAX_WORK:
            raise TooLarge(self.work, MAX_WORK)
        return tuple(t for t in threads if self.moves[t[0]] is not None or not self.empty_moves[t[0]])

    def _behind(self, look: Look, context: Context, after: int) -> Iterable[frozenset[Obligation]]:
        """The sets of obligations under which the lookbehind holds here, one for each way to match."""
        number = self.looks[look]
        final = self.behinds[number][1]
        ways = {
            owed | more
            for state, owed in context[1][number]
            for at, more in self.close(state, context, after)
            if at == final
        }
        if not look.negative:
            return ways
        # Each way to match must fail, by the opposite of one of its obligations.
        self.work += prod(map(len, ways))
        if self.work > MAX_WORK:
            raise TooLarge(self.work, MAX_WORK)
        opposites = [[(owed ^ 1, threads) for owed, threads in way] for way in ways]
        return {frozenset(choice) for choice in product(*opposites)}

    def _is_match(self, threads: Threads, final: int, context: Context, after: int) -> bool:
        """Whether a thread is at `final` here without obligations."""
        return any(
            at == final and not owed and not more
            for state, owed in threads
            for at, more in self.close(state, context, after)
        )

    def _accepts(self, threads: Threads, final: int, context: Context) -> bool:
        """Whether a thread is at `final` at the end of the text with all its obligations met."""
        return any(
            at == final and all(self._met(o, context) for o in owed | more)
            for state, owed in threads
            for at, more in self.close(state, context, NONE)
        )

    def _met(self, obligation: Obligation, context: Context) -> bool:
        number, threads = obligation
        _, final, negative = self.aheads[number]
        return self._accepts(threads, final, context) != negative

    def _obligations_left(
        self, owed: frozenset[Obligation], context: Context, kind: int
    ) -> frozenset[Obligation] | None:
        """The obligations left after a code point of this class; None if one is broken."""
        left = set()
        for number, threads in owed:
            self.work += _OWED_WORK * len(threads)
            _, final, negative = self.aheads[number]
            if self._is_match(threads, final, context, self._neighbour(kind)):
                if negative:
                    return None
                continue
            moved = self._step(threads, context, kind)
            if moved:
                left.add((number, moved))
            elif not negative:
                return None
        return frozenset(left)

    def _step_one(self, state: int, context: Context, kind: int) -> Threads:
        out = set()
        for at, owed in self.close(state, context, self._neighbour(kind)):
            move = self.moves[at]
            if move is not None and move[0] >> kind & 1:
                left = self._obligations_left(owed, context, kind) if owed else owed
                if left is not None:
                    out.add((move[1], left))
        return frozenset(out)

    def _step(self, threads: Threads, context: Context, kind: int) -> Threads:
        self.work += len(threads)
        out: set[Thread] = set()
        for state, owed in threads:
            if not owed:
                out |= self.step_one(state, context, kind)
                continue
            left = self._obligations_left(owed, context, kind)
            if left is not None:
                out |= {(at, left | more) for at, more in self.step_one(state, context, kind)}
        return frozenset(out)

    def determinise(self) -> tuple[list[list[int]], list[bool]]:
        """The deterministic table [S, K] over classes of code points, -1 for no transition; the accepting states."""
        tracks = tuple(frozenset({(start, _FREE)}) for start, _, _ in self.behinds)
        first: tuple[Context, Threads] = ((NONE, tracks), frozenset({(self.start, _FREE)}))
        done: tuple[Context, Threads] = ((OTHER, ()), frozenset({(self.final, _FREE)}))
        number, queue = {first: 0}, [first]
        table, accepting = [], []
        for state in queue:
            context, threads = state
            accepting.append(self._accepts(threads, self.final, context))
            row = []
            self.work += self.classes
            if self.anywhere and state == done:
                table.append([number[done]] * self.classes)
                continue
            for kind in range(self.classes):
                moved = self._step(threads, context, kind)
                if not moved:
                    row.append(-1)
                    continue
                before = self._neighbour(kind)
                target = (before, tuple(self._step(t, context, kind) for t in context[1])), moved
                if self.anywhere and (self.final, _FREE) in moved:
                    target = done
                if target not in number:
                    number[target] = len(queue)
                    queue.append(target)
                    if len(queue) > MAX_STATES:
                        raise TooLarge(len(queue), MAX_STATES)
                    if self.work > MAX_WORK:
                        raise TooLarge(self.work, MAX_WORK)
                row.append(number[target])
            table.append(row)
        return table, accepting
