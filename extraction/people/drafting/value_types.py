"""The JSON Schema of a field from the texts of its values: numbers, dates, addresses, choices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cinnabar.engine.readings.codes import CURRENCY_CODES, CURRENCY_SIGNS
from cinnabar.engine.readings.dates import read_date
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import digits_to_decimals
from cinnabar.engine.readings.times import TIME, read_datetimes, read_time
from cinnabar.schemas.decimals import DECIMALS

#: The share of a field's values that must be of a type; the rest may be misread, or printed in another way.
SHARE = 0.9
#: The most choices of an enum, the characters of the longest, and how often each has to come on average.
MOST_CHOICES, LONGEST_CHOICE, TIMES_EACH = 12, 40, 3
#: Digits from which on a whole number is a code, such as the number of an account or a telephone.
CODE_DIGITS = 10
#: The decimal places that a decimal column may get: the first that holds all places seen, so that it holds others too.
PLACES = (2, 4, 9)

_MONEY = rf"(?:[A-Z]{{3}}|(?:[A-Z]{{1,3}})?[{CURRENCY_SIGNS}])"
_AMOUNT = re.compile(
    rf"(?P<before>{_MONEY})?\s?(?P<sign>[-+−–(]?)\s?(?P<money>{_MONEY})?\s?"
    r"(?P<digits>\d[\d.,'’ \u00a0\u202f\u2009]*(?<=\d)|[.,]\d+)\)?[-−]?\s?"
    rf"(?P<unit>[^\d\W]{{1,12}}\.?|[%°]\w?|{_MONEY})?"
)
_EMAIL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_URI = re.compile(r"(https?|ftp)://[^\s<>\"{}|\\^`]+")
_TELEPHONE = re.compile(r"(?=(?:\D*\d){6,15}\D*$)(\+|\(?0)[\d()/. \u00a0-]+\d")
_CLOCK = re.compile(r"^([01][0-9]|2[0-3]):[0-5][0-9]$")
_TRUTHS = frozenset({"true", "false"})


@dataclass(frozen=True, slots=True)
class Value:
    """The text of a value and the conventions of the document that it stands in."""

    text: str
    locale: Locale


@dataclass(frozen=True, slots=True)
class _Amount:
    places: int
    whole: bool
    unit: str
    money: bool


def text_type(values: Sequence[Value]) -> dict[str, Any]:
    """The JSON Schema of a field with these values: its type, format, places and choices, and `examples` of codes.

    A value that no type reads is a text. `description` tells a unit, a currency or a kind of text that no keyword says.
    """
    stated = [value for value in values if value.text.strip()]
    if not stated:
        return {"type": "string"}
    for schema_of in (_boolean, _date, _date_time, _clock, _number, _common_form):
        if (schema := schema_of(stated)) is not None:
            return schema
    return _choices(stated) or _text(stated)


def decimal_places(places: int) -> dict[str, int]:
    """The keyword for numbers of which these are the most decimal places seen; none if they are too many."""
    allowed = next((one for one in PLACES if places <= one), None)
    return {} if allowed is None else {DECIMALS: allowed}


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with null beside its values."""
    widened = dict(schema)
    if isinstance(widened.get("type"), str) and widened["type"] not in ("array", "object"):
        widened["type"] = [widened["type"], "null"]
        if "enum" in widened:
            widened["enum"] = [*widened["enum"], None]
    return widened


def _most(values: Sequence[Value], reads: Callable[[Value], object]) -> bool:
    return sum(bool(reads(value)) for value in values) >= SHARE * len(values)


def _boolean(values: Sequence[Value]) -> dict[str, Any] | None:
    return {"type": "boolean"} if all(value.text.strip().lower() in _TRUTHS for value in values) else None


def _date(values: Sequence[Value]) -> dict[str, Any] | None:
    dates = _most(values, lambda one: read_date(one.text.strip(), one.locale))
    return {"type": "string", "format": "date"} if dates else None


