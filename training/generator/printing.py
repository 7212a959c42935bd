"""Prints drawn values: dates, numbers, amounts, ticks and texts by the conventions of a country."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from training.generator.locale import Scope, Value, common, split

_FOLDED = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ø": "o", "æ": "ae",
           "ł": "l", "Ł": "L"}  # fmt: skip


def ascii_fold(text: str) -> str:
    """Returns the text without accents, as in mail addresses and names of fields."""
    text = "".join(_FOLDED.get(c, c) for c in text)
    return "".join(c for c in unicodedata.normalize("NFKD", text) if c.isascii())


_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def print_date(day: dt.date, form: str, language: str) -> str:
    """Prints a date by a form with `d dd m mm yyyy yy Month Mon ord` in braces."""
    names = common()["months"][language if language in common()["months"] else "en"].split("|")
    name = names[day.month - 1]
    fields = {
        "d": str(day.day), "dd": f"{day.day:02d}", "m": str(day.month), "mm": f"{day.month:02d}",
        "yyyy": str(day.year), "yy": f"{day.year % 100:02d}", "Month": name,
        "Mon": name[:3] if len(name) > 4 else name,
        "ord": f"{day.day}{_ORDINALS.get(day.day, 'th')}",
    }  # fmt: skip
    return re.sub(r"\{(\w+)\}", lambda m: fields[m[1]], form)


def weekday(day: dt.date, language: str) -> str:
    """Returns the weekday's name in this language."""
    names: list[str] = common()["weekdays"].get(language, common()["weekdays"]["en"]).split("|")
    return names[day.weekday()]


