"""Values of synthetic documents: drawn by a small named generator, printed as a country prints them.

A generator is named in a family's data by a short text such as `date`, `money 5 900`, `code INV-####` or
`after issued 14 30`; `GENERATORS` lists them. Every value knows what the record holds (`truth`) apart from how
it is printed.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

FAMILIES_FOLDER = Path(__file__).parent / "families"


@dataclass(frozen=True, slots=True)
class Locale:
    """How a country writes: `numbers` is the pair (thousands mark, decimal mark)."""

    name: str
    language: str
    country: str
    country_code: str
    currency: str
    symbol: str
    symbol_first: bool
    numbers: tuple[str, str]
    dates: tuple[str, ...]


@dataclass(slots=True)
class Value:
    """One drawn value. `kind` is the JSON type with its format; `raw` is what the printers work on."""

    kind: str
    raw: Any
    pattern: str = ""

    @property
    def truth(self) -> Any:
        """What the record holds; texts are settled later, by what was printed."""
        if self.kind == "date":
            return self.raw.isoformat()
        if self.kind in ("time", "date-time"):
            return self.raw.isoformat(timespec="minutes")
        if self.kind == "number":
            return float(self.raw)
        if self.kind == "integer":
            return int(self.raw)
        return self.raw


class Scope(Protocol):
    """Where a generator finds the other values of its document."""

    rng: random.Random
    locale: Locale

    def value(self, path: str) -> Value:
        """The value at this path, drawn when it is first asked for; `.name` is a field of the same row."""
        ...

    def column(self, path: str) -> list[Value]:
        """All values of `array[].name`."""
        ...

    def pool(self, name: str) -> tuple[str, ...]:
        """The texts of a pool of the family, or else of the common ones in this language."""
        ...

    def chosen(self, key: str, options: tuple[str, ...]) -> str:
        """One of the options, the same throughout the document."""
        ...


@lru_cache(maxsize=1)
def common() -> dict[str, Any]:
    """The pools that all families share, by language."""
    return tomllib.loads((FAMILIES_FOLDER / "_common" / "pools.toml").read_text("utf-8"))


@lru_cache(maxsize=1)
def locales() -> dict[str, Locale]:
    """All locales of the common data, by name."""
    out = {}
    for name, d in common()["locales"].items():
        out[name] = Locale(
            name, name[:2], d["country"], name[3:], d["currency"], d["symbol"], d["first"],
            (d["numbers"][0], d["numbers"][1]), tuple(d["dates"].split("|")),
        )  # fmt: skip
    return out


@lru_cache(maxsize=8192)
def split(text: str) -> tuple[str, ...]:
    """The alternatives of a text, between bars that stand outside of braces and angles."""
    if "{" not in text and "<<" not in text:
        return tuple(text.split("|"))
    out, depth, start, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        if c == "{" or text.startswith(("<<", "[["), i):
            depth += 1
            i += c != "{"
        elif c == "}" or text.startswith((">>", "]]"), i):
            depth -= 1
            i += c != "}"
        elif c == "|" and depth == 0:
            out.append(text[start:i])
            start = i + 1
        i += 1
    return (*out, text[start:])


# --- drawing -------------------------------------------------------------------------------------------------


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high))) if low > 0 else rng.uniform(low, high)


@lru_cache(maxsize=4096)
def code_pattern(code: str) -> str:
    """The regular expression (ECMA-262) of a code's pattern."""
    marks = {"#": "[0-9]", "@": "[A-Z]", "*": "[A-Z0-9]", "%": "[0-9a-f]"}
    return "^" + "".join(marks.get(c) or re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", c) for c in code) + "$"


def draw_code(rng: random.Random, code: str) -> str:
    """A code by its pattern: `#` a digit, `@` a capital, `*` either, `%` a hex digit, the rest as it stands."""
    out = []
    for i, c in enumerate(code):
        if c == "#":
            out.append(rng.choice("123456789" if i == 0 else "0123456789"))
        elif c == "@":
            out.append(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ"))
        elif c == "*":
            out.append(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"))
        elif c == "%":
            out.append(rng.choice("0123456789abcdef"))
        else:
            out.append(c)
    return "".join(out)


def _text(value: str, kind: str = "string") -> Value:
    return Value(kind, value)


def _pick(s: Scope, arg: str) -> Value:
    options = split(arg[1:].replace("¦", "|")) if arg.startswith(":") else s.pool(_fill(s, arg.strip()))
    return _text(_fill(s, s.rng.choice(options).strip()))


def _fill(s: Scope, text: str) -> str:
    """`{path}` and `{=generator}` within a text, replaced by values."""

    def one(m: re.Match[str]) -> str:
        inner = m[1]
        if inner.startswith("="):
            spec, _, form = inner[1:].partition("|")
            return "".join(show(draw(s, spec), form, s))
        return plain(s.value(inner), s)

    return re.sub(r"\{([^{}]+)\}", one, text) if "{" in text else text


def _code(s: Scope, arg: str) -> Value:
    code = s.rng.choice(split(arg))
    return Value("string", draw_code(s.rng, code), code_pattern(code))


def _syllables(s: Scope, n: int) -> str:
    parts = split(common()["syllables"])
    return "".join(s.rng.choice(parts) for _ in range(n)).capitalize()


def _last(s: Scope, _: str = "") -> Value:
    if s.rng.random() < 0.12:
        return _text(_syllables(s, s.rng.choice((2, 2, 3))))
    return _text(s.rng.choice(s.pool("last")))


def _first(s: Scope, _: str = "") -> Value:
    return _text(s.rng.choice(s.pool("first")))


def _person(s: Scope, arg: str) -> Value:
    r = s.rng
    first, last = r.choice(s.pool("first")), _last(s).raw
    x = r.random()
    if x < 0.08:
        first = f"{first} {r.choice('ABCDEFGHJKLMNPRSTW')}."
    elif x < 0.12:
        last = f"{last}-{r.choice(s.pool('last'))}"
    elif x < 0.15:
        first = f"{first} {r.choice(s.pool('first'))}"
    if arg == "title" and r.random() < 0.5:
        first = f"{r.choice(s.pool('academic'))} {first}"
    return _text(f"{last}, {first}" if arg == "inverted" else f"{first} {last}")


def _company(s: Scope, _: str) -> Value:
    r = s.rng
    x = r.random()
    if x < 0.3:
        stem = _syllables(s, r.choice((2, 2, 3)))
        if r.random() < 0.5:
            stem += " " + r.choice(s.pool("trade"))
    elif x < 0.6:
        stem = f"{r.choice(s.pool('last'))} {r.choice(s.pool('trade'))}"
    elif x < 0.75:
        stem = f"{r.choice(s.pool('last'))} & {r.choice(s.pool('last'))}"
    elif x < 0.85:
        stem = f"{r.choice(s.pool('trade'))} {r.choice(s.pool('city'))}"
    else:
        stem = "".join(r.choice("ABCDEFGHKLMNPRSTVW") for _ in range(3)) + " " + r.choice(s.pool("trade"))
    return _text(f"{stem} {r.choice(s.pool('legal'))}" if r.random() < 0.85 else stem)


def _street(s: Scope, _: str) -> Value:
    r = s.rng
    number = str(r.randint(1, 240)) + (r.choice("abc") if r.random() < 0.1 else "")
    name = r.choice(s.pool("street")).replace("~", r.choice(s.pool("last")))
    return _text(name.replace("#", number))


def _zip(s: Scope, _: str) -> Value:
    return _text(draw_code(s.rng, s.rng.choice(split(common()["locales"][s.locale.name]["zip"]))))


def _city(s: Scope, _: str) -> Value:
    return _text(s.rng.choice(s.pool("city")))


def _town(s: Scope, zip_code: str, city: str) -> str:
    return common()["locales"][s.locale.name]["town"].replace("Z", "\0").replace("C", city).replace("\0", zip_code)


def _address(s: Scope, arg: str) -> Value:
    town = _town(s, _zip(s, "").raw, s.rng.choice(s.pool("city")))
    return _text(f"{_street(s, '').raw}{chr(10) if arg == 'lines' else ', '}{town}")


def _email(s: Scope, arg: str) -> Value:
    r = s.rng
    name = s.value(arg).raw if arg else _person(s, "").raw
    words = [w for w in re.split(r"[^a-z0-9]+", ascii_fold(name.lower())) if w] or ["info"]
    domain = r.choice(split(common()["domains"])).replace("~", ascii_fold(_syllables(s, 2).lower()))
    local = r.choice((".".join(words[:2]), words[0][0] + words[-1], words[0], words[-1], "_".join(words[:2])))
    return _text(f"{local}@{domain}", "email")


def _date(s: Scope, arg: str) -> Value:
    """A date in the `arg` = "first_year last_year", else mostly of the last years."""
    a, b = (int(x) for x in arg.split()) if arg else ((2012, 2027) if s.rng.random() < 0.9 else (1988, 2012))
    start = dt.date(a, 1, 1)
    return Value("date", start + dt.timedelta(days=s.rng.randrange((dt.date(b, 12, 31) - start).days)))


def _after(s: Scope, arg: str) -> Value:
    path, low, high = arg.split()
    base = s.value(path).raw
    day = base.date() if isinstance(base, dt.datetime) else base
    return Value("date", day + dt.timedelta(days=s.rng.randint(int(low), int(high))))


def _before(s: Scope, arg: str) -> Value:
    path, low, high = arg.split()
    return _after(s, f"{path} -{high} -{low}")


def _time(s: Scope, arg: str) -> Value:
    a, b = (int(x) for x in arg.split()) if arg else (7, 21)
    minute = s.rng.choice((0, 0, 0, 15, 30, 30, 45, s.rng.randrange(60)))
    return Value("time", dt.time(s.rng.randint(a, b), minute))


def _datetime(s: Scope, arg: str) -> Value:
    day = s.value(arg).raw if arg else _date(s, "").raw
    return Value("date-time", dt.datetime.combine(day, dt.time(s.rng.randrange(24), s.rng.randrange(60))))


def _later(s: Scope, arg: str) -> Value:
    """A time that lies `low` to `high` minutes after another."""
    path, low, high = arg.split()
    base = dt.datetime.combine(dt.date(2000, 1, 1), s.value(path).raw)
    return Value("time", (base + dt.timedelta(minutes=5 * s.rng.randint(int(low) // 5, int(high) // 5))).time())


def _number(s: Scope, arg: str) -> Value:
    low, high, *rest = arg.split()
    places = int(rest[0]) if rest else 2
    return Value("number", round(Decimal(_log_uniform(s.rng, float(low), float(high))), places))


def _money(s: Scope, arg: str) -> Value:
    low, high = (float(x) for x in arg.split()) if arg else (3.0, 9000.0)
    x = _log_uniform(s.rng, low, high)
    ending = s.rng.random()
    if ending < 0.2 and x > 10:
        return Value("number", Decimal(round(x)).quantize(Decimal("0.01")))
    cents = Decimal(round(x * 100)) / 100
    if ending < 0.35:
        cents = cents.quantize(Decimal("0.1")) + Decimal("0.09")
    return Value("number", cents.quantize(Decimal("0.01")))


def _int(s: Scope, arg: str) -> Value:
    low, high = (int(x) for x in arg.split())
    return Value("integer", round(_log_uniform(s.rng, low, high)) if low > 0 else s.rng.randint(low, high))


def _sum(s: Scope, arg: str) -> Value:
    total = sum((Decimal(v.raw) for v in s.column(arg)), Decimal(0))
    return Value("number", total)


def _arith(op: str) -> Callable[[Scope, str], Value]:
    def run(s: Scope, arg: str) -> Value:
        a, b = arg.split()
        x = Decimal(s.value(a).raw)
        y = Decimal(b) if re.fullmatch(r"-?[\d.]+", b) else Decimal(s.value(b).raw)
        z = {"plus": x + y, "minus": x - y, "times": x * y, "percent": x * y / 100}[op]
        return Value("number", z.quantize(Decimal("0.01")))

    return run


def _words(s: Scope, arg: str) -> Value:
    low, high = (int(x) for x in arg.split()) if arg else (1, 3)
    return _text(" ".join(s.rng.choice(s.pool("word")) for _ in range(s.rng.randint(low, high))))


def _sentence(s: Scope, arg: str) -> Value:
    n = int(arg or 1)
    pool = s.pool("sentence")
    return _text(" ".join(_fill(s, x) for x in s.rng.sample(pool, min(n, len(pool)))))


def _iban(s: Scope, _: str) -> Value:
    c = s.locale.country_code if s.locale.country_code not in ("US", "GB") else "GB"
    digits = draw_code(s.rng, "## #### #### #### #### ##")
    return _text(f"{c}{digits}" if s.rng.random() < 0.7 else f"{c}{digits}".replace(" ", ""), "compact")


def _vat_id(s: Scope, _: str) -> Value:
    code = s.locale.country_code
    return _text(f"{code}{draw_code(s.rng, s.rng.choice(('#########', '###########', 'B##########')))}")


def _phone(s: Scope, _: str) -> Value:
    return _text(draw_code(s.rng, s.rng.choice(split(common()["locales"][s.locale.name]["phone"]))))


def _country(s: Scope, _: str) -> Value:
    return _text(s.rng.choice(s.pool("country")))


GENERATORS: dict[str, Callable[[Scope, str], Value]] = {
    "person": _person,
    "first": _first,
    "last": _last,
    "company": _company,
    "street": _street,
    "zip": _zip,
    "city": _city,
    "town": lambda s, _: _text(_town(s, _zip(s, "").raw, s.rng.choice(s.pool("city")))),
    "address": _address,
    "country": _country,
    "email": _email,
    "phone": _phone,
    "url": lambda s, _: _text("www." + s.rng.choice(split(common()["domains"])).replace("~", _syllables(s, 2).lower())),
    "date": _date,
    "after": _after,
    "before": _before,
    "time": _time,
    "later": _later,
    "datetime": _datetime,
    "money": _money,
    "number": _number,
    "int": _int,
    "sum": _sum,
    "plus": _arith("plus"),
    "minus": _arith("minus"),
    "times": _arith("times"),
    "percent": _arith("percent"),
    "code": _code,
    "pick": _pick,
    "tpl": lambda s, arg: _text(_fill(s, arg)),
    "same": lambda s, arg: Value(s.value(arg).kind, s.value(arg).raw),
    "words": _words,
    "Word": lambda s, _: _text(s.rng.choice(s.pool("word")).capitalize()),
    "sentence": _sentence,
    "iban": _iban,
    "vat_id": _vat_id,
    "bool": lambda s, arg: Value("boolean", s.rng.random() < float(arg or 0.5)),
    "nation": lambda s, _: Value("country", s.locale.country_code),
    "currency": lambda s, _: Value("currency", s.locale.currency),
    "choice": lambda s, arg: Value("number", Decimal(s.rng.choice(arg.split()))),
    "intchoice": lambda s, arg: Value("integer", int(s.rng.choice(arg.split()))),
}


def draw(scope: Scope, spec: str) -> Value:
    """The value of a generator's text; ValueError names the known generators."""
    name, _, arg = spec.partition(" ")
    if name == "pick:" or name.startswith("pick:"):
        return _pick(scope, ":" + spec[5:])
    if name not in GENERATORS:
        raise ValueError(f"generator {name!r} in {spec!r} is not one of {', '.join(sorted(GENERATORS))}")
    return GENERATORS[name](scope, arg)


def kind_of(spec: str) -> str:
    """The kind of value that a generator's text gives, as far as its name tells."""
    name = spec.split(" ", 1)[0]
    kinds = {
        "date": "date", "after": "date", "before": "date", "time": "time", "later": "time", "datetime": "date-time",
        "money": "number", "number": "number", "sum": "number", "plus": "number", "minus": "number",
        "times": "number", "percent": "number", "choice": "number", "int": "integer", "intchoice": "integer",
        "bool": "boolean", "email": "email", "currency": "currency", "iban": "compact", "vat_id": "compact",
        "nation": "country",
    }  # fmt: skip
    return kinds.get(name, "string")


# --- printing ------------------------------------------------------------------------------------------------


def ascii_fold(text: str) -> str:
    """Without accents, as in mail addresses and names of fields."""
    table = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "é": "e", "è": "e", "ê": "e", "à": "a", "á": "a", "ç": "c",
             "ñ": "n", "ó": "o", "ò": "o", "í": "i", "ú": "u", "ù": "u", "ã": "a", "â": "a", "ô": "o", "î": "i",
             "å": "a", "ø": "o", "æ": "ae", "ł": "l", "ą": "a", "ę": "e", "ś": "s", "ż": "z", "ź": "z", "ć": "c",
             "ń": "n", "ë": "e", "ï": "i", "õ": "o", "ô": "o", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "É": "E", "Ł": "L"}  # fmt: skip
    return "".join(table.get(c, c if c.isascii() else "") for c in text)


_ORDINALS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def print_date(day: dt.date, form: str, language: str) -> str:
    """A date by a form of `d dd m mm yyyy yy Month Mon ord`, in braces."""
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
    """The day's name in this language."""
    names = common()["weekdays"][language if language in common()["weekdays"] else "en"].split("|")
    return names[day.weekday()]


_PLAIN_WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
                "seventeen eighteen nineteen twenty").split()  # fmt: skip
_TENS = "x x twenty thirty forty fifty sixty seventy eighty ninety".split()


def number_word(n: int) -> str:
    """A whole number below a hundred in English words, else in digits."""
    if 0 <= n <= 20:
        return _PLAIN_WORDS[n]
    if n < 100:
        return _TENS[n // 10] + ("-" + _PLAIN_WORDS[n % 10] if n % 10 else "")
    return str(n)


def print_number(number: Decimal | int, marks: tuple[str, str], places: int | None = None) -> str:
    """A number with this thousands mark and decimal mark."""
    x = Decimal(number)
    if places is not None:
        x = x.quantize(Decimal(1).scaleb(-places))
    text = f"{abs(x):,f}".replace(",", "\0").replace(".", marks[1]).replace("\0", marks[0])
    return ("-" if x < 0 else "") + text


def show(value: Value, form: str, s: Scope) -> tuple[str, str, str]:
    """(before, text, after): how a value is printed; the span covers `text` only."""
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
            pool = split("{ord} day of {Month} {yyyy}|{ord} day of {Month}, {yyyy}|{Month} {d}, {yyyy}|{d} {Month} {yyyy}")
        elif form == "compact":
            pool = ("{yyyy}{mm}{dd}", "{dd}{Mon}{yy}")
        elif form == "weekday":
            pool = tuple(p for p in pool if "Mon" in p) or pool
            before = weekday(raw, language) + s.chosen("weekday comma", (", ", " ", ", "))
        elif "{" in form:
            pool = (form,)
        return before, print_date(day, s.chosen("date " + form, pool), language), after
    if kind == "time":
        default = ("{H}:{M}", "{HH}:{M}") if s.locale.name != "en_US" else ("{h}:{M} {P}", "{h}:{M}{p}", "{H}:{M}")
        if language == "de":
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
            return "", s.chosen("number words", (f"{number_word(n)} ({n})", str(n), f"{number_word(n)} ({n})")), ""
        if kind == "integer" and form == "bare":
            return "", str(raw), ""
        marks = s.chosen("marks", ("local",) * 9 + ("other",))
        pair = s.locale.numbers if marks == "local" else s.chosen("other marks", (("", s.locale.numbers[1]),) * 2)  # type: ignore[arg-type]
        if kind == "integer":
            return "", print_number(raw, pair if abs(raw) > 9999 else ("", ""), 0), ""  # type: ignore[arg-type]
        if form == "short":
            text = print_number(raw.normalize() if raw != raw.to_integral() else raw.to_integral(), pair)  # type: ignore[arg-type]
            return "", text, ""
        text = print_number(raw, pair)  # type: ignore[arg-type]
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
    """The value as printed without any form."""
    return "".join(show(value, "", scope))
