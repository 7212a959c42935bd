"""Sets of code points as sorted, disjoint ranges, and the named sets of ECMA-262 and Unicode.

A set is a tuple of (first, last), both inclusive, within 0 .. 0x10FFFF.
"""

from __future__ import annotations

import re
import unicodedata
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

# The short names of binary properties (ECMA-262, table 68), without those that the package lacks.
BINARY_PROPERTIES = {
    "AHex": "ASCII_Hex_Digit",
    "Alpha": "Alphabetic",
    "Bidi_C": "Bidi_Control",
    "Bidi_M": "Bidi_Mirrored",
    "CI": "Case_Ignorable",
    "Cased": "Cased",
    "CWCF": "Changes_When_Casefolded",
    "CWCM": "Changes_When_Casemapped",
    "CWL": "Changes_When_Lowercased",
    "CWT": "Changes_When_Titlecased",
    "CWU": "Changes_When_Uppercased",
    "Dash": "Dash",
    "DI": "Default_Ignorable_Code_Point",
    "Dep": "Deprecated",
    "Dia": "Diacritic",
    "Emoji": "Emoji",
    "EComp": "Emoji_Component",
    "EMod": "Emoji_Modifier",
    "EBase": "Emoji_Modifier_Base",
    "EPres": "Emoji_Presentation",
    "ExtPict": "Extended_Pictographic",
    "Ext": "Extender",
    "Gr_Base": "Grapheme_Base",
    "Gr_Ext": "Grapheme_Extend",
    "Hex": "Hex_Digit",
    "IDSB": "IDS_Binary_Operator",
    "IDST": "IDS_Trinary_Operator",
    "IDC": "ID_Continue",
    "IDS": "ID_Start",
    "Ideo": "Ideographic",
    "Join_C": "Join_Control",
    "LOE": "Logical_Order_Exception",
    "Lower": "Lowercase",
    "Math": "Math",
    "NChar": "Noncharacter_Code_Point",
    "Pat_Syn": "Pattern_Syntax",
    "Pat_WS": "Pattern_White_Space",
    "QMark": "Quotation_Mark",
    "Radical": "Radical",
    "RI": "Regional_Indicator",
    "STerm": "Sentence_Terminal",
    "SD": "Soft_Dotted",
    "Term": "Terminal_Punctuation",
    "UIdeo": "Unified_Ideograph",
    "Upper": "Uppercase",
    "VS": "Variation_Selector",
    "space": "White_Space",
    "XIDC": "XID_Continue",
    "XIDS": "XID_Start",
}


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


@lru_cache(maxsize=1)
def _by_category() -> dict[str, list[tuple[int, int]]]:
    """The ranges of each two-letter general category."""
    table: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for code, char in enumerate(map(chr, range(LAST + 1))):
        category = unicodedata.category(char)
        if category != current:
            table.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    table.setdefault(current, []).append((start, LAST))
    return table


@lru_cache(maxsize=128)
def property_ranges(name: str, value: str) -> Ranges | None:
    """The code points of `\\p{name}` (value "") or `\\p{name=value}`; None if the name is not known.

    All names of ECMA-262, tables 67 to 69, are known; the package `regex` defines scripts and binary properties.
    """
    match name:
        case "General_Category" | "gc":
            return _category(value)
        case "Script" | "sc" | "Script_Extensions" | "scx":
            return _of_package(f"{name}={value}") if _SCRIPT.fullmatch(value) else None
        case _ if value:
            return None
        case "Any":
            return ANY
        case "ASCII":
            return ((0, 0x7F),)
        case "Assigned":
            return complement(normalise(_by_category()["Cn"]))
    name = BINARY_PROPERTIES.get(name, name)
    return _of_package(name) if name in BINARY_PROPERTIES.values() else _category(name)


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


def _category(name: str) -> Ranges | None:
    short = CATEGORIES.get(name, name)
    if short == "LC":
        wanted = ["Lu", "Ll", "Lt"]
    elif len(short) in (1, 2):
        wanted = [category for category in _by_category() if category.startswith(short)]
    else:
        wanted = []
    return normalise(r for category in wanted for r in _by_category()[category]) if wanted else None
