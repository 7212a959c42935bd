"""Numbers: a dash beside one is its sign, or joins it to the other end of a range; one tax of several is no sum."""

from __future__ import annotations

import re
from decimal import Decimal

from cinnabar.engine.readings.codes import CURRENCY_SIGNS
from cinnabar.engine.readings.dates import dates_in
from cinnabar.engine.readings.numerals import digits_to_decimals
from cinnabar.engine.readings.unsigned import asks_unsigned
from cinnabar.extraction.filling.surroundings.beside import CORRECTED, DOUBTED, Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import IN_RANGE, NULL_AS_TOLD, SIGN, SIGN_DROPPED
from cinnabar.extraction.filling.surroundings.words import whole_words
from cinnabar.schemas.automata.numbers import canonical_number

_CURRENCY = rf"(?:(?-i:[A-Z]{{3}})|[{CURRENCY_SIGNS}])"
_NUMBER = r"\d(?:[\d.,'’]*\d)?(?: \d{3})*(?:[.,]\d+)?"
_DASHES = "-\u2010-\u2015\u2212\ufe63\uff0d"
_JOINT = rf"\s?{_CURRENCY}?\s?(?:[{_DASHES}…]|\b(?:up to|to|until|bis|jusqu'à|à|au|al?|hasta|tot)\b)\s?{_CURRENCY}?\s?"
_OTHER_END = re.compile(rf"{_JOINT}(?P<number>{_NUMBER})")
_FIRST_END = re.compile(rf"(?P<number>{_NUMBER}){_JOINT}$")
_ASKS_LEAST, _ASKS_MOST, _ASKS_SUM = whole_words("least"), whole_words("most"), whole_words("sum")
_RATE, _WORD = re.compile(rf"({_NUMBER})\s?%"), re.compile(r"[^\W\d_]{2,}")
# How far a tax may be from its rate.
_TAX_ROUNDED = Decimal("0.011")
# What a field's label may end with.
_FROM, _TO = re.compile(r"\b(?:from|von|ab|vanaf|desde|da)$", re.I), re.compile(r"\b(?:to|until|bis|tot|hasta)$", re.I)
_MINUS_BEFORE = re.compile(
    # A dash with blanks around it is a sign behind a colon or a gap; it divides behind a word, and begins an item.
    rf"(?:(?:^|[\s(:|{CURRENCY_SIGNS}])[{_DASHES}](?!\s)|(?:[(:|]|\S\t|\S\s\s+)\s?(?:{_CURRENCY}\s?)?[{_DASHES}]"
    r"|[△▲]|\b(?:minus|moins|meno|menos|negative?)\b)"
    rf"\s?{_CURRENCY}?\s?$",
    re.IGNORECASE,
)
_MINUS_BEHIND = re.compile(
    rf"[{_DASHES}](?!\w)(?=\s|$)|\s?{_CURRENCY}?[{_DASHES}](?=\s*$)|\s?(?:{_CURRENCY}\s?)?(?:CR|Cr)\b"
)
# Accounts print what is lost in brackets.
_BRACKET_BEFORE, _BRACKET_BEHIND = re.compile(r"[^\W\d_][\s:]*\($"), re.compile(r"\)\s*(?:$|\t|\||  )")
_LABEL_DASH = re.compile(rf"[^\W\d_]\s[{_DASHES}]\s{_CURRENCY}?\s?$")
_DEBIT = re.compile(r"\d\s?(?:DR|Dr)\b")
# A dash with blanks around it, or one that divides a number from a remark.
_DIVIDING_BEHIND = re.compile(rf"\s+(?:{_CURRENCY}\s)?[{_DASHES}]\s*(?=\S)|\s?[{_DASHES}]\s?{_CURRENCY}?\s?\d")


