"""Keywords of a schema that look misspelt: the standard lets a schema hold any, and they would have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema_specifications import REGISTRY

from cinnabar.schemas.keywords import CHECKS, DATA, DECIMALS, MAPS, PAGES
from cinnabar.schemas.left_keywords import LEFT_KEYWORDS
from cinnabar.schemas.parsing.schema_object import BINDING, DAY_FIRST, TOLD, WAS, WORDS, WRITTEN
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

# Keywords whose values hold no keyword.
_DATA = DATA | {"required", "dependentRequired", CHECKS, WORDS}
_OPENAPI = ("nullable", "example", "discriminator", "xml", "externalDocs")
_OWN = (BINDING, DAY_FIRST, TOLD, WAS, WORDS, WRITTEN, DECIMALS, CHECKS, PAGES)
# Standard keywords that change nothing here, or that are so short that other words are like them.
_NOT_MEANT = frozenset(
    {"$comment", "$id", "id", "$schema", "$anchor", "$vocabulary", "$recursiveAnchor", "deprecated", "readOnly"}
    | {"writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "if", "then", "else", "not"}
)
# No known keyword is longer. Those of so many letters may differ in two from what is written, shorter ones in one.
_LONGEST, _LONG = 40, 8


def refuse_misspelt_keywords(schema: Any) -> None:
    """Raises UnsupportedSchema for an unknown keyword that is like a known one, with the known one."""
    for pointer, keyword, near in misspelt_keywords(schema):
        raise refused(Refusal.KEYWORD_MISSPELT, pointer, keyword, near=near)


def misspelt_keywords(schema: Any) -> Iterator[tuple[str, str, str]]:
    """Yields the pointer of each unknown keyword that is like a known one, that keyword, and the known one.

    One below which a reference leads is a place for definitions, whatever its name.
    """
    led_to = {reference for reference, _ in _parts(schema, "") if reference.startswith("#")}
    for keyword, pointer in _parts(schema, ""):
        near = None if keyword.startswith("#") else _near(keyword)
        if near is not None and not any(reference.startswith(f"#{pointer}/") for reference in led_to):
            yield pointer, keyword, near


def _parts(schema: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yields each keyword with its pointer, and each reference."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from _parts(part, f"{pointer}/{index}")
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        below = f"{pointer}/{escape(keyword)}"
        yield keyword, below
        if keyword == "$ref" and isinstance(value, str) and value.startswith("#"):
            yield value, below
        elif keyword in MAPS and isinstance(value, dict):
            for name, part in value.items():
                yield from _parts(part, f"{below}/{escape(name)}")
        elif keyword in known_keywords() and keyword not in _DATA:
            yield from _parts(value, below)


@cache
def _near(keyword: str) -> str | None:
    if keyword in known_keywords() or keyword in LEFT_KEYWORDS or len(keyword) > _LONGEST:
        return None
    if (not keyword[:1].isalpha() and keyword[:1] != "$") or keyword[1:] in known_keywords():
        # A sign before a keyword takes it out on purpose: `_format`, `@type`, `$default`.
        return None
    bare = _bare(keyword)
    found = [(_distance(keyword, known), known) for known in _meant() if abs(len(keyword) - len(known)) <= 2]
    found += [(0, known) for known in _meant() if _bare(known) == bare]
    within = [(far, known) for far, known in found if far <= (2 if len(known) >= _LONG else 1)]
    return min(within)[1] if within else None


def _bare(keyword: str) -> str:
    return keyword.lower().replace("_", "").replace("-", "").replace(" ", "")


def _distance(one: str, other: str) -> int:
    """Returns how many letters are to be put in, left out, replaced or swapped with the next."""
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(one, 1):
        row = [at]
        for place, its in enumerate(other, 1):
            row.append(min(rows[-1][place] + 1, row[-1] + 1, rows[-1][place - 1] + (letter != its)))
            if at > 1 and place > 1 and (one[at - 2], letter) == (its, other[place - 2]):
                row[-1] = min(row[-1], rows[-2][place - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


@cache
def known_keywords() -> frozenset[str]:
    """The keywords of all drafts, of OpenAPI and of our own."""
    drafts = (REGISTRY.contents(uri) for uri in REGISTRY)
    standard = (name for meta in drafts if isinstance(meta, dict) for name in meta.get("properties", {}))
    return frozenset((*standard, *_OPENAPI, *_OWN))


@cache
def _meant() -> frozenset[str]:
    """The known keywords that say something of values."""
    return known_keywords() - _NOT_MEANT - {*_OPENAPI}

