"""Prints drawn values: dates, numbers, amounts, ticks and texts by the conventions of a country."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from decimal import Decimal

from cinnabar.engine.training.locale import Scope, Value, common, split

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


def show(value: Value, form: str, s: Scope) -> tuple[str, str, str]:
    """Returns a value's printing as (before, text, after); its span covers `text` only."""
    language, kind, raw = s.locale.language, value.kind, value.raw
    before = after = ""
    if kind == "date" or (kind == "date-time" and form not in ("iso", "")):
        day: dt.date = raw
        pool = s.locale.dates
        if form == "long":
            pool = tuple(p for p in pool if "Mon" in p) or pool
        elif form == "short":
            pool = tuple(p for p in pool if "Mon" not in p) or pool
        elif form == "iso":
            pool = ("{yyyy}-{mm}-{dd}",)
        elif form == "legal":
            pool = split(
                "{ord} day of {Month} {yyyy}|{ord} day of {Month}, {yyyy}|{Month} {d}, {yyyy}"
                "|{d} {Month} {yyyy}"
            )
        elif form == "compact":
            pool = ("{yyyy}{mm}{dd}", "{dd}{Mon}{yy}")
        elif form == "weekday":
            pool = tuple(p for p in pool if "Mon" in p) or pool
            before = weekday(raw, language) + s.chosen("weekday comma", (", ", " ", ", "))
        elif "{" in form:
            pool = (form,)
        return before, print_date(day, s.chosen("date " + form, pool), language), after
    if kind == "time":
        default: tuple[str, ...] = ("{H}:{M}", "{HH}:{M}")
        if s.locale.name == "en_US":
            default = ("{h}:{M} {P}", "{h}:{M}{p}", "{H}:{M}")
        elif language == "de":
            default = ("{HH}:{M}", "{H}.{M}", "{HH}:{M}")
        elif language == "fr":
            default = ("{H}h{M}", "{HH}:{M}", "{H} h {M}")
        elif s.locale.name == "en_GB":
            default = ("{HH}:{M}", "{H}.{M}", "{h}:{M} {p}", "{h}.{M}{p}")
        if form == "24":
            default = ("{HH}:{M}",)
        t: dt.time = raw
        text = s.chosen("time" + form, default)
        for a, b in (("{HH}", f"{t.hour:02d}"), ("{H}", str(t.hour)), ("{h}", str((t.hour - 1) % 12 + 1)),
                     ("{M}", f"{t.minute:02d}"), ("{P}", "AM" if t.hour < 12 else "PM"),
                     ("{p}", "am" if t.hour < 12 else "pm")):  # fmt: skip
            text = text.replace(a, b)
        return before, text, after
    if kind == "date-time":
        if form == "iso":
            return "", raw.isoformat(timespec="minutes"), ""
        day_text = print_date(raw, s.chosen("date ", s.locale.dates), language)
        return "", f"{day_text} {raw:%H:%M}", ""
    if kind in ("number", "integer"):
        if form == "words" and int(raw) == raw and language == "en":
            n = int(raw)
            return (
                "",
                str(n) if s.chosen("number words", ("w", "d", "w")) == "d" else f"{number_word(n)} ({n})",
                "",
            )
        if kind == "integer" and form == "bare":
            return "", str(raw), ""
        marks = s.chosen("marks", ("local",) * 9 + ("other",))
        pair = s.locale.numbers if marks == "local" else ("", s.locale.numbers[1])
        if kind == "integer":
            return "", print_number(raw, pair if abs(raw) > 9999 else ("", ""), 0), ""
        if form == "short":
            text = print_number(raw.normalize() if raw != raw.to_integral() else raw.to_integral(), pair)
            return "", text, ""
        text = print_number(raw, pair)
        if form == "cur":
            sign = s.chosen("sign", ("symbol", "code", "symbol"))
            mark = s.locale.symbol if sign == "symbol" else s.locale.currency
            first = s.locale.symbol_first if sign == "symbol" else s.chosen("code first", ("y", "n")) == "y"
            gap = "" if sign == "symbol" and s.locale.symbol_first else " "
            before, after = (mark + gap, "") if first else ("", " " + mark)
        return before, text, after
    if kind == "boolean":
        yes_no = split(common()["yes_no"].get(language, common()["yes_no"]["en"]))
        if form == "tick":
            box = s.chosen("tick", ("[x]|[ ]", "☒|☐", "(X)|( )", "[X]|[_]"))
            return "", box.split("|")[0 if raw else 1], ""
        if form == "short":
            return "", ("Y" if raw else "N"), ""
        return "", yes_no[0 if raw else 1], ""
    if kind == "country":
        return "", (s.locale.country_code if form == "code" else s.locale.country), ""
    if kind == "currency":
        return "", (s.locale.symbol if form == "symbol" else s.locale.currency), ""
    text = str(raw)
    if form == "upper":
        text = text.upper()
    elif form == "lower":
        text = text.lower()
    elif form == "title":
        text = text.title()
    elif form == "inverted":
        a, _, b = text.rpartition(" ")
        text = f"{b}, {a}" if a else b
    elif form == "last":
        text = text.rpartition(" ")[2]
    elif form == "first":
        text = text.partition(" ")[0]
    elif form == "nospace":
        text = text.replace(" ", "")
    elif form == "line":
        text = text.replace("\n", ", ")
    return "", text, ""


def plain(value: Value, scope: Scope) -> str:
    """Prints the value without any form."""
    return "".join(show(value, "", scope))