def _range(one: Beside) -> Effect | None:
    """One end of a range is the one that the field asks for, or is in doubt."""
    if not _is_number(one) or not one.spans:
        return None
    behind, before = _OTHER_END.match(one.after), _FIRST_END.search(one.before)
    if (behind is None) == (before is None) or _is_dated(one):
        return None
    other = behind or before
    assert other is not None, "one end has another"
    if re.match(rf"\s?[{_DASHES}./]\s?\d", one.after[behind.end() :] if behind else one.after):
        return None
    numbers = [one.printed, other["number"]] if behind else [other["number"], one.printed]
    read = [digits_to_decimals(re.sub(r"[^\d.,'’ ]", "", text).strip(), one.locale) for text in numbers]
    if not all(read) or Decimal(read[0][0]) >= Decimal(read[1][0]):
        return None
    label = one.asked.label.partition(" (")[0]
    least = bool(_ASKS_LEAST.search(one.words) or _FROM.search(label))
    most = bool(_ASKS_MOST.search(one.words) or _TO.search(label))
    start, end = one.spans[0][0], one.spans[-1][1]
    span = (start, end + behind.end()) if behind else (start - len(other[0]), end)
    if least == most:
        own = canonical_number(read[0 if behind else 1][0])
        return Effect(IN_RANGE, own if one.slot.accepts(own.encode()) else None, (span,), DOUBTED)
    text = canonical_number(read[1 if most else 0][0])
    return Effect(IN_RANGE, text, (span,), one.leaf.confidence if text == one.leaf.text else CORRECTED)


def _sign(one: Beside) -> Effect | None:
    """A number has the minus that is printed with it, in any spelling, and none that divides it from a remark."""
    text = one.leaf.text or ""
    if not _is_number(one) or not one.spans or asks_unsigned(one.slot.description) or text in ("0", "0.0"):
        return None
    inside = re.search(r"\d.*\d|\d", one.printed)
    if inside is None:
        return None
    before, behind = one.before + one.printed[: inside.start()], one.printed[inside.end() :] + one.after
    minus = _MINUS_BEFORE.search(before) is not None or (
        (mark := _MINUS_BEHIND.match(behind)) is not None
        and not (mark[0].lower().endswith("cr") and _DEBIT.search(one.document.text))
    )
    if _BRACKET_BEFORE.search(before) and _BRACKET_BEHIND.match(behind) and re.search(r"[.,'’]\d", inside[0]):
        minus = True
    if minus and not text.startswith("-"):
        negative = f"-{text}"
        accepted = one.slot.accepts(negative.encode())
        return Effect(SIGN, negative, one.spans, CORRECTED) if accepted else Effect(SIGN_DROPPED, most=DOUBTED)
    divided = "(" not in before[-4:] and (_DIVIDING_BEHIND.match(behind) or _LABEL_DASH.search(before))
    if text.startswith("-") and not minus and divided:
        return Effect(SIGN, text[1:], one.spans, CORRECTED)
    return None


def _one_tax(one: Beside) -> Effect | None:
    """The tax of one rate is no sum of taxes where the next line has the tax of another rate."""
    asks_one = re.search(r"[\d%]", one.words) or not _ASKS_SUM.search(one.words)
    if asks_one or not _is_number(one) or not one.spans or re.search(r"/\d+(?:/|$)", one.pointer):
        return None
    text, end = one.document.text, one.spans[-1][1]
    own = None if any(map(str.isdigit, one.after)) else _read_tax_line(text[one.line[0] : end], one)
    lines = [text[slice(*one.line_of(at, at))] for at in (one.line[0] - 1, one.line[1] + 1) if 0 <= at < len(text)]
    others = [found for line in lines if (found := _read_tax_line(line, one))]
    if own is None or not any(words == own[0] and rate != own[1] for words, rate in others):
        return None
    return Effect(NULL_AS_TOLD, "null" if one.slot.nullable else None, most=DOUBTED)


def _read_tax_line(line: str, one: Beside) -> tuple[list[str], Decimal] | None:
    """Returns the words of a line that ends with a tax, and its rate in percent; None if no rate tells a tax."""
    read = [digits_to_decimals(match[0], one.locale) for match in re.finditer(_NUMBER, line)]
    *numbers, tax = [Decimal(own[0]) for own in read if own] or [Decimal(0)]
    printed = _RATE.search(line)
    rates = digits_to_decimals(printed[1], one.locale)[:1] if printed else []
    told = [rate for rate in numbers for net in numbers if rate < 100 and abs(rate * net / 100 - tax) <= _TAX_ROUNDED]
    rate = next(iter([*map(Decimal, rates), *told]), None)
    return (_WORD.findall(line), rate) if numbers and tax and rate else None


def _is_number(one: Beside) -> bool:
    return one.slot.kind in ("number", "integer") and one.value is not None


def _is_dated(one: Beside) -> bool:
    """Returns whether the words of a number are part of a date."""
    start, end = one.line
    own = one.spans[0][0] - start
    return any(a <= own < b for a, b, _ in dates_in(one.document.text[start:end][: own + 200], one.locale))


NUMBERS: tuple[Kind, ...] = (_one_tax, _range, _sign)