_PLAIN_WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip
_TENS = ["x", "x", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number_word(n: int) -> str:
    """Returns a whole number below a hundred in English words, any other in digits."""
    if 0 <= n <= 20:
        return _PLAIN_WORDS[n]
    if n < 100:
        return _TENS[n // 10] + ("-" + _PLAIN_WORDS[n % 10] if n % 10 else "")
    return str(n)


def print_number(number: Decimal | int, marks: tuple[str, str], places: int | None = None) -> str:
    """Prints a number with this thousands mark and decimal mark."""
    x = Decimal(number)
    if places is not None:
        x = x.quantize(Decimal(1).scaleb(-places))
    text = f"{abs(x):,f}".replace(",", "\0").replace(".", marks[1]).replace("\0", marks[0])
    return ("-" if x < 0 else "") + text


def _print_day(day: dt.date, form: str, s: Scope) -> tuple[str, str, str]:
    pool = s.locale.dates
    with_names = tuple(p for p in pool if "Mon" in p) or pool
    pools = {
        "long": with_names,
        "short": tuple(p for p in pool if "Mon" not in p) or pool,
        "iso": ("{yyyy}-{mm}-{dd}",),
        "legal": _LEGAL_DATES,
        "compact": ("{yyyy}{mm}{dd}", "{dd}{Mon}{yy}"),
        "weekday": with_names,
    }
    language, before = s.locale.language, ""
    if form == "weekday":
        before = weekday(day, language) + s.chosen("weekday comma", (", ", " ", ", "))
    chosen = s.chosen("date " + form, pools.get(form, (form,) if "{" in form else pool))
    return before, print_date(day, chosen, language), ""


def _print_moment(moment: dt.datetime, form: str, s: Scope) -> tuple[str, str, str]:
    if form == "iso":
        return "", moment.isoformat(timespec="minutes"), ""
    if form:
        return _print_day(moment, form, s)
    day = print_date(moment, s.chosen("date ", s.locale.dates), s.locale.language)
    return "", f"{day} {moment:%H:%M}", ""


def _print_time(time: dt.time, form: str, s: Scope) -> str:
    forms = _TIMES.get(s.locale.name) or _TIMES.get(s.locale.language) or ("{H}:{M}", "{HH}:{M}")
    half = "AM" if time.hour < 12 else "PM"
    fields = {"HH": f"{time.hour:02d}", "H": str(time.hour), "h": str((time.hour - 1) % 12 + 1)}
    fields |= {"M": f"{time.minute:02d}", "P": half, "p": half.lower()}
    chosen = s.chosen("time" + form, ("{HH}:{M}",) if form == "24" else forms)
    return re.sub(r"\{(\w+)\}", lambda m: fields[m[1]], chosen)


def _print_words(number: Decimal | int, s: Scope) -> str:
    n = int(number)
    return str(n) if s.chosen("number words", ("w", "d", "w")) == "d" else f"{number_word(n)} ({n})"


def _local_marks(s: Scope) -> tuple[str, str]:
    marks = s.chosen("marks", ("local",) * 9 + ("other",))
    return s.locale.numbers if marks == "local" else ("", s.locale.numbers[1])


def _print_integer(number: int, form: str, s: Scope) -> str:
    if form == "words" and s.locale.language == "en":
        return _print_words(number, s)
    if form == "bare":
        return str(number)
    marks = _local_marks(s)
    return print_number(number, marks if abs(number) > 9999 else ("", ""), 0)


def _print_decimal(number: Decimal, form: str, s: Scope) -> tuple[str, str, str]:
    if form == "words" and int(number) == number and s.locale.language == "en":
        return "", _print_words(number, s), ""
    marks = _local_marks(s)
    if form == "short":
        whole = number == number.to_integral()
        return "", print_number(number.to_integral() if whole else number.normalize(), marks), ""
    text = print_number(number, marks)
    if form != "cur":
        return "", text, ""
    symbol = s.chosen("sign", ("symbol", "code", "symbol")) == "symbol"
    mark = s.locale.symbol if symbol else s.locale.currency
    first = s.locale.symbol_first if symbol else s.chosen("code first", ("y", "n")) == "y"
    gap = "" if symbol and s.locale.symbol_first else " "
    return (mark + gap, text, "") if first else ("", text, " " + mark)


def _print_tick(ticked: bool, form: str, s: Scope) -> str:
    if form == "tick":
        pair = s.chosen("tick", ("[x]|[ ]", "☒|☐", "(X)|( )", "[X]|[_]")).split("|")
    elif form == "short":
        pair = ["Y", "N"]
    else:
        pair = [*split(common()["yes_no"].get(s.locale.language, common()["yes_no"]["en"]))]
    return pair[0 if ticked else 1]


def _inverted(name: str) -> str:
    first, _, last = name.rpartition(" ")
    return f"{last}, {first}" if first else last


_LEGAL_DATES = split(
    "{ord} day of {Month} {yyyy}|{ord} day of {Month}, {yyyy}|{Month} {d}, {yyyy}|{d} {Month} {yyyy}"
)
# By the name of a locale, else by its language.
_TIMES = {
    "en_US": ("{h}:{M} {P}", "{h}:{M}{p}", "{H}:{M}"),
    "de": ("{HH}:{M}", "{H}.{M}", "{HH}:{M}"),
    "fr": ("{H}h{M}", "{HH}:{M}", "{H} h {M}"),
    "en_GB": ("{HH}:{M}", "{H}.{M}", "{h}:{M} {p}", "{h}.{M}{p}"),
}
_TEXTS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "inverted": _inverted,
    "last": lambda text: text.rpartition(" ")[2],
    "first": lambda text: text.partition(" ")[0],
    "nospace": lambda text: text.replace(" ", ""),
    "line": lambda text: text.replace("\n", ", "),
}
# Each takes the raw value, the form and the scope; one that prints something around the value returns three texts.
_PRINTERS: dict[str, Callable[[Any, str, Scope], str | tuple[str, str, str]]] = {
    "date": _print_day,
    "date-time": _print_moment,
    "time": _print_time,
    "integer": _print_integer,
    "number": _print_decimal,
    "boolean": _print_tick,
    "country": lambda _, form, s: s.locale.country_code if form == "code" else s.locale.country,
    "currency": lambda _, form, s: s.locale.symbol if form == "symbol" else s.locale.currency,
}


def show(value: Value, form: str, s: Scope) -> tuple[str, str, str]:
    """Returns a value's printing as (before, text, after); its span covers `text` only."""
    printer = _PRINTERS.get(value.kind)
    found = _TEXTS.get(form, str)(str(value.raw)) if printer is None else printer(value.raw, form, s)
    return ("", found, "") if isinstance(found, str) else found


def plain(value: Value, scope: Scope) -> str:
    """Prints the value without any form."""
    return "".join(show(value, "", scope))
