"""Infers a document's conventions for dates and numbers: from the unambiguous ones among them, else from other signs.

Where a document's own dates or numbers decide nothing, its language, month names, addresses, currencies and words do,
and for dates also the decimal comma and the day that a mail was sent. Each kind of sign counts once, with a weight.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

from cinnabar.engine.readings.cldr import COMMON, OTHER, is_english_month, mark_names, months_of
from cinnabar.engine.readings.codes import CURRENCY_CODES, CURRENCY_SIGNS, codes_of, currencies_of

#: A mail rather names a day up to so many days before it was sent than one of another month.
DAYS_BEFORE_MAIL = 10
#: Countries are named at the beginning and the end of a text, in so many characters, on a line of their own or as the
#: last part of an address.
COUNTRY_WITHIN = 6_000


@dataclass(frozen=True, slots=True)
class Locale:
    """The conventions of one document; None where it gives no evidence.

    `day_first`: 3/4/2020 is the third of April. `decimal_comma`: 1.234 is more than a thousand. `year`: the most
    likely year of a date without one.
    """

    day_first: bool | None = None
    decimal_comma: bool | None = None
    year: int | None = None

    def in_order(self, day_first: bool | None) -> Locale:
        """Returns these conventions with another order of day and month, if one is told."""
        return self if day_first is None else replace(self, day_first=day_first)


_NUMERIC_DATE = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])")
_ISO_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-./]\d{1,2}[-./]\d{1,2}(?!\d)")
# For marked texts. An uncommon month name needs a day and a year, as in the pattern of dates.
_BEHIND_DAY = r"(?:st|nd|rd|th|er|\.|º)?[\s-]*(?:de\s+|of\s+)?"
_BEFORE_YEAR = r",?[\s-]*(?:de\s+|del\s+|of\s+)?"
_MONTH_DATE = re.compile(
    rf"(?:\b(?P<d>\d{{1,2}}){_BEHIND_DAY})?\b(?P<m>{COMMON}+)\b\.?"
    rf"(?:[\s-]*(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:{_BEFORE_YEAR}(?P<y>(?:19|20)\d\d)\b)?"
    rf"|\b(?P<od>\d{{1,2}}){_BEHIND_DAY}\b(?P<om>{OTHER}+)\b\.?{_BEFORE_YEAR}(?P<oy>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"(?<![\d.,:/-])\d{1,3}(?:([.,'’])\d{3})*([.,])(\d{1,2}|\d{4,})(?![\d:/-]|[.,]\d)")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:([.,])\d{3}){2,}(?![\d]|[.,]\d)")
_BELOW_ONE = re.compile(r"(?<![\d.,:/-])0([.,])\d{3}(?![\d:/-]|[.,]\d)")


# The line of a mail's header (RFC 5322), in which no writer chooses the order.
_SENT = re.compile(r"^Date: (?:\w{3}, ?)?(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) \d\d:", re.MULTILINE)

# Countries that write day and month in no one order, or the month first, and those with a decimal point; the
# languages of the first and the last. All others write the day first and a comma.
_NO_ORDER, _MONTH_FIRST = "CA CN JP KR TW HU LT MN", "US PH PR GU"
_POINT = (
    "US CA GB IE MT IN PK BD LK NP MY SG PH TH HK CN TW JP KR AU NZ IL JO SA AE QA KW OM EG KE NG GH UG TZ ZW BW ZA"
    " MX GT HN SV NI DO PR PA JM TT CH LI"
)
_NO_ORDER_LANGUAGES = "en zh ja ko hu lt mn tl"
_POINT_LANGUAGES = "en zh ja ko th he hi bn ta te ml mr gu kn pa ur ne si ms tl sw cy ga mt my"
_STATES = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)
_EUROPE = "AT|BE|BG|CH|CY|CZ|DE|DK|EE|ES|FI|FR|GB|GR|HR|IE|IT|LU|LV|MT|NL|NO|PL|PT|RO|SE|SI|SK"
# The signs of countries. A group of two capitals is named for its country, XX for several: postal codes, tax numbers,
# kinds of firms, streets.
_SIGN = re.compile(
    rf"""(?:(?<=[A-Za-z],[ ])|(?<=[A-Za-z][ ]))(?P<US>(?:{_STATES}),?[ ]+\d{{5}}(?:-\d{{4}})?)(?!\d)
    |\b(?:(?P<CA>[ABCEGHJ-NPR-TVXY]\d[A-Z][ ]?\d[A-Z]\d)
    |(?P<GB>[A-Z]{{1,2}}\d[A-Z\d]?[ ]\d[ABD-HJLNP-UW-Z]{{2}})
    |(?P<AU>(?:NSW|VIC|QLD|SA|WA|TAS|ACT|NT)[ ]+\d{{4}}|ABN(?=:?[ ]\d))
    |(?P<IN>GSTIN|[A-Z][a-z]+[ ]?[-–][ ]?[1-9]\d\d[ ]?\d{{3}})
    |(?P<MY>(?i:sdn\.?[ ]*bhd|jalan|jln|taman|lorong))
    |(?P<XX>(?i:\w*stra(?:ß|ss)e|rue[ ]d\w+|calle|avenida|rua|ulica)))\b
    |\b(?P<code>{_EUROPE})(?:\d\d(?:[ ]?[A-Z0-9]{{4}}){{3,}}|[ ]?\d{{9}}\b|-\d{{4,5}}[ ](?=[^\W\d_]))
    |(?i:(?:@|://|www\.)[\w.-]{{1,80}}\.(?P<domain>[a-z]{{2}}|gov|mil|edu)\b(?!\.\w))
    |(?<![\w+])\+(?P<phone>1|[2-9]\d)(?=(?:[\s()./-]{{0,2}}\d){{6}})
    |\b(?P<before>(?:EUR|GBP|USD|CHF|PLN|INR|MYR|AUD|CAD|NZD|SGD|ZAR)\b|[A-Z]{{3}}(?=[ ]?\d))
    |(?<=\d)[ ]?(?P<behind>[A-Z]{{3}})\b
    |(?P<sign>\b[A-Z]{{1,3}}\$|[{CURRENCY_SIGNS}]|\bRM(?=\b|\d)|\bRs(?=\.?[ ]?\d)|(?<=\d)[ ]?(?:zł|Kč|kr|Ft)\b)
    |\b(?:(?P<american>Inc|LLC|Corp|(?i:sales[ ]tax|zip[ ]code))|(?P<limited>(?i:ltd|gst))
    |(?P<vat>VAT|(?i:plc|postcode|cheque|pty)))\b""",
    re.VERBOSE,
)
_WORDS = {"american": -1, "limited": 1, "vat": 2}
# Domains of countries that stand for something else in most addresses.
_DOMAINS = {"uk": "GB", "gov": "US", "mil": "US", "edu": "US"}
_GENERIC = "io co ai me tv ly gg sh fm to cc ws eu"
_PHONES = {"1": "US", "36": "HU", "63": "PH", "81": "JP", "82": "KR", "86": "CN"}
_PIECES = re.compile(r"[\n,;|\t()]+")
_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]{3,}(?: [^\W\d_]{3,}){0,2}|U\.?S\.?A\.?|UK|UAE")


# Each number of a document with a sign beside it asks again: a log of 16K tokens spent a twentieth of its time here.
@lru_cache(maxsize=2)
def document_locale(text: str, language: str = "") -> Locale:
    """Returns the conventions of a whole document, None where its signs tell nothing or are at odds.

    The majority of the unambiguous dates decides: those with a part above twelve. A number votes if it has two kinds of
    separators, repeated groups, not three digits after its only separator, or a mere zero before it; the weights of
    other signs are added.
    `language` is that of the text (ISO 639), "" if it is not known: then month names tell it.
    """
    years: Counter[int] = Counter()
    dates, mails = list(_NUMERIC_DATE.finditer(text)), list(_SENT.finditer(text))
    orders, near = _votes_of_numeric_dates(dates, years, _days_before(mails[0]) if mails else set())
    for match in _ISO_DATE.finditer(text):
        years[int(match[1])] += 1
    months = _votes_of_month_names(text, years, {mail.start("day") for mail in mails})
    numbers = _votes_of_numbers(text, {match.start() for match in dates})
    order = None if orders[True] == orders[False] else orders[True] > orders[False]
    comma = max(-6, min(2 * (numbers[True] - numbers[False]), 6))
    # Own numbers of this weight are not outvoted, and a search for signs takes time.
    of_order, of_comma = _weights_of_signs(text) if order is None or abs(comma) < 6 else (0, 0)
    foreign = months["foreign"] > months["day"] + months["month"]
    if order is None:
        weight = of_order + 3 * _sign(near) + max(0, min(comma, 4)) // 2
        weight += 3 * _sign(months["day"] - months["month"])
        weight += 6 * (language not in _NO_ORDER_LANGUAGES if language else foreign)
        order = weight > 0 if abs(weight) > 1 else None
    if language:
        comma += -1 if language in _POINT_LANGUAGES else 3
    else:
        comma += 3 * (foreign and months["comma"] > 0)
    comma += of_comma
    # A currency alone, or a country of the comma against an English text, tells nothing: 2,500 EUR may be thousands.
    decimal_comma = None if comma in (0, 1) else comma > 0
    return Locale(order, decimal_comma, years.most_common(1)[0][0] if years else None)


def _weights_of_signs(text: str) -> tuple[int, int]:
    """Returns the weights of a text's countries, currencies and words for the day first, and for the decimal comma."""
    ends = text if len(text) <= 2 * COUNTRY_WITHIN else f"{text[:COUNTRY_WITHIN]}\n{text[-COUNTRY_WITHIN:]}"
    names = {piece.strip(" .") for piece in _PIECES.split(ends)}
    countries = Counter(code for name in names if _NAME.fullmatch(name) and (code := _country_named(name)))
    currencies, words = Counter[str](), set[str]()
    for match in _SIGN.finditer(ends):
        kind = str(match.lastgroup)
        found = match[kind].strip(" .")
        if kind in _WORDS:
            words.add(kind)
        elif kind in ("before", "behind", "sign"):
            codes = currencies_of(found)[:1] if kind == "sign" else {found} & CURRENCY_CODES
            currencies.update(code[:2] for code in codes)
        elif kind == "phone":
            countries[_PHONES.get(found, "XX")] += 1
        elif kind == "domain":
            domain = found.lower()
            countries[_DOMAINS.get(domain, domain.upper())] += domain not in _GENERIC
        else:
            countries[found if kind == "code" else kind] += 1
    order = 4 * _sign(sum(number * _habits(country)[0] for country, number in countries.items()))
    comma = 2 * _sign(sum(number * _habits(country)[1] for country, number in countries.items()))
    order += sum(_WORDS[word] for word in words)
    for currency, _ in currencies.most_common(1):
        order += max(-1, 2 * _habits(currency)[0])
        comma += min(1, 3 * _habits(currency)[1])
    # Canada writes either order, and shares the prefix, dollars and kinds of firms of others.
    canada = countries["CA"] + currencies["CA"]
    return 0 if canada and canada >= max(countries.values(), default=0) else order, comma


def _country_named(name: str) -> str:
    """Returns the code (ISO 3166-1) of the country with this name, in any language; "" for any other word."""
    codes = [code for code in (*codes_of(name), name) if code.isupper()]
    return codes[0] if [*map(len, codes[:2])] == [2, 3] else ""


def _habits(country: str) -> tuple[int, int]:
    """Returns 1 for a country with the day first, -1 with the month; and 1 with a decimal comma, -1 with a point."""
    if country in ("", "XX"):
        return len(country) // 2, 0
    order = 0 if country in _NO_ORDER else -1 if country in _MONTH_FIRST else 1
    return order, -1 if country in _POINT else 1


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _days_before(mail: re.Match[str]) -> set[tuple[int, int, int]]:
    """Returns the day on which a mail was sent and those right before it, as (year, month, day); none for no day."""
    month = months_of(mail["month"])
    with suppress(ValueError, OverflowError):
        sent = date(int(mail["year"]), 0 if month is None else month.numbers[0], int(mail["day"]))
        days = [sent - timedelta(days) for days in range(DAYS_BEFORE_MAIL + 1)]
        return {(day.year, day.month, day.day) for day in days}
    return set()


def _votes_of_numeric_dates(
    dates: Sequence[re.Match[str]], years: Counter[int], likely: Set[tuple[int, int, int]]
) -> tuple[Counter[bool], int]:
    """Returns the votes for the day first; adds the dates' years to `years`.

    The number is above zero if more of the ambiguous dates are `likely` days with the day first than with the month
    first, and below it if fewer are.
    """
    day_first: Counter[bool] = Counter()
    near = 0
    for match in dates:
        first, second, year = int(match[1]), int(match[3]), match[4]
        if first > 31 or second > 31 or max(first, second) == 0:
            continue
        if first > 12 >= second:
            day_first[True] += 1
        elif second > 12 >= first:
            day_first[False] += 1
        elif first > 12:
            continue
        else:
            written = int(year) + (2000 if len(year) == 2 else 0)
            near += ((written, second, first) in likely) - ((written, first, second) in likely)
        if len(year) == 4 and 1900 <= int(year) <= 2100:
            years[int(year)] += 1
    return day_first, near


def _votes_of_month_names(text: str, years: Counter[int], headers: Collection[int]) -> Counter[str]:
    """Returns the counts of dates with a month name, but for those at `headers`; adds their years to `years`.

    They are `foreign`, of these `comma` in languages with a decimal comma, and in English `day` or `month` first.
    """
    votes = Counter[str]()
    for match in _MONTH_DATE.finditer(mark_names(text)):
        if match["d"] is None and match["d2"] is None and match["od"] is None:
            continue
        year = match["y"] or match["oy"]
        if year is not None:
            years[int(year)] += 1
        if match.start() in headers:
            continue
        group = "m" if match["m"] is not None else "om"
        name = text[match.start(group) : match.end(group)]
        if not is_english_month(name):
            month = months_of(name)
            votes.update(foreign=1, comma=month is not None and month.decimal_comma)
        else:
            votes["month" if match["d"] is None else "day"] += 1
    return votes


def _votes_of_numbers(text: str, dates: Collection[int]) -> Counter[bool]:
    """Returns the votes for the decimal comma; a number at which a date begins, `dates`, has none."""
    decimal_comma: Counter[bool] = Counter()
    for match in _DECIMAL.finditer(text):
        if match.start() in dates:
            continue
        group, point = match[1], match[2]
        if group == point:
            continue
        # A number with both separators is unambiguous, and "45,00" nearly so; "2.10" may be a date or a version.
        decimal_comma[point == ","] += 2 if group or (point == "," and len(match[3]) == 2) else 1
    for match in _GROUPED.finditer(text):
        decimal_comma[match[1] == "."] += 1
    for match in _BELOW_ONE.finditer(text):
        decimal_comma[match[1] == ","] += 2
    return decimal_comma
