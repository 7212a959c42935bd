"""Turns a span of text into its readings: the normalised values that it may mean, the likelier first.

A parser may normalise a chosen span, never choose it. The model points at a span, these functions list its readings,
and the slot's automaton takes the first reading that it accepts. No function here knows a field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from cinnabar.engine.readings.codes import CURRENCY_CODES, CURRENCY_SIGNS, account_at, codes_of, currencies_of
from cinnabar.engine.readings.dates import DURATION, dates_in, read_date, read_duration, read_month
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.numerals import FRACTIONS, digits_to_decimals, number_in_words
from cinnabar.engine.readings.quantities import end_of_range, quantities, scaled_numbers
from cinnabar.engine.readings.times import (
    HALF_AFTER,
    RANGE,
    STAMP,
    TIME,
    add_seconds,
    bare_time,
    is_beside,
    minutes_between,
    read_datetimes,
    read_time,
    rfc_times,
    zone_after,
)
from cinnabar.schemas.automata.numbers import canonical_number
from cinnabar.schemas.automata.strings import canonical_string

#: The characters on each side of a span that its readings may use (a sign, a currency, "pm" after a range).
READING_CONTEXT = 40
Kind = Literal["text", "number", "date", "datetime", "time", "duration", "code", "boolean"]


@dataclass(frozen=True, slots=True)
class ReadValue:
    """One value that a span may mean; a number is a plain decimal string."""

    value: str | bool
    kind: Kind


_TRUE = "yes y true ja oui sí sì si sim x [x] ☒ ☑ ✓ ✔ on wahr vrai 1"
_FALSE = "no n false nein non não nee off [] ☐ ✗ falsch faux 0"
#: What the texts of a boolean mean.
BOOLEANS = dict.fromkeys(_TRUE.split(), True) | dict.fromkeys(_FALSE.split(), False) | {"[ ]": False}

_OPENING = "\"'“”„‚‘’«»‹›([{<*_`"
_CLOSING = "\"'“”„‚‘’«»‹›)]}>*_`.,;:!?"
_PARTNER_OF_OPENING = dict(zip("([{<", ")]}>", strict=True))
_PARTNER_OF_CLOSING = dict(zip(")]}>", "([{<", strict=True))
_DIGIT = re.compile(r"\d")
_CORE = re.compile(
    r"(?P<pre>[^\d.,]*|[^\d]*?(?=[.,]?\d))(?P<num>(?:[.,](?=\d))?\d[\d.,'’ \u00a0\u202f\u2009]*(?<=\d)(?:\s?["
    + "".join(FRACTIONS)
    + r"])?|["
    + "".join(FRACTIONS)
    + r"])(?P<post>[^\d]*)",
    re.DOTALL,
)
_CURRENCY_WORD = (
    rf"[A-Z]{{3}}|(?:[A-Z]{{1,3}})?[{CURRENCY_SIGNS}]"
    r"|Rs\.?|RM|Fr\.|kr\.?|zł|Kč|Ft|Rp|TL|[Ee]uros?|[Dd]ollars?|[Pp]ounds?"
)
_CURRENCY = re.compile(rf"(?:{_CURRENCY_WORD})")
# Signs that may stand around an amount.
_PLAIN_AROUND = re.compile(rf"[\s()\[\]+\-−–~≈%‰:;=#*./,'\"’×&|{CURRENCY_SIGNS}]*")
_ORDINAL_TAIL = re.compile(r"(?:st|nd|rd|th|er|ère|e|º|ª|\.)(?:\b|$)", re.IGNORECASE)
_UNIT_TAIL = re.compile(r"\s*[^\W\d_]{1,5}(?![^\W_])")
_PARENTHESISED = re.compile(r"\(\s*(\d[\d.,]*)\s*\)")
# A dash with a gap or a tab beside it is a cell without a value.
_BLANK = "[ \u00a0\u202f]?"
_MINUS_BEFORE = re.compile(rf"(?:^|[\s(])[-−–]{_BLANK}(?:(?:{_CURRENCY_WORD}){_BLANK})?$")
_MINUS_LAST = re.compile(rf"(?:^|[\s(]|[^\w])[-−–]\s?(?:{_CURRENCY_WORD})?$")
# An amount of its own stands after a colon or a gap. A dash with a blank behind it is a sign there, and so are
# parentheses around a currency; after a word, or first on a line, a dash may divide or list, and parentheses add.
_ALONE = r"(?::\s*|\S(?:[ \u00a0]{2,}|\t\s*))"
_MINUS_APART = re.compile(rf"{_ALONE}[-−–][ \u00a0\u202f](?:(?:{_CURRENCY_WORD}){_BLANK})?$")
# A dash on the next line divides or lists, and so does one with a blank on either side.
_MINUS_AFTER = re.compile(
    rf"[-−](?=\s|$)|{_BLANK}[-−](?=\s*(?:\n|$))|\s{{0,3}}(?:DR|Dr|dr)\b|\s?(?:{_CURRENCY_WORD})?\s?\)"
)
_OPENED = re.compile(rf"\(\s?(?:{_CURRENCY_WORD})?\s?$")
_OPENED_ALONE = re.compile(rf"{_ALONE}{_OPENED.pattern}")
_NON_DIGIT = re.compile(r"\D+")
_AMOUNT = re.compile(
    rf"\(?[-−–≈~]?\s?(?P<pre>{_CURRENCY_WORD})?\s?[-−–]?"
    r"(?!0\d)\d[\d.,'’ \u00a0\u202f\u2009]*(?<=\d)"
    rf"(?:\s?(?:[%‰]|(?P<post>{_CURRENCY_WORD})|(?=\w*[^\W\dA-Z_])[^\W\d_]{{1,5}}[²³]?))?\.?\)?[-−]?"
)
_BLANKS = re.compile(r"\s+")
# A wider gap, a tab or the end of a line divides cells, not the thousands of a number.
_CELLS = re.compile(r"\d(?:\s{2,}|[^\S \u00a0\u202f\u2009])(?=\d)")
_OF_RANGE = re.compile(r"\d\s?(?:[-–]|to|bis|à|a|y|e|or|oder|ou|o)\s?$")
_UNTIL = re.compile(r"\b(?:to|till|until|and|bis|hasta|fino)\b", re.IGNORECASE)
_WORD_START = re.compile(r"^(?:mailto:|tel:|e-?mail:\s*)", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE_LIKE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./_\-\u00a0]*")
_MIXED_LETTERS = re.compile(r"[^\W\d_]")


def surroundings(text: str, start: int, end: int) -> tuple[str, str]:
    """Returns what stands before and after the characters [start, end) of a text, as far as readings use it."""
    return text[max(0, start - READING_CONTEXT) : start], text[end : end + READING_CONTEXT]


def readings(span: str, locale: Locale, before: str = "", after: str = "") -> tuple[ReadValue, ...]:
    """Returns the readings of a span, in order of preference, each once; the text as it stands comes first.

    What stands on either side (`around`) only disambiguates: the half of the day after a range, the day of a time, a
    sign before or after a number. A blank span has no reading.
    """
    return _readings(span, locale, before[-READING_CONTEXT:], after[:READING_CONTEXT])


@lru_cache(maxsize=8192)
def _readings(span: str, locale: Locale, before: str, after: str) -> tuple[ReadValue, ...]:
    verbatim = " ".join(span.split())
    if not verbatim:
        return ()
    readings = _Found()
    readings.add("text", [verbatim])
    bare = _WORD_START.sub("", strip_marks(verbatim))
    core = bare or verbatim
    readings.add("text", [core])
    if (account := account_at(span)) is not None and account[0] == len(span):
        readings.add("code", [account[1]])
    if len(core) <= 120:
        _add_dates(readings, verbatim, core, locale, before, after)
        if _CELLS.search(span) is None:
            _add_numbers(readings, verbatim, core, locale, before, after)
        readings.add("code", _codes(core))
        truth = BOOLEANS.get(verbatim.lower(), BOOLEANS.get(core.lower()))
        if truth is not None:
            readings.add("boolean", [truth])
    out = readings.first | dict.fromkeys(readings.last)
    _variants(core, out)
    return tuple(out)


class _Found:
    """The readings of a span: those in order of preference, and those that come last."""

    def __init__(self) -> None:
        self.first: dict[ReadValue, None] = {}
        self.last: list[ReadValue] = []

    def add(self, kind: Kind, values: Iterable[str | bool]) -> None:
        """Adds values behind the others, each once."""
        self.first |= {ReadValue(value, kind): None for value in values}

    def add_last(self, kind: Kind, values: Iterable[str]) -> None:
        """Adds values behind all others."""
        self.last += [ReadValue(value, kind) for value in values]


def strip_marks(text: str) -> str:
    """Returns the text without enclosing quotes and brackets and without closing punctuation.

    A bracket is removed only if its partner is removed or missing: "f(x)" stays, "(x)" and "x)" become "x".
    """
    if len(text) > 1000:
        # Marks around a long passage belong to it, and the search for partners is quadratic.
        return text
    start, end = 0, len(text)
    while start < end:
        head, tail = text[start], text[end - 1]
        if tail in _PARTNER_OF_CLOSING and _PARTNER_OF_CLOSING[tail] in text[start:end]:
            if _PARTNER_OF_CLOSING[tail] != head or text.find(tail, start) != end - 1:
                break
            start, end = start + 1, end - 1
        elif tail in _CLOSING:
            end -= 1
        elif head in _OPENING:
            if head in _PARTNER_OF_OPENING and _PARTNER_OF_OPENING[head] in text[start + 1 : end]:
                break
            start += 1
        else:
            break
    return text[start:end].strip()


def _add_times(found: _Found, times: Sequence[str]) -> None:
    found.add("time", times)
    for time in times:
        found.add("time", (add_seconds(time), time[:5]))


def _time_of(core: str, before: str) -> re.Match[str] | None:
    """Returns the match of a whole text that is a time of day, with what stands before it if that makes it one."""
    time = TIME.fullmatch(core) or TIME.fullmatch(before + core, len(before))
    return TIME.fullmatch(core + ".") if time is None and (core + ".").lower().endswith("m..") else time


def _add_dates(readings: _Found, verbatim: str, core: str, locale: Locale, before: str, after: str) -> None:
    """Adds the dates, times and date-times of a span; those inside of a longer text come last."""
    time = _time_of(core, before)
    if time is None and _DIGIT.search(core) is None:
        readings.add("date", read_date(core, locale) or ())
        return
    date = None if _DIGIT.search(core) is None else read_date(core, locale)
    if date is None and time is None:
        date = read_date(verbatim, locale)
    if date is not None:
        readings.add("date", date)
        readings.add_last("text", [value[:7] for value in date])
    else:
        readings.add_last("text", read_month(core))
    if time is not None:
        times, zone = read_time(time, after), zone_after(core + after, len(core))
        _add_times(readings, times)
        readings.add_last("time", rfc_times(times, zone))
        # A time without a date takes the last date before it: "Jan 9, 2018, 11 a.m. to 11:30 a.m."
        near = dates_in(before, locale) if before else ()
        if near and is_beside(_UNTIL.sub(" ", TIME.sub(" ", before[near[-1][1] :])), core, True, after):
            for value in near[-1][2]:
                full, local = read_datetimes(f"{value} {core}{'' if zone is None else zone[0]}", locale, after)
                readings.add_last("datetime", (*full, *local))
    elif date is None:
        _add_bare_times(readings, core, locale, after)
        _add_inner_dates(readings, core, locale, after)


def _add_bare_times(readings: _Found, core: str, locale: Locale, after: str) -> None:
    """Adds times of a few digits without a mark of their own, or the minutes of a range of times."""
    if len(core) <= 5:
        _add_times(readings, times := bare_time(core, after))
        if HALF_AFTER.match(after):
            readings.add_last("time", rfc_times(times[:1], None))
        if locale.year is not None:
            readings.add_last("date", read_date(core + ".", locale) or ())
    elif (minutes := minutes_between(core)) is not None:
        readings.add("number", [str(minutes)])


def _add_inner_dates(readings: _Found, core: str, locale: Locale, after: str) -> None:
    """Adds the date-time of a span that is no date and no time, and the one date or time inside of it."""
    full, local = read_datetimes(core, locale, after) if len(core) >= 10 else ((), ())
    readings.add("datetime", (*full, *local))
    dates = dates_in(core, locale) if len(core) >= 5 else []
    if dates and (len(dates) == 1 or full):
        readings.add_last("date", dates[0][2])
    if full and STAMP.search(core) is not None:
        readings.add_last("date", [full[0][:10]])
    if not dates:
        inside = list(TIME.finditer(core))
        if len(inside) == 1:
            end = inside[0].end()
            # "9 to 5 p.m." begins with its bare hour.
            ranged = RANGE.fullmatch(core) if inside[0].start() else None
            times = read_time(inside[0], core[end:] + after)
            times = bare_time(ranged["first"].strip(), core[ranged.end("first") :]) if ranged else times
            readings.add_last("time", (*times, *rfc_times(times, zone_after(core + after, end))))
    elif full:
        readings.add_last("time", [value[11:16] for value in local])
        readings.add_last("time", [value[11:19] for value in local if len(value) == 19])
    readings.add_last("time", [value[11:] for value in full])


def _add_numbers(readings: _Found, verbatim: str, core: str, locale: Locale, before: str, after: str) -> None:
    """Adds the durations and the numbers that a span may mean."""
    has_digit = _DIGIT.search(core) is not None
    found = [scaled_numbers(text, locale, before, after) for text in (core, verbatim)]
    if None in found:
        return
    scaled = next(filter(None, found), ())
    if not scaled and DURATION.fullmatch(core) is not None:
        texts, iso, counts = read_duration(core, locale)
        readings.add("duration", texts if iso is None or _OF_RANGE.search(before) else (*texts, iso))
        readings.add("number", counts)
    if has_digit or scaled:
        beyond = scaled or quantities(core) or quantities(verbatim)
        if beyond:
            pre, post = verbatim[: _first_digit(verbatim)], ")" if verbatim.endswith(")") else ""
            sign, negative = _sign(pre, post, True, before, after), tuple(f"-{value}" for value in beyond)
            beyond = beyond + negative if sign is None else negative if sign else beyond
        year = end_of_range(core, before)
        readings.add("number", (*beyond, *([year] if year and before[-1:] == "–" else ())))
        readings.add_last("number", [year] if year else ())
        readings.add_last("text", beyond)
    if has_digit or core[-1] in FRACTIONS:
        numbers = () if scaled else numbers_of(verbatim, locale, before, after)
        readings.add("number", numbers)
        readings.add_last("text", numbers)
    elif len(core) <= 80 and (in_words := number_in_words(core)) is not None:
        readings.add("number", [str(in_words)])


def _first_digit(text: str) -> int:
    found = _DIGIT.search(text)
    return len(text) if found is None else found.start()


def numbers_of(text: str, locale: Locale, before: str = "", after: str = "") -> tuple[str, ...]:
    """Returns the numbers, as plain decimals, that a text with one run of digits may mean; empty for any other text.

    Currency signs and codes, percent signs (without scaling), ordinal endings and units of one word around the digits
    are dropped. Parentheses with a decimal or a currency, and a minus before or after the digits, make it negative.
    """
    match = _CORE.fullmatch(_without_word(text))
    if match is None or not _is_beside_number(match["pre"], match["post"]):
        return ()
    values = digits_to_decimals(match["num"], locale)
    if not values:
        return ()
    sign = _sign(match["pre"], match["post"], "." in values[0], before, after)
    negative = tuple("-" + value for value in values if Decimal(value))
    if sign is None:
        return values + negative
    return negative + values if sign else values


def _without_word(text: str) -> str:
    """Returns the text without the words that its digits repeat: "two (2)"."""
    same = _PARENTHESISED.search(text)
    if same is None or not same.start() or _DIGIT.search(text[: same.start()]) is not None:
        return text
    return text[same.start() : same.end()].strip("() ") + text[same.end() :]


def _is_beside_number(pre: str, post: str) -> bool:
    """Returns whether these texts may stand around a number: signs, a currency, an ordinal ending, a unit."""
    if pre[-1:].isalpha() and _CURRENCY.search(pre[-3:]) is None and pre[-1:] not in "xX":
        return False
    if post[:1].isalpha() and not (_UNIT_TAIL.match(post) or _ORDINAL_TAIL.match(post)):
        return False
    plain = _PLAIN_AROUND.fullmatch(pre) and _PLAIN_AROUND.fullmatch(post)
    return bool(plain or _MIXED_LETTERS.search(pre + post))


def _sign(pre: str, post: str, decimal: bool, before: str, after: str) -> bool | None:
    """Returns whether the text around digits makes them negative; None if it may, which comes second."""
    tight = post.lstrip()
    if _MINUS_LAST.search(pre.rstrip()) or (post[:1] in ("-", "−") and (tight[1:2].strip() == "" or decimal)):
        return True
    sign: bool | None = False
    if "(" in pre and ")" in post:
        sign = True if decimal or _CURRENCY.search(pre + post) is not None else None
    if not sign and tight[:2].upper() == "DR":
        sign = None
    if not sign and not pre and before and _MINUS_BEFORE.search(before):
        money = _CURRENCY.search(before[-4:]) is not None
        sure = before[-1] in "-−–" or money or (decimal and _MINUS_APART.search(before) is not None)
        sign = True if sure else None
    if not sign and not post and after and (behind := _MINUS_AFTER.match(after)):
        return _sign_after(behind[0], decimal, before, after)
    return sign


def _sign_after(mark: str, decimal: bool, before: str, after: str) -> bool | None:
    """Returns the sign by a dash, `DR` or the end of parentheses behind a number."""
    if mark[-1:] != ")":
        sure = not after.lstrip()[:1].isalpha()
    elif not _OPENED.search(before):
        return False
    else:
        bare = before.rstrip()[-1:] == "(" and after.lstrip()[:1] == ")"
        sure = bare or _OPENED_ALONE.search(before) is not None
    return True if decimal and sure else None


def is_amount(text: str) -> bool:
    """Returns whether a text is one number with nothing around it but a minus, a currency, a percentage or a unit.

    Digits that begin with a zero, and those beside other capitals ("17 A"), are rather a code.
    """
    amount = _AMOUNT.fullmatch(" ".join(text.split()))
    if amount is None:
        return False
    beside = (part for part in amount.group("pre", "post") if part is not None)
    return all(len(part) != 3 or not part.isupper() or part in CURRENCY_CODES for part in beside)


def _codes(core: str) -> tuple[str, ...]:
    """Returns the codes and names of the text, or of the currency sign or code beside an amount."""
    codes = codes_of(core)
    if codes or len(core) > 40:
        return codes
    match = _CORE.fullmatch(core)
    if match is None:
        return ()
    out: list[str] = []
    for part in (match["pre"].strip(" \t()-−+"), match["post"].strip(" \t()-−+")):
        if part in CURRENCY_CODES:
            out.append(part)
        elif part and len(part) <= 24:
            out += currencies_of(part)
    return tuple(out)


def _variants(core: str, out: dict[ReadValue, None]) -> None:
    """Adds cleaned-up forms of the text: addresses, no blanks, digits only, other cases."""
    if "@" in core and len(core) <= 200:
        addresses = _ADDRESS.findall(core)
        if len(addresses) == 1:
            out[ReadValue(addresses[0], "text")] = None
    if len(core) <= 60:
        if _DIGIT.search(core) is not None:
            if _CODE_LIKE.fullmatch(core):
                joined = _BLANKS.sub("", core)
                out[ReadValue(joined, "code")] = None
                out[ReadValue(joined.replace("-", "").replace(".", "").replace("/", ""), "code")] = None
            digits = _NON_DIGIT.sub("", core)
            if len(digits) >= 2:
                if core[0] == "+":
                    out[ReadValue("+" + digits, "code")] = None
                out[ReadValue(digits, "code")] = None
        for text in (core.lower(), core.upper(), core.title(), core.capitalize()):
            out[ReadValue(text, "text")] = None
        snake = re.sub(r"\W+", "_", core.lower()).strip("_")
        if snake:
            out[ReadValue(snake, "text")] = None
    elif len(core) <= 300:
        out[ReadValue(core.title() if core.isupper() else core.upper(), "text")] = None


def json_readings(span: str, locale: Locale, before: str = "", after: str = "") -> tuple[bytes, ...]:
    """Returns the readings as canonical JSON texts in UTF-8, each once, the likelier first; the text itself leads."""
    return _json_readings(span, locale, before[-READING_CONTEXT:], after[:READING_CONTEXT])


@lru_cache(maxsize=8192)
def _json_readings(span: str, locale: Locale, before: str, after: str) -> tuple[bytes, ...]:
    out: dict[bytes, None] = {}
    for reading in _readings(span, locale, before, after):
        value = reading.value
        try:
            if isinstance(value, bool):
                out[b"true" if value else b"false"] = None
            elif reading.kind == "number":
                out[canonical_number(value).encode()] = None
            else:
                out[canonical_string(value)] = None
        except ValueError:
            # A lone surrogate, or too many digits for a number, has no JSON text and so gives no reading.
            continue
    return tuple(out)
