"""What the author of a schema says each choice means, read from the field's description."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Longest text before an equals sign that a choice stands for, in characters.
LONGEST = 40


def meanings(options: tuple[str, ...], description: str) -> tuple[str, ...]:
    """A text for each option that the description explains, "" for one it does not, () where it explains
    none.

    Read are, in any order and with or without quotes around the names, `name = meaning;` and
    `name: meaning`; several names with one meaning or with one each (`a / b = this, that`);
    `name (meaning)`; and, where a name ends its clause, `meaning = name`. A meaning ends at a semicolon, a
    line's end, a full stop before a blank, or where the next one begins. `options` are the choices as plain
    text.
    """
    names = sorted((name for name in options if name), key=len, reverse=True)
    if not names:
        return ()
    name = f"(?<![\\w-])[\"'`“”‘’]?(?:{'|'.join(map(re.escape, names))})[\"'`“”‘’]?(?![\\w-])"
    found: dict[str, str] = {}
    for told in (_behind, _beside, _before):
        for own, meaning in told(name, description):
            if meaning:
                found.setdefault(own, meaning)
    return tuple(found.get(option, "") for option in options) if found else ()


def _behind(name: str, description: str) -> list[tuple[str, str]]:
    """`name = meaning`, for one name or for several."""
    several = rf"{name}(?:\s*(?:/|,|\bor\b|\band\b)\s*{name})*"
    hits = list(re.finditer(rf"({several})\s*(?:=|:|—|–)\s*(?=\S)", description))
    ends = [hit.start() for hit in hits[1:]] + [len(description)]
    found: list[tuple[str, str]] = []
    for hit, end in zip(hits, ends, strict=False):
        text = re.split(r";|\n|\.(?=\s|$)", description[hit.end() : end], maxsplit=1)[0]
        own = [_bare(one) for one in re.findall(name, hit[1])]
        found += zip(own, _shared(text.strip().rstrip(",").strip(), len(own)), strict=True)
    return found


def _shared(meaning: str, count: int) -> Sequence[str]:
    """What each of several names means: its own part of the text where there are as many, or all of it.

    "refused by recipient, by sender" are "refused by recipient" and "refused by sender".
    """
    parts = [part.strip() for part in meaning.split(",")]
    if count == 1 or len(parts) != count or not all(parts):
        return [meaning] * count
    first, behind = parts[0].split(), [part.split()[0] for part in parts[1:]]
    shared = next((first[: first.index(word)] for word in behind if word in first), [])
    return [parts[0], *(" ".join([*shared, part]) for part in parts[1:])]


def _beside(name: str, description: str) -> list[tuple[str, str]]:
    """`name (meaning)`."""
    hits = re.finditer(rf"({name})\s*\(([^()]+)\)", description)
    return [(_bare(hit[1]), hit[2].strip()) for hit in hits]


def _before(name: str, description: str) -> list[tuple[str, str]]:
    """`meaning = name`, where the name ends its clause."""
    meaning = rf"(?:^|(?<=[,;:.(\n]))\s*([^,;:=(\n]{{1,{LONGEST}}}?)"
    hits = re.finditer(rf"{meaning}\s*=\s*({name})(?=\s*(?:[,;.)\n]|$))", description)
    return [(_bare(hit[2]), hit[1]) for hit in hits]


def _bare(name: str) -> str:
    return name.strip("\"'`“”‘’")
