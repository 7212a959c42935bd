"""Where a value ends: an account number by its check digits, a text that was cut to fit a length."""

from __future__ import annotations

import json
import re

from cinnabar.engine.readings.codes import account_at
from cinnabar.extraction.filling.surroundings.beside import Beside, Finding, Kind
from cinnabar.extraction.filling.surroundings.thresholds import CORRECTED, DOUBTED

#: The flags of an account number that was read too far or not far enough, and of a text that the schema's length cut.
ACCOUNT, CUT = "account_end", "cut_text"
_ACCOUNT = re.compile(r"[A-Z]{2}\d{2}[ A-Z\d]{8,}")
# What goes on after a value, as far as the next gap, comma or line.
_GOES_ON = re.compile(r"[^\W_]|[ -](?=[^\W_])")


def _account(one: Beside) -> Finding | None:
    """An account number (ISO 13616) ends where its country's length and its check digits say."""
    if not isinstance(one.value, str) or not one.spans or not _ACCOUNT.match(one.printed):
        return None
    start = one.spans[0][0]
    found = account_at(one.document.text, start)
    if found is None:
        return None
    end, account = found
    printed = " ".join(one.document.text[start:end].split())
    text = json.dumps(printed if " " in one.value else account)
    if re.sub(r"\W", "", one.value) == account or not one.slot.accepts(text.encode()):
        return None
    return Finding(ACCOUNT, text, ((start, end),), CORRECTED)


def _cut(one: Beside) -> Finding | None:
    """A text that the schema's length ends in the midst of its words is in doubt."""
    slot, value = one.slot, one.value
    bounded = slot.max_length is not None or "character" in slot.bounds
    if not bounded or slot.options or slot.pattern or slot.format or not isinstance(value, str) or not one.spans:
        return None
    if not value or not value[-1].isalnum() or not _GOES_ON.match(one.after) or one.leaf.origin != "copied":
        return None
    following = re.match(r"[ -]?[^\W_]+", one.after)
    longer = value + (following[0] if following is not None else "")
    return None if slot.accepts(json.dumps(longer, ensure_ascii=False).encode()) else Finding(CUT, most=DOUBTED)


KINDS: tuple[Kind, ...] = (_account, _cut)
