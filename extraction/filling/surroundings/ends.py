"""Where a value ends: an account number by its check digits, a text that was cut to fit a length."""

from __future__ import annotations

import json
import re

from cinnabar.engine.readings.codes import ACCOUNT_LENGTHS, account_at
from cinnabar.extraction.filling.surroundings.beside import CORRECTED, DOUBTED, Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import ACCOUNT, CODE, CUT

_ASKS_CODE = re.compile(
    r"\b(?:\w*numbers?|no|nr|\w*nummer|num[eé]ro|número|codes?|id|ean|gtin|isbn|siret|siren)\b", re.IGNORECASE
)
_IS_WORD = re.compile(r"[^\W\d_]*[^\W\d_A-Z]{3}")
_ACCOUNT = re.compile(r"[A-Z]{2}\d{2}[ A-Z\d]{8,}")
# What goes on after a value, as far as the next gap, comma or line.
_GOES_ON = re.compile(r"[^\W_]|[ -](?=[^\W_])")


def _account(one: Beside) -> Effect | None:
    """An account number (ISO 13616) ends where its country's length and its check digits say, or is in doubt."""
    if not isinstance(one.value, str) or not one.spans or not _ACCOUNT.match(one.printed):
        return None
    start = one.spans[0][0]
    found = account_at(one.document.text, start)
    if found is None:
        printed = re.sub(r"\W", "", one.printed)
        whole = ACCOUNT_LENGTHS.get(printed[:2]) == len(printed) or re.search(r"\biban\b", one.words)
        return Effect(ACCOUNT, most=DOUBTED) if whole else None
    end, account = found
    printed = " ".join(one.document.text[start:end].split())
    text = json.dumps(printed if " " in one.value else account)
    if re.sub(r"\W", "", one.value) == account or not one.slot.accepts(text.encode()):
        return None
    return Effect(ACCOUNT, text, ((start, end),), CORRECTED)


def _code(one: Beside) -> Effect | None:
    """A number that names something ends where its check digit fits, or before the words that follow it."""
    text = one.value
    if not isinstance(text, str) or not one.spans or one.slot.options or not _ASKS_CODE.search(one.asked.label):
        return None
    words = text.split(" ")
    heads = (place for place in range(len(words) - 1, 0, -1) if _checks("".join(words[:place])))
    count = next(heads, 0) or next((place for place, word in enumerate(words) if _IS_WORD.match(word)), 0)
    head = " ".join(words[:count]).rstrip(",;.")
    if len(re.findall(r"\d", head)) < 4 or re.search(r"[^\W\d_]{3}", head) or one.printed[: len(head)] != head:
        return None
    cut, start = json.dumps(head, ensure_ascii=False), one.spans[0][0]
    return Effect(CODE, cut, ((start, start + len(head)),), CORRECTED) if one.slot.accepts(cut.encode()) else None


def _checks(digits: str) -> bool:
    """Returns whether these are the digits of an article (GTIN-13), or of a card or a company (ISO 7812, Luhn)."""
    digits = digits.replace("-", "")
    if not digits.isdigit() or not 13 <= len(digits) <= 19:
        return False
    own = [int(sign) for sign in reversed(digits)]
    article = len(own) == 13 and (sum(own[::2]) + 3 * sum(own[1::2])) % 10 == 0
    return article or (sum(own[::2]) + sum(sum(divmod(2 * one, 10)) for one in own[1::2])) % 10 == 0


def _longer_line(one: Beside) -> bool:
    """Returns whether the line of the field's label says more than the length of the field takes."""
    text = one.document.text
    for start, end in one.labels():
        line = one.line_of(start, end)
        said = re.match(r"\s*:\s*(\S.*)", text[end : line[1]])
        if said and not text[line[0] : start].strip() and said[1].strip() != one.value:
            return not one.slot.accepts(json.dumps(said[1].strip(), ensure_ascii=False).encode())
    return False


def _cut(one: Beside) -> Effect | None:
    """A text that the schema's length ends in the midst of its words is in doubt."""
    slot, value = one.slot, one.value
    bounded = slot.max_length is not None or "character" in slot.bounds
    if not bounded or slot.options or slot.pattern or slot.format or not isinstance(value, str) or not one.spans:
        return None
    if _longer_line(one):
        return Effect(CUT, most=DOUBTED)
    if not value or not value[-1].isalnum() or not _GOES_ON.match(one.after) or one.leaf.origin != "copied":
        return None
    following = re.match(r"[ -]?[^\W_]+", one.after)
    longer = value + (following[0] if following is not None else "")
    return None if slot.accepts(json.dumps(longer, ensure_ascii=False).encode()) else Effect(CUT, most=DOUBTED)


ENDS: tuple[Kind, ...] = (_account, _code, _cut)
