"""What a field says in words: the meaning of each choice, from the author's description, and the bounds of a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from cinnabar.schemas.parsing.shape import Number, Shape, String

#: The most characters of a meaning before an equals sign or in brackets.
LONGEST = 60
_QUOTE = "[\"'`“”‘’]?"
_BETWEEN = re.compile(r"\s{0,9}(?:/|,|or\b|and\b)\s{0,9}")
_DEFINED = re.compile(r"\s*(?:=|:|—|–)\s*(?=\S)")
_BRACKETS = re.compile(rf"\s?\(([^()]{{1,{LONGEST}}})\)")
_CLAUSE = re.compile(r"(?:^|[,;:.\n(]|\b(?:or|and))\s*$")
_CLAUSE_ENDS = re.compile(r"\s{0,9}(?:[,;.)\n]|$)")
_EQUATED = re.compile(r"(?:^|[,;:.(\n])\s{0,9}([^\s,;:=(][^,;:=(\n]*?)\s{0,9}=\s{0,9}$")

#: An option at one place of a description: its name, and the characters [start, end) with its quotes.
Hit = tuple[str, int, int]


def meanings(options: tuple[str, ...], description: str) -> tuple[str, ...]:
    """A meaning for each option, "" for an option that the description leaves out, () if it explains none.

    The forms that are read, in any order and with or without quotes around the names, are `name = meaning;` and
    `name: meaning`; several names with one meaning or with one each (`a / b = this, that`); `name (meaning)`; and
    `meaning = name`, if the name ends its clause. A meaning ends at a semicolon, at a line's end, at a full stop
    before a blank, or at the beginning of the next one. `options` are the choices as plain text. Time is linear in
    the description, because its author may be hostile.
    """
    names = sorted((name for name in options if name), key=len, reverse=True)
    if not names:
        return ()
    named = re.compile(rf"(?<![\w-]){_QUOTE}({'|'.join(map(re.escape, names))}){_QUOTE}(?![\w-])")
    hits = [(hit[1], hit.start(), hit.end()) for hit in named.finditer(description)]
    meaning_of: dict[str, str] = {}
    for reading in (_behind, _beside, _before):
        for own, meaning in reading(hits, description):
            if meaning:
                meaning_of.setdefault(own, meaning)
    return tuple(meaning_of.get(option, "") for option in options) if meaning_of else ()


def _behind(hits: Sequence[Hit], description: str) -> list[tuple[str, str]]:
    """`name = meaning`, for one name or for several."""
    groups: list[tuple[list[str], int, int]] = []
    names: list[str] = []
    begun = 0
    for i, (name, start, end) in enumerate(hits):
        # A word behind an equals sign is no name.
        joined = bool(names) and _BETWEEN.fullmatch(description, hits[i - 1][2], start) is not None
        if not joined:
            names, begun = [], start
        if groups and start == groups[-1][2]:
            continue
        names.append(name)
        defined = _DEFINED.match(description, end)
        if defined:
            groups.append((names, begun, defined.end()))
            names = []
    ends = [begun for _, begun, _ in groups[1:]] + [len(description)]
    explained: list[tuple[str, str]] = []
    for (own, _, first), end in zip(groups, ends, strict=False):
        text = re.split(r";|\n|\.(?=\s|$)", description[first:end], maxsplit=1)[0]
        explained += zip(own, _share_meaning(text.strip().rstrip(",").strip(), len(own)), strict=True)
    return explained


def _share_meaning(meaning: str, count: int) -> Sequence[str]:
    """The meaning of each of several names: its own part of the text if their numbers are equal, else all of it.

    "refused by recipient, by sender" are "refused by recipient" and "refused by sender".
    """
    parts = [part.strip() for part in meaning.split(",")]
    if count == 1 or len(parts) != count or not all(parts):
        return [meaning] * count
    first, behind = parts[0].split(), [part.split()[0] for part in parts[1:]]
    shared = next((first[: first.index(word)] for word in behind if word in first), [])
    return [parts[0], *(" ".join([*shared, part]) for part in parts[1:])]


def _beside(hits: Sequence[Hit], description: str) -> list[tuple[str, str]]:
    """`name (meaning)`, if several options are explained so or the name begins its clause."""
    explained = [
        (name, inside[1].strip(), start)
        for name, start, end in hits
        if (inside := _BRACKETS.match(description, end)) is not None
    ]
    several = len({name for name, _, _ in explained}) > 1
    return [
        (name, meaning)
        for name, meaning, start in explained
        if several or _CLAUSE.search(description[max(0, start - 9) : start])
    ]


def _before(hits: Sequence[Hit], description: str) -> list[tuple[str, str]]:
    """`meaning = name`, if the name ends its clause."""
    explained = []
    for name, start, end in hits:
        before = description[max(0, start - LONGEST) : start]
        if before.rstrip().endswith("=") and _CLAUSE_ENDS.match(description, end):
            equated = _EQUATED.search(before)
            # A text cut in two at LONGEST is no meaning.
            if equated and (equated.start() > 0 or start <= LONGEST or before[0] in ",;:.(\n"):
                explained.append((name, equated[1]))
    return explained


def bounds_in_words(shape: Shape) -> str:
    """`at least 0 and less than 100, a multiple of 0.01`; of strings `at most 20 characters`; "" for no bound."""
    if isinstance(shape, Number):
        multiples = [f"a multiple of {_plain(step)}" for step in shape.multiples]
        multiples += [f"no multiple of {_plain(step)}" for step in shape.apart]
        return ", ".join(filter(None, [" and ".join(_between(shape)), *multiples]))
    if isinstance(shape, String):
        least = [f"at least {shape.min_length}"] if shape.min_length else []
        most = [] if shape.max_length is None else [f"at most {shape.max_length}"]
        return f"{' and '.join([*least, *most])} characters" if least or most else ""
    return ""


def _between(shape: Number) -> Iterator[str]:
    for words, bound in (
        ("at least", shape.minimum),
        ("more than", shape.exclusive_minimum),
        ("at most", shape.maximum),
        ("less than", shape.exclusive_maximum),
    ):
        if bound is not None:
            yield f"{words} {_plain(bound)}"


def _plain(number: Decimal) -> str:
    """The number without an exponent, as people write it, if that is short."""
    text = f"{number:f}"
    return text if len(text) <= 24 else str(number)
