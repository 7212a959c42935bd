"""The values that a field's description names: one of them may stand for "none" ("0 when none is charged").

Here are only found those that the slot accepts. The network decides from the words whether one of them is the default
of an absent value, or only an example, a bound or a count of digits (`Network.defaults`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.schemas.form.form import Slot

#: The values of a description that are used: its last ones, because descriptions name the default at the end.
NAMED_VALUES = 4
#: The characters of a description that are searched; the encoder reads no more (QUESTION_PIECES).
NAMED_WITHIN = 240
#: Words in quotation marks, and codes in capital letters: the texts that a description names.
_QUOTED = re.compile(
    r"(?<!\w)(?:\"([^\"]{1,40})\"|'([^']{1,40})'|`([^`]{1,40})`|[“„«‘]([^”“»’]{1,40})[”“»’])(?!\w)"
)
_CODE = re.compile(r"\b[A-Z]{2,8}(?:/[A-Z]{1,3})?\b")


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value that a description names: its characters [start, end), and its canonical JSON text."""

    start: int
    end: int
    text: str


def named_values(slot: Slot, note: str, typed: bool) -> tuple[NamedValue, ...]:
    """Returns the named values of a description that the slot accepts, in order; `typed` ones are whole mentions."""
    if not note or slot.options:
        return ()
    note = note[:NAMED_WITHIN]
    reader = MentionReader(note)
    if typed:
        # The only number words are those for zero: "the first one" names no value. "null" is JSON's here, though it is
        # a number in German.
        values = [
            NamedValue(a, b, text.decode())
            for a, b, text in reader.typed_mentions(slot)
            if any(map(str.isdigit, note[a:b])) or (text == b"0" and note[a:b].lower() != "null")
        ]
    else:
        values = []
        for match in sorted([*_QUOTED.finditer(note), *_CODE.finditer(note)], key=lambda m: m.start()):
            inner = match.lastindex or 0
            read = reader.read(slot, match.span(inner))
            if read is not None:
                values.append(NamedValue(*match.span(inner), read.decode()))
    # A number that is also a code is one value. If one value lies within another ("12 June 2020", "2020"), the longer
    # one counts.
    places = {(n.start, n.end): n for n in reversed(values)}
    whole = [n for n in reversed(places.values()) if not any(_within(n, other) for other in values)]
    return tuple(whole[-NAMED_VALUES:])


def _within(inner: NamedValue, outer: NamedValue) -> bool:
    return inner is not outer and outer.start <= inner.start and inner.end <= outer.end and (
        inner.end - inner.start < outer.end - outer.start
    )  # fmt: skip
