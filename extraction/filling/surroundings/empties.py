"""Cells without a value: an error of a sheet, a placeholder, hashes of a column that is too narrow."""

from __future__ import annotations

import re

from cinnabar.extraction.filling.surroundings.beside import Beside, Finding, Kind
from cinnabar.extraction.filling.surroundings.thresholds import DOUBTED, UNLABELLED

#: The flag of a value in whose place the document shows an error or nothing.
NOT_SHOWN = "not_shown"
_ERROR = re.compile(
    r"#(?:DIV/0!|NULL!|N/A|REF!|VALUE!|NUM!|NAME\?|SPILL!|CALC!|WERT!|BEZUG!|NV|ZAHL!|VALEUR!|NOMBRE!)|\bNaN\b"
    r"|#{3,}(?![^\s\t|,;])|(?<!\w)Err:\d{3}(?!\w)"
)
# What may stand between a label and its value.
_TO_VALUE = re.compile(r"[\s:=|,;\"']*")


def _error(one: Beside) -> Finding | None:
    """A field has no value where the document shows an error beside its label, or in the words of the value."""
    if one.value is None or ("#" not in one.document.text and "NaN" not in one.document.text):
        return None
    if one.spans and _covered(one):
        return _nothing(one)
    for start, end in one.labels():
        line = one.line_of(start, end)
        behind = _TO_VALUE.match(one.document.text, end, line[1])
        at = behind.end() if behind is not None else end
        if _ERROR.match(one.document.text, at, line[1]) and not any(start <= a < line[1] for a, _ in one.spans):
            return _nothing(one)
    return None


def _covered(one: Beside) -> bool:
    """Returns whether the words of a value lie within an error."""
    start, end = one.line
    own = one.spans[0][0], one.spans[-1][1]
    found = _ERROR.finditer(one.document.text, start, end)
    return any(error.start() <= own[0] and own[1] <= error.end() for error in found)


def _nothing(one: Beside) -> Finding:
    return Finding(NOT_SHOWN, "null", most=UNLABELLED) if one.slot.nullable else Finding(NOT_SHOWN, most=DOUBTED)


KINDS: tuple[Kind, ...] = (_error,)
