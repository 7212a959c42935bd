"""ECMA-262 patterns: automata over the canonical JSON spelling of the strings that they match, and matching.

A pattern becomes a nondeterministic machine over classes of code points, then a deterministic one, and its
transitions are spelled out in bytes. A given text is matched without any of these.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.boolean import intersect
from cinnabar.schemas.automata.spelling import lift
from cinnabar.schemas.errors import TooLarge
from cinnabar.schemas.regex import budget
from cinnabar.schemas.regex.counts import clipped, conjuncts, loosened
from cinnabar.schemas.regex.ecma import Tree, parse
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
    budget.go_on_with(pattern)
    result, work = _attempted(pattern)
    budget.charge(pattern, work)
    if isinstance(result, TooLarge):
        raise TooLarge(result.states, result.limit)
    return result


# One entry for each value of a large form, so none is made twice; failures are kept too, since they take longest.
@lru_cache(maxsize=4096)
def _attempted(pattern: str) -> tuple[Written | TooLarge, int]:
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
    free, bound, exact = loosened(tree)
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
    short = clipped(tree, _CLIPPED)
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
