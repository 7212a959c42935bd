"""Words in messages for people: counts, and texts of documents that a terminal must not obey."""

from __future__ import annotations

import re

# The characters that a terminal obeys or does not show: Unicode's Cc, Cf, Cs, Zl and Zp. Joiners are left,
# because scripts and emoji need them, and so are the visible signs among Cf, such as those before Arabic numbers.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U00013430-\U00013438\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)


def with_noun(count: int, one: str, more: str = "") -> str:
    """Returns a count with its noun: `one` for 1, else `more` (`one` with an s if it is not given)."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def harmless(text: str) -> str:
    """Returns the text with control, direction and hidden characters as escapes: no document controls a terminal."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