def _date_time(values: Sequence[Value]) -> dict[str, Any] | None:
    def reads(one: Value) -> bool:
        return len(one.text) <= 60 and any(read_datetimes(one.text.strip(), one.locale))

    return {"type": "string", "format": "date-time"} if _most(values, reads) else None


def _clock(values: Sequence[Value]) -> dict[str, Any] | None:
    def reads(one: Value) -> bool:
        match = TIME.fullmatch(one.text.strip())
        return match is not None and any(_CLOCK.match(time) for time in read_time(match))

    return {"type": "string", "pattern": _CLOCK.pattern} if _most(values, reads) else None


def _number(values: Sequence[Value]) -> dict[str, Any] | None:
    read = [_amount(value) for value in values]
    amounts = [one for one in read if one is not None]
    if len(amounts) < SHARE * len(values):
        return None
    units = Counter(one.unit for one in amounts if not one.money)
    # One unit behind every number is its unit; different words behind numbers are part of a text.
    if len([unit for unit in units if unit]) > 1 or (units and units.most_common(1)[0][1] < SHARE * units.total()):
        return None
    money = sum(one.money for one in amounts)
    schema: dict[str, Any] = {"type": "integer"}
    if money or not all(one.whole for one in amounts):
        schema = {"type": "number", **decimal_places(max(one.places for one in amounts))}
    if unit := next((unit for unit in units if unit), ""):
        schema["description"] = f"in {unit}"
    elif money:
        schema["description"] = "without the currency"
    return schema


def _amount(value: Value) -> _Amount | None:
    match = _AMOUNT.fullmatch(value.text.strip())
    if match is None:
        return None
    digits = match["digits"]
    plain = re.sub(r"\D", "", digits)
    read = digits_to_decimals(digits, value.locale)
    unit = match["unit"] or ""
    signs = [one for one in (match["before"], match["money"], unit) if one]
    currencies = [one for one in signs if _is_currency(one)]
    if not read or (digits.isdigit() and (len(plain) >= CODE_DIGITS or (plain[0] == "0" and len(plain) > 1))):
        return None
    if len(currencies) != len(signs) - (bool(unit) and not _is_currency(unit)):
        return None
    number = Decimal(read[0])
    places = max(0, -int(number.as_tuple().exponent))
    return _Amount(places, "." not in read[0], "" if _is_currency(unit) else unit, bool(currencies))


def _is_currency(text: str) -> bool:
    return text in CURRENCY_CODES or any(sign in text for sign in CURRENCY_SIGNS)


def _common_form(values: Sequence[Value]) -> dict[str, Any] | None:
    """The schema of texts of a form that everybody knows."""
    if _most(values, lambda one: _EMAIL.fullmatch(one.text.strip())):
        return {"type": "string", "format": "email"}
    if _most(values, lambda one: _URI.fullmatch(one.text.strip())):
        return {"type": "string", "format": "uri"}
    if _most(values, lambda one: one.text.strip() in CURRENCY_CODES):
        return {"type": "string", "pattern": "^[A-Z]{3}$", "description": "code of ISO 4217"}
    if _most(values, lambda one: _TELEPHONE.fullmatch(one.text.strip())):
        return {"type": "string", "description": "a telephone number"}
    return None


def _choices(values: Sequence[Value]) -> dict[str, Any] | None:
    counts = Counter(" ".join(value.text.split()) for value in values)
    few = 2 <= len(counts) <= MOST_CHOICES and counts.total() >= TIMES_EACH * len(counts)
    if not few or max(map(len, counts)) > LONGEST_CHOICE:
        return None
    return {"type": "string", "enum": sorted(counts)}


def _text(values: Sequence[Value]) -> dict[str, Any]:
    """A text; two of its values are examples if figures are in them, because the reader then knows their form."""
    texts = list(dict.fromkeys(" ".join(value.text.split()) for value in values))
    codes = [text for text in texts if len(text) <= LONGEST_CHOICE and any(sign.isdigit() for sign in text)]
    schema: dict[str, Any] = {"type": "string"}
    if len(codes) >= SHARE * len(texts):
        schema["examples"] = codes[:2]
    return schema
