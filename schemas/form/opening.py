"""Open properties of an object: the groups that are written, each with its names and its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from cinnabar.errors import TooMuchWork
from cinnabar.schemas.automata.operations import difference
from cinnabar.schemas.parsing.algebra import intersect
from cinnabar.schemas.parsing.language import NO_AUTOMATON, language, smallest
from cinnabar.schemas.parsing.shape import Anything, Object, Shape, String
from cinnabar.schemas.regex.patterns import written

#: The most groups of open properties of one object; nobody fills a form with more of them.
MAX_GROUPS = 6
#: The most patterns of names that are tried for the groups.
MAX_TRIED = 2 * MAX_GROUPS

#: The errors that keep names from being written: they have no automaton, or no work is left to build it.
NO_NAMES = (*NO_AUTOMATON, TooMuchWork)


def open_groups(shape: Object) -> list[tuple[Shape, Shape]]:
    """The names and the values of the open properties of an object, one pair for each described group.

    A name that always matches a second pattern too has the values of both. If nothing is described and more properties
    are demanded than declared, the values may be anything.
    """
    patterns = [(pattern, value) for pattern, value in shape.patterns if value is not None]
    described = [(pattern, value) for pattern, value in patterns if not isinstance(value, Anything)]
    groups = _groups(shape, described)
    if shape.additional is not None and not isinstance(shape.additional, Anything):
        groups += _others(shape, shape.additional)
    if not groups and shape.min_properties > len(shape.fields):
        groups = _groups(shape, patterns)
        if not groups and shape.additional is not None:
            groups += _others(shape, Anything())
    return groups[:MAX_GROUPS]


def _groups(shape: Object, patterns: Iterable[tuple[str, Shape]]) -> list[tuple[Shape, Shape]]:
    """The first groups of properties that match one of these patterns."""
    matching = (_matching_properties(shape, pattern, value) for pattern, value in islice(patterns, MAX_TRIED))
    return list(islice((group for group in matching if group is not None), MAX_GROUPS))


def _matching_properties(shape: Object, pattern: str, value: Shape) -> tuple[Shape, Shape] | None:
    """The open properties with names that match this pattern; None if there can be none."""
    matching: Shape | None = value
    try:
        key = _key(shape, _matching_names((pattern,)))
        if key is None:
            return None
        for other, wanted in shape.patterns[:MAX_TRIED]:
            if other != pattern and _implies(key, other):
                matching = None if matching is None or wanted is None else intersect(matching, wanted)
    except NO_NAMES:
        return None
    return None if matching is None else (key, matching)


def _others(shape: Object, value: Shape) -> Iterator[tuple[Shape, Shape]]:
    """The open properties with names that match no pattern; any names if the automaton would be too large."""
    unmatched = tuple(f"^(?![^]*(?:{pattern}))" for pattern, _ in shape.patterns[:MAX_TRIED])
    for patterns in (unmatched, ()):
        try:
            if (met := _key(shape, _matching_names(patterns))) is not None:
                yield met, value
            return
        except NO_NAMES:
            continue


def _matching_names(patterns: tuple[str, ...]) -> String:
    """The names that all of the patterns match; raises one of NO_NAMES.

    Each pattern is charged even if its automaton is cached, so the same groups are written every time.
    """
    for pattern in patterns:
        written(pattern)
    return String(patterns)


def _key(shape: Object, key: String) -> Shape | None:
    """These names, limited to the shape of all names; None if none is left.

    Raises the exceptions of `language`.
    """
    met = key if shape.names is None else intersect(key, shape.names)
    return None if met is None or smallest(met) is None else met


def _implies(key: Shape, pattern: str) -> bool:
    """Whether all of these names match the pattern."""
    try:
        return difference(language(key), language(_matching_names((pattern,)))).is_empty
    except NO_NAMES:
        return False
