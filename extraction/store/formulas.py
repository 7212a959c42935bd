"""Defuses texts that a spreadsheet program would run as formulas (OWASP, CSV injection).

Such a program drops blanks, NUL and other characters that nobody sees before it looks for a formula. Under a locale
with `;` between cells it also splits a quoted text at each `;`, tab and line break, so a formula may begin there.
"""

from __future__ import annotations

import re

#: The apostrophe before a formula that makes it plain text; without it the text is the original again.
DEFUSED = "'"
# Blanks, control and format characters, apostrophes and quotation marks.
_SKIPPED = (
    "[\\s\\x00-\\x20\\x7f-\\xa0\\xad\\u061c\\u180e\\u200b-\\u200f"
    "\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb'\"]*"
)
# Also in full width and as small forms, which some programs take for the plain ones.
_STARTS = "[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20\\ufe66\\ufe62\\ufe63\\ufe6b]"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_CUTS = ";\t\r\n"
#: The places before which a formula, a tab or a line break begins a cell; a number alone is no formula.
FORMULA = re.compile(
    rf"(?:^(?='*[\t\r\n])|(?:^(?!\ *{_NUMBER}\Z)|(?<=[{_CUTS}])(?!\ *{_NUMBER}(?:[{_CUTS}]|\Z)))"
    rf"(?={_SKIPPED}{_STARTS}))"
)


def defuse(text: str) -> str:
    """Returns a text with an apostrophe at each place where a cell would begin with a formula."""
    return FORMULA.sub(DEFUSED, text)


def restore(text: str) -> str:
    """Returns the text that `defuse` was given."""
    return re.sub(f"{FORMULA.pattern}{DEFUSED}", "", text)
