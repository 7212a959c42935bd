"""ECMA-262 patterns: automata over the JSON spelling of the strings that they match, matching, and a budget of work.

A pattern becomes a nondeterministic machine over classes of code points, then a deterministic one, and its
transitions are spelled out in bytes. A given text is matched without any of these.

A hundred patterns, each within its caps, took minutes, so the patterns of one schema have a budget; remainders of a
`multipleOf` count like a pattern. Work is counted, never timed, so a schema is compiled or refused on every machine
alike. The work of a pattern is cached with it, and each schema is charged for it once, even if another schema had the
pattern compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache

from cinnabar.errors import TooLarge, TooMuchWork
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.operations import intersect
from cinnabar.schemas.automata.spelling import lift
from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree, parse
from cinnabar.schemas.regex.machine import Machine
from cinnabar.schemas.regex.matcher import matches_somewhere

# With more states, an exact automaton is slower to write by than one with its long counts as a bound on length.
_FEW_STATES = 2_000
# Counts are cut to this if no other automaton has an acceptable size.
_CLIPPED = 16


@dataclass(frozen=True)
class Written:
    """The strings that may be written under a pattern.

    content: the strings of at most `max_length` code points (None is no bound) all match the pattern.
    exact: whether no other string matches it; if not, judge by `pattern_matches`.
    """

    content: Automaton
    max_length: int | None
    exact: bool


@lru_cache(maxsize=512)
def fullmatch(pattern: str) -> Automaton:
    """The content of all strings that the pattern matches from start to end.

    Raises RegexError if the pattern cannot be read or is not regular, TooLarge past the cap on states.
    """
    return _compile(_tree(pattern), anywhere=False)


def pattern_matches(pattern: str, text: str) -> bool:
    """Whether the pattern, of any size, matches somewhere in the text, as for JSON Schema's `pattern`.

    Raises RegexError if the pattern cannot be read or is not regular, never TooLarge.
    """
    return matches_somewhere(_tree(pattern), text)


def written(pattern: str) -> Written:
    """The strings that may be written under JSON Schema's `pattern`, with long counts as a bound.

    Raises RegexError if the pattern cannot be read or is not regular, TooLarge past the caps on states, and
    TooMuchWork if earlier patterns of the schema used up its budget.
    """
    go_on_with(pattern)
    result, work = _attempt(pattern)
    charge(pattern, work)
    if isinstance(result, TooLarge):
        raise TooLarge(result.states, result.limit)
    return result


# One entry for each value of a large form, so none is made twice; failures are kept too, since they take longest.
@lru_cache(maxsize=4096)
def _attempt(pattern: str) -> tuple[Written | TooLarge, int]:
    """The result for a pattern, or the failure, and the work that it took."""
    work: list[int] = []
    try:
        parts = [_written(tree, work) for tree in conjuncts(_tree(pattern))]
        content = parts[0].content
        for more in parts[1:]:
            content = intersect(content, more.content)
    except TooLarge as problem:
        return TooLarge(problem.states, problem.limit), sum(work)
    bounds = [each.max_length for each in parts if each.max_length is not None]
    return Written(content, min(bounds, default=None), all(each.exact for each in parts)), sum(work)


def _written(tree: Tree, work: list[int]) -> Written:
    free, bound, exact = loosen(tree)
    whole = problem = None
    if bound is None or not exact:
        try:
            whole = Written(_compile(tree, True, work), None, True)
        except TooLarge as refused:
            problem = refused
    if whole is not None and (bound is None or whole.content.states <= _FEW_STATES):
        return whole
    if free != tree:
        with suppress(TooLarge):
            return Written(_compile(free, True, work), bound, exact)
    # The tree matches all that the shorter one does.
    short = _with_counts(tree, _CLIPPED)
    if short == tree and problem is not None:
        raise problem
    return Written(_compile(short, True, work), None, False)


@lru_cache(maxsize=2048)
def _tree(pattern: str) -> Tree:
    return parse(pattern)


def _compile(tree: Tree, anywhere: bool, work: list[int] | None = None) -> Automaton:
    machine = Machine(tree, anywhere)
    try:
        table, accepting = machine.determinise()
    finally:
        if work is not None:
            work.append(machine.work)
    return lift(table, machine.starts, machine.kinds, accepting)


# Conversion of long counts within a pattern, such as `^.{0,20000}$`, to bounds on the length of the whole text.
#
# As states, a count costs up to 16 for each repetition of `.`; as a bound, none.

# Counts above this become bounds on length.
MAX_COUNTED = 128


def conjuncts(tree: Tree) -> list[Tree]:
    """Trees that all match somewhere in a text exactly when this tree does.

    Lookaheads at the start of the text become trees of their own: `^(?=a)(?=b)c` is `^a`, `^b` and `^c`.
    """
    first, *rest = parts(tree) or (Sequence(()),)
    if first != Edge("^"):
        return [tree]
    conditions: list[Tree] = []
    while rest and isinstance(look := rest[0], Look) and look.ahead and not look.negative:
        conditions += conjuncts(Sequence((first, *parts(look.body))))
        rest.pop(0)
    return [*conditions, Sequence((first, *rest))] if conditions else [tree]


def loosen(tree: Tree) -> tuple[Tree, int | None, bool]:
    """The tree without its long counts, the most code points of a text, and whether the two are exact.

    If the first result matches a text of at most that many code points, the tree itself matches it. If, and only if,
    the last result is True, the tree matches no longer text. Counts within a negative lookaround stay.
    """
    counted = _long(tree)
    if not counted:
        return tree, None, True
    free = _with_counts(tree, None)
    items = parts(tree)
    if items[0] == Edge("^") and items[-1] == Edge("$"):
        for at, item in enumerate(items):
            if isinstance(item, Repeat) and counted == [item] and item.most is not None:
                low, high = _length(item.body)
                others = [_length(other) for other in (*items[:at], *items[at + 1 :])]
                least = sum(length[0] for length in others)
                exact = low == high and all(length[0] == length[1] for length in others)
                return free, item.most * max(low, 1) + least, exact
    return free, min(most for repeat in counted if (most := repeat.most) is not None), False


def parts(tree: Tree) -> tuple[Tree, ...]:
    """The parts of the tree as one flat sequence."""
    return tuple(p for part in tree.parts for p in parts(part)) if isinstance(tree, Sequence) else (tree,)


def _long(tree: Tree) -> list[Repeat]:
    """The repeats with long counts, without those in negative lookarounds."""
    match tree:
        case Sequence(inner) | Choice(inner):
            return [repeat for part in inner for repeat in _long(part)]
        case Look(body, _, negative):
            return [] if negative else _long(body)
        case Repeat(body, _, most):
            return ([tree] if most is not None and most > MAX_COUNTED else []) + _long(body)
    return []


def _with_counts(tree: Tree, limit: int | None) -> Tree:
    """The tree with no count above the limit unless a minimum demands it; for None, with long counts removed."""
    match tree:
        case Sequence(inner):
            return Sequence(tuple(_with_counts(part, limit) for part in inner))
        case Choice(inner):
            return Choice(tuple(_with_counts(part, limit) for part in inner))
        case Look(body, _, False):
            return replace(tree, body=_with_counts(body, limit))
        case Repeat(body, least, most):
            if limit is None:
                most = None if most is not None and most > MAX_COUNTED else most
            elif most is not None:
                most = max(least, min(most, limit))
            return Repeat(_with_counts(body, limit), least, most)
    return tree


def _length(tree: Tree) -> tuple[int, int | None]:
    """The fewest and the most code points that the tree matches; None for no bound."""
    match tree:
        case Chars():
            return 1, 1
        case Sequence(inner):
            lengths = [_length(part) for part in inner]
            highs = [high for _, high in lengths if high is not None]
            return sum(low for low, _ in lengths), sum(highs) if len(highs) == len(lengths) else None
        case Choice(inner):
            lengths = [_length(part) for part in inner]
            highs = [high for _, high in lengths if high is not None]
            return min(low for low, _ in lengths), max(highs) if len(highs) == len(lengths) else None
        case Repeat(body, least, most):
            low, high = _length(body)
            return least * low, None if most is None or high is None else most * high
    return 0, 0


# Threads of machines and moves of tables: some five seconds, and as much again for the last pattern.
MAX_SPENT = 4_000_000


class Work:
    """The work that the patterns of one schema have taken."""

    def __init__(self) -> None:
        self.spent = 0
        self.patterns: set[str] = set()


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def one_schema() -> Iterator[None]:
    """Counts the work within as that of one schema."""
    before = _current.set(Work())
    try:
        yield
    finally:
        _current.reset(before)


def go_on_with(pattern: str) -> None:
    """Raises TooMuchWork if no work is left for one more pattern."""
    done = _current.get()
    if done is not None and pattern not in done.patterns and done.spent > MAX_SPENT:
        raise TooMuchWork(len(done.patterns))


def charge(pattern: str, work: int) -> None:
    """Charges the work of a pattern to the current schema, once."""
    done = _current.get()
    if done is not None and pattern not in done.patterns:
        done.patterns.add(pattern)
        done.spent += work
