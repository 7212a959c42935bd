"""The places of a record's values in the text that a language model wrote."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from cinnabar.schemas.automata.canonical import parse
from cinnabar.schemas.pointers import escape

ByteSpan = tuple[int, int]
_PARTS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclass(slots=True)
class ValuePlaces:
    """The places of a record's values in its text, as [start, end) in bytes.

    `values` has every value by its pointer. `gaps` has for each object its names as written, each with the bytes from
    the end of the value before it to the end of the name, and at last ("", …) with those up to the closing brace: a
    property that is left out was decided against there.
    """

    values: dict[str, ByteSpan] = field(default_factory=dict)
    gaps: dict[str, list[tuple[str, ByteSpan]]] = field(default_factory=dict)

    def gap(self, pointer: str, later: Collection[str]) -> ByteSpan | None:
        """Returns the place where an object lacks a property; `later` are the names that would follow it."""
        gaps = self.gaps.get(pointer, [])
        return next((span for name, span in gaps[:-1] if name in later), gaps[-1][1] if gaps else None)


def places_of(text: bytes) -> ValuePlaces:
    """Returns the places of all values of a record's text, which is valid JSON."""
    found = ValuePlaces()
    parts = _PARTS.finditer(text)
    _read(next(parts), parts, "", found)
    return found


def _read(part: re.Match[bytes], parts: Iterator[re.Match[bytes]], pointer: str, places: ValuePlaces) -> int:
    """Notes the value that begins with this part, and all values below it; returns its end."""
    start, end = part.span()
    places.values[pointer] = start, end
    if part[0] == b"[":
        last, at = next(parts), 0
        while last[0] != b"]":
            _read(last if last[0] != b"," else next(parts), parts, f"{pointer}/{at}", places)
            last, at = next(parts), at + 1
        end = last.end()
    elif part[0] == b"{":
        gaps = places.gaps[pointer] = []
        last, before = next(parts), end
        while last[0] != b"}":
            key = last if last[0] != b"," else next(parts)
            name = parse(key[0].decode())
            gaps.append((name, (before, key.end())))
            next(parts)  # the colon
            before = _read(next(parts), parts, f"{pointer}/{escape(name)}", places)
            last = next(parts)
        end = last.end()
        gaps.append(("", (before, end)))
    places.values[pointer] = start, end
    return end
