"""Sets of code points as sorted, disjoint ranges, and the named sets of ECMA-262 and Unicode.

A set is a tuple of (first, last), both inclusive, within 0 .. 0x10FFFF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import regex

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
ANY: Ranges = ((0, LAST),)
DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
# White space of ECMA-262: Unicode's category Zs, the byte order mark and the line terminators.
SPACES: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
# The name of a script, long or of four letters, in the spelling of PropertyValueAliases.txt.
_SCRIPT = re.compile("[A-Z][A-Za-z]+(?:_[A-Z][a-z]+)*")


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same code points as sorted ranges that neither overlap nor touch."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return tuple(out)


def complement(ranges: Ranges) -> Ranges:
    """All other code points."""
    out, start = [], 0
    for first, last in ranges:
        if start < first:
            out.append((start, first - 1))
        start = last + 1
    return (*out, (start, LAST)) if start <= LAST else tuple(out)


@lru_cache(maxsize=128)
def property_ranges(name: str, value: str) -> Ranges | None:
    """The code points of `\\p{name}` (value "") or `\\p{name=value}`; None if the name is not known.

    The package `regex` defines general categories, scripts and binary properties by all names of Unicode.
    """
    match name:
        case "General_Category" | "gc":
            return _of_package(f"gc={value}")
        case "Script" | "sc" | "Script_Extensions" | "scx":
            return _of_package(f"{name}={value}") if _SCRIPT.fullmatch(value) else None
        case _ if value:
            return None
        case "Any":
            return ANY
        case "ASCII":
            return ((0, 0x7F),)
        case "Assigned":
            return complement(_of_package("gc=Cn") or ())
    # By its short name alone the package may find a block instead.
    category = _of_package(f"gc={name}")
    return _of_package(f"{name}=Yes") if category is None else category


def _of_package(name: str) -> Ranges | None:
    """The code points of this property by the package `regex`; None if the package does not know it."""
    try:
        runs = regex.finditer(rf"\p{{{name}}}+", _every())
    except regex.error:
        return None
    return tuple((run.start(), run.end() - 1) for run in runs)


@lru_cache(maxsize=1)
def _every() -> str:
    return "".join(map(chr, range(LAST + 1)))
