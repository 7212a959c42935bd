"""Values of synthetic documents: drawn by a small named generator, printed as a country prints them.

A generator is named in a family's data by a short text such as `date`, `money 5 900`, `code INV-####` or
`after issued 14 30`; `GENERATORS` lists them. Every value knows what the record holds (`truth`) apart from
how it is printed.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from cinnabar.engine.training.locale import Scope, Value, common, split
from cinnabar.engine.training.printing import ascii_fold, plain, show


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high))) if low > 0 else rng.uniform(low, high)


@lru_cache(maxsize=4096)
def code_pattern(code: str) -> str:
    """The regular expression (ECMA-262) of a code's pattern."""
    marks = {"#": "[0-9]", "@": "[A-Z]", "*": "[A-Z0-9]", "%": "[0-9a-f]"}
    return "^" + "".join(marks.get(c) or re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", c) for c in code) + "$"


def draw_code(rng: random.Random, code: str) -> str:
    """A code by its pattern: `#` a digit, `@` a capital, `*` either, `%` a hex digit, the rest as it
    stands."""
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
    form: str = common()["locales"][s.locale.name]["town"]
    return form.replace("Z", "\0").replace("C", city).replace("\0", zip_code)


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
    return Value(
        "time", (base + dt.timedelta(minutes=5 * s.rng.randint(int(low) // 5, int(high) // 5))).time()
    )


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


def _url(s: Scope, _: str) -> Value:
    return _text("www." + s.rng.choice(split(common()["domains"])).replace("~", _syllables(s, 2).lower()))


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
    "url": _url,
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
    "word": lambda s, _: _text(s.rng.choice(s.pool("word"))),
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
        "date": "date", "after": "date", "before": "date", "time": "time", "later": "time",
        "datetime": "date-time",
        "money": "number", "number": "number", "sum": "number", "plus": "number", "minus": "number",
        "times": "number", "percent": "number", "choice": "number", "int": "integer", "intchoice": "integer",
        "bool": "boolean", "email": "email", "currency": "currency", "iban": "compact", "vat_id": "compact",
        "nation": "country",
    }  # fmt: skip
    return kinds.get(name, "string")
