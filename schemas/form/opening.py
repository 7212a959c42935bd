"""Open properties: which groups of them are written, by what their names may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from cinnabar.schemas.automata.boolean import difference
from cinnabar.schemas.errors import TooMuchWork
from cinnabar.schemas.reading.algebra import intersect
from cinnabar.schemas.reading.language import NO_AUTOMATON, language, smallest
from cinnabar.schemas.reading.shape import Anything, Object, Shape, String
from cinnabar.schemas.regex.patterns import written

#: Groups of open properties of one object; a form with more of them is none that anybody fills.
MAX_GROUPS = 6
#: Patterns of names that are tried for them.
MAX_TRIED = 2 * MAX_GROUPS

#: Why names are not written: there is no automaton of them, or no work left to make it.
NO_NAMES = (*NO_AUTOMATON, TooMuchWork)


def open_groups(shape: Object) -> list[tuple[Shape, Shape]]:
    """What the open properties of an object are named and what they are, one pair for each that is described.

    A name that always matches a second pattern too has the values of both. Where nothing is described and
    more properties are demanded than are declared, they may be anything.
    """
    patterns = [(pattern, value) for pattern, value in shape.patterns if value is not None]
    described = [(pattern, value) for pattern, value in patterns if not isinstance(value, Anything)]
    found = _groups(shape, described)
    if shape.additional is not None and not isinstance(shape.additional, Anything):
        found += _others(shape, shape.additional)
    if not found and shape.min_properties > len(shape.fields):
        found = _groups(shape, patterns)
        if not found and shape.additional is not None:
            found += _others(shape, Anything())
    return found[:MAX_GROUPS]


def _groups(shape: Object, patterns: Iterable[tuple[str, Shape]]) -> list[tuple[Shape, Shape]]:
    """The first groups that there are of properties that match one of these patterns."""
    matching = (_matching(shape, pattern, value) for pattern, value in islice(patterns, MAX_TRIED))
    return list(islice((group for group in matching if group is not None), MAX_GROUPS))


def _matching(shape: Object, pattern: str, value: Shape) -> tuple[Shape, Shape] | None:
    """The open properties whose names match this pattern, None where there can be none."""
    found: Shape | None = value
    try:
        key = _key(shape, _matched((pattern,)))
        if key is None:
            return None
        for other, wanted in shape.patterns[:MAX_TRIED]:
            if other != pattern and _implies(key, other):
                found = None if found is None or wanted is None else intersect(found, wanted)
    except NO_NAMES:
        return None
    return None if found is None else (key, found)


def _others(shape: Object, value: Shape) -> Iterator[tuple[Shape, Shape]]:
    """The open properties whose names match no pattern; any names, where no automaton is so large."""
    unmatched = tuple(f"^(?![^]*(?:{pattern}))" for pattern, _ in shape.patterns[:MAX_TRIED])
    for patterns in (unmatched, ()):
        try:
            if (met := _key(shape, _matched(patterns))) is not None:
                yield met, value
            return
        except NO_NAMES:
            continue


def _matched(patterns: tuple[str, ...]) -> String:
    """Names that all of the patterns match; raises one of NO_NAMES.

    Each is charged, wherever its automaton comes from, so that the same groups are written every time.
    """
    for pattern in patterns:
        written(pattern)
    return String(patterns)


def _key(shape: Object, key: String) -> Shape | None:
    """These names as far as they are what all names are; None where none is.

    Raises what `language` raises.
    """
    met = key if shape.names is None else intersect(key, shape.names)
    return None if met is None or smallest(met) is None else met


def _implies(key: Shape, pattern: str) -> bool:
    """Whether all of these names match the pattern."""
    try:
        return difference(language(key), language(_matched((pattern,)))).is_empty
    except NO_NAMES:
        return False
