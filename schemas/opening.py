"""Open properties: which groups of them are written, by what their names may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from cinnabar.schemas.algebra import intersect
from cinnabar.schemas.language import NO_AUTOMATON, language, smallest
from cinnabar.schemas.shape import Anything, Object, Shape, String

#: Groups of open properties of one object; a form with more of them is none that anybody fills.
MAX_GROUPS = 6


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
    matching = (_matching(shape, pattern, value) for pattern, value in patterns)
    return list(islice((group for group in matching if group is not None), MAX_GROUPS))


def _matching(shape: Object, pattern: str, value: Shape) -> tuple[Shape, Shape] | None:
    """The open properties whose names match this pattern, None where there can be none."""
    found: Shape | None = value
    try:
        key = _key(shape, String((pattern,)))
        if key is None:
            return None
        for other, wanted in shape.patterns[: 2 * MAX_GROUPS]:
            if other != pattern and _implies(key, other):
                found = None if found is None or wanted is None else intersect(found, wanted)
    except NO_AUTOMATON:
        return None
    return None if found is None else (key, found)


def _others(shape: Object, value: Shape) -> Iterator[tuple[Shape, Shape]]:
    """The open properties whose names match no pattern; any names, where no automaton is so large."""
    unmatched = tuple(f"^(?![^]*(?:{pattern}))" for pattern, _ in shape.patterns[: 2 * MAX_GROUPS])
    for key in (String(unmatched), String()):
        try:
            if (met := _key(shape, key)) is not None:
                yield met, value
            return
        except NO_AUTOMATON:
            continue


def _key(shape: Object, key: String) -> Shape | None:
    """These names as far as they are what all names are; None where none is.

    Raises what `language` raises.
    """
    met = key if shape.names is None else intersect(key, shape.names)
    return None if met is None or smallest(met) is None else met


def _implies(key: Shape, pattern: str) -> bool:
    """Whether all of these names match the pattern."""
    try:
        return (language(key) - language(String((pattern,)))).is_empty
    except NO_AUTOMATON:
        return False
