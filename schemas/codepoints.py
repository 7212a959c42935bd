"""Sets of code points as sorted, disjoint ranges, and the named sets of ECMA-262 and Unicode.

A set is a tuple of (first, last), both inclusive, within 0 .. 0x10FFFF.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
ANY: Ranges = ((0, LAST),)
DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
# White space of ECMA-262: that of Unicode's Zs, the byte order mark and the line terminators.
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
WHITE_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), *SPACES[2:-1])
HEX_DIGITS: Ranges = ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))
FULL_WIDTH_HEX: Ranges = ((0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46))

# The long names of general categories (UAX 44, PropertyValueAliases.txt).
CATEGORIES = {
    "Cased_Letter": "LC",
    "Close_Punctuation": "Pe",
    "Connector_Punctuation": "Pc",
    "Control": "Cc",
    "cntrl": "Cc",
    "Currency_Symbol": "Sc",
    "Dash_Punctuation": "Pd",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf",
    "Format": "Cf",
    "Initial_Punctuation": "Pi",
    "Letter": "L",
    "Letter_Number": "Nl",
    "Line_Separator": "Zl",
    "Lowercase_Letter": "Ll",
    "Mark": "M",
    "Combining_Mark": "M",
    "Math_Symbol": "Sm",
    "Modifier_Letter": "Lm",
    "Modifier_Symbol": "Sk",
    "Nonspacing_Mark": "Mn",
    "Number": "N",
    "Open_Punctuation": "Ps",
    "Other": "C",
    "Other_Letter": "Lo",
    "Other_Number": "No",
    "Other_Punctuation": "Po",
    "Other_Symbol": "So",
    "Paragraph_Separator": "Zp",
    "Private_Use": "Co",
    "Punctuation": "P",
    "punct": "P",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Spacing_Mark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecase_Letter": "Lt",
    "Unassigned": "Cn",
    "Uppercase_Letter": "Lu",
}


def normalised(ranges: Iterable[tuple[int, int]]) -> Ranges:
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


def where(test: Callable[[str], bool]) -> Ranges:
    """The code points for which this holds; it takes a second, so callers keep the result."""
    out: list[tuple[int, int]] = []
    start = -1
    for code in range(sys.maxunicode + 2):
        inside = code <= LAST and test(chr(code))
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            out.append((start, code - 1))
            start = -1
    return tuple(out)


@lru_cache(maxsize=1)
def _by_category() -> dict[str, list[tuple[int, int]]]:
    """The ranges of each two-letter general category."""
    table: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for code, char in enumerate(map(chr, range(LAST + 1))):
        found = unicodedata.category(char)
        if found != current:
            table.setdefault(current, []).append((start, code - 1))
            start, current = code, found
    table.setdefault(current, []).append((start, LAST))
    return table


@lru_cache(maxsize=128)
def property_ranges(name: str, value: str) -> Ranges | None:
    """The code points of `\\p{name}` (value "") or `\\p{name=value}`; None where not known here.

    General categories by all their names, and those binary properties that Python's tables hold exactly.
    """
    if name in ("General_Category", "gc"):
        return _category(value)
    if value:
        return None
    match name:
        case "Any":
            return ANY
        case "ASCII":
            return ((0, 0x7F),)
        case "Assigned":
            return complement(normalised(_by_category()["Cn"]))
        case "ASCII_Hex_Digit" | "AHex":
            return HEX_DIGITS
        case "Hex_Digit" | "Hex":
            return HEX_DIGITS + FULL_WIDTH_HEX
        case "White_Space" | "space":
            return WHITE_SPACE
        case "Uppercase" | "Upper":
            return where(str.isupper)
        case "Lowercase" | "Lower":
            return where(str.islower)
    return _category(name)


def _category(name: str) -> Ranges | None:
    short = CATEGORIES.get(name, name)
    if short == "LC":
        wanted = ["Lu", "Ll", "Lt"]
    elif len(short) in (1, 2):
        wanted = [category for category in _by_category() if category.startswith(short)]
    else:
        wanted = []
    return normalised(r for category in wanted for r in _by_category()[category]) if wanted else None
