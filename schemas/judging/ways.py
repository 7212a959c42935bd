"""The ways through a schema: refusal of references that lead nowhere, of circles, and of more ways than can be gone.

jsonschema-rs tells no place of a bad reference, builds a circle without a word, and goes each way through `allOf`,
`anyOf`, `$ref` and the like at one value again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cinnabar.errors import RegexError
from cinnabar.schemas.judging.dialects import modern
from cinnabar.schemas.judging.resources import LISTS, ONE, REFERENCES, Documents, Place
from cinnabar.schemas.judging.translation import name_pattern
from cinnabar.schemas.keywords import DECIMALS, MAPS, MOST, step_of
from cinnabar.schemas.refusals import Refusal, refused
from cinnabar.schemas.regex.patterns import pattern_matches

#: The most schemas that may be nested at one value, and the most ways through them: jsonschema-rs prepares
#: `unevaluatedProperties` in seconds for 2**16 ways, and goes them in milliseconds.
MAX_BESIDE, MAX_WAYS = 100, 1 << 16
#: The most ways through the schemas at a value, its parts, their parts and so on: jsonschema-rs goes them in .2 s.
MAX_DEEP_WAYS = 1 << 20
#: Keywords whose schemas judge the same value.
_BESIDE = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", *REFERENCES))

#: The place of a keyword, and a schema that it applies.
Part = tuple[Place, Place]


def check_routes(documents: Documents) -> None:
    """Follows all schemas that a value may meet, each once.

    Raises UnsupportedSchema, with the pointer of the keyword, for a reference that leads nowhere or in a circle, a
    pattern that cannot be run, and too many schemas or ways at one value.
    """
    beside: dict[Place, list[Part]] = {}
    within: dict[Place, list[Part]] = {}
    pending = [documents.root]
    while pending:
        place = pending.pop()
        if place not in beside:
            parts = list(_parts(place, documents)) if isinstance(place.value, dict) else []
            beside[place] = [(at, part) for keyword, at, part in parts if keyword in _BESIDE]
            within[place] = [(at, part) for keyword, at, part in parts if keyword not in _BESIDE]
            pending += [part for _, _, part in reversed(parts)]
    _count_ways(beside)
    _count_deep_ways(beside, within)


def _parts(place: Place, documents: Documents) -> Iterator[tuple[str, Place, Place]]:
    """Yields the schemas that this one applies to a value or to its parts, with the keyword as in 2020-12."""
    for name, (written, value) in modern(place.value, place.resource.dialect).items():
        keyword, at = name.rpartition(":")[2], place.child(written)
        if keyword in REFERENCES:
            yield keyword, at, documents.resolve(value, place, keyword)[0]
        elif keyword in LISTS and isinstance(value, list):
            yield from ((keyword, at, at.child(str(index))) for index in range(len(value)))
        elif keyword in MAPS - {"$defs", "definitions"} and isinstance(value, dict):
            yield from ((keyword, at, at.child(name)) for name in value)
        elif keyword in ONE:
            yield keyword, at, at
        elif keyword == DECIMALS and step_of(value) is None:
            raise refused(Refusal.DECIMALS, at.pointer, most=MOST, got=value)
        if keyword == "pattern" and isinstance(value, str):
            _check_pattern(value, at, keyword)
        elif keyword == "patternProperties" and isinstance(value, dict):
            for pattern in value:
                _check_pattern(pattern, at.child(pattern), keyword)


def _check_pattern(pattern: str, at: Place, keyword: str) -> None:
    try:
        pattern_matches(pattern, "")
        known = keyword == "pattern" or name_pattern(pattern) is not None
        problem = "" if known else "jsonschema-rs, which matches names, has no such pattern"
    except RegexError as error:
        problem = str(error)
    if problem:
        raise refused(Refusal.PATTERN_OF_NAMES, at.pointer, keyword, pattern=pattern, problem=problem)


def _count_ways(beside: dict[Place, list[Part]]) -> None:
    """Refuses schemas that come back to themselves at one value, are nested too deeply there, or have too many ways."""
    depth: dict[Place, int] = {}
    ways: dict[Place, int] = {}
    for start in beside:
        stack, open_places = [start], set[Place]()
        while stack:
            place = stack[-1]
            fresh = [(at, part) for at, part in beside[place] if part not in depth]
            if place in depth:
                stack.pop()
            elif place in open_places or not fresh:
                depth[place] = 1 + max((depth[part] for _, part in beside[place]), default=0)
                ways[place] = 1 + sum(ways[part] for _, part in beside[place])
                _check_size(beside[place], depth, MAX_BESIDE, place, Refusal.NESTED_AT_ONE_VALUE)
                _check_size(beside[place], ways, MAX_WAYS, place, Refusal.WAYS)
            else:
                open_places.add(place)
                for at, part in fresh:
                    if part in open_places:
                        raise refused(Refusal.CIRCLE, at.pointer, at.token)
                    stack.append(part)


def _count_deep_ways(beside: dict[Place, list[Part]], within: dict[Place, list[Part]]) -> None:
    """Refuses schemas whose ways at a value, at a part of it, at a part of that … multiply beyond what can be gone.

    A schema that comes back to itself counts once: how deep it goes is the value's matter.
    """
    ways: dict[Place, int] = defaultdict(lambda: 1)
    opened = set[Place]()
    stack = [(start, False) for start in beside]
    while stack:
        place, has_parts = stack.pop()
        parts = [*beside[place], *within[place]]
        if has_parts:
            deeper = max((ways[part] for _, part in within[place]), default=1)
            ways[place] = deeper + sum(ways[part] for _, part in beside[place])
            _check_size(parts, ways, MAX_DEEP_WAYS, place, Refusal.WAYS)
        elif place not in opened:
            opened.add(place)
            stack += [(place, True), *((part, False) for _, part in parts)]


def _check_size(parts: list[Part], sizes: dict[Place, int], most: int, place: Place, refusal: Refusal) -> None:
    if sizes[place] > most:
        at, _ = max(parts, key=lambda part: sizes[part[1]])
        raise refused(refusal, at.pointer, at.token, most=most, got=sizes[place])
