"""Draws values of synthetic documents with small named generators.

A family's data names a generator by a short text such as `date`, `money 5 900`, `code INV-####` or `after issued 14
30`; `GENERATORS` lists them. A value has its content in the record (`truth`) apart from its printing.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from collections.abc import Callable
from decimal import Decimal

from training.generator.codes import code_pattern, draw_code
from training.generator.locale import Scope, Value, split
from training.generator.parties import PARTIES
from training.generator.printing import plain, show

# Generators of dates, times, numbers and amounts, some computed from other values of their document.


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high))) if low > 0 else rng.uniform(low, high)


def _date(s: Scope, arg: str) -> Value:
    """Draws a date in the years `arg` = "first_year last_year", else mostly of the last years."""
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
    """Draws a time that lies `low` to `high` minutes after another."""
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


#: Generators by name; each receives the text after its name.
QUANTITIES: dict[str, Callable[[Scope, str], Value]] = {
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
    "choice": lambda s, arg: Value("number", Decimal(s.rng.choice(arg.split()))),
    "intchoice": lambda s, arg: Value("integer", int(s.rng.choice(arg.split()))),
}


def _pick(s: Scope, arg: str) -> Value:
    options = split(arg[1:].replace("¦", "|")) if arg.startswith(":") else s.pool(_fill(s, arg.strip()))
    return Value("string", _fill(s, s.rng.choice(options).strip()))


def _fill(s: Scope, text: str) -> str:
    """Returns the text with `{path}` and `{=generator}` replaced by values."""

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


def _words(s: Scope, arg: str) -> Value:
    low, high = (int(x) for x in arg.split()) if arg else (1, 3)
    return Value("string", " ".join(s.rng.choice(s.pool("word")) for _ in range(s.rng.randint(low, high))))


def _sentence(s: Scope, arg: str) -> Value:
    n = int(arg or 1)
    pool = s.pool("sentence")
    return Value("string", " ".join(_fill(s, x) for x in s.rng.sample(pool, min(n, len(pool)))))


GENERATORS: dict[str, Callable[[Scope, str], Value]] = {
    **PARTIES,
    **QUANTITIES,
    "code": _code,
    "pick": _pick,
    "tpl": lambda s, arg: Value("string", _fill(s, arg)),
    "same": lambda s, arg: Value(s.value(arg).kind, s.value(arg).raw),
    "words": _words,
    "word": lambda s, _: Value("string", s.rng.choice(s.pool("word"))),
    "Word": lambda s, _: Value("string", s.rng.choice(s.pool("word")).capitalize()),
    "sentence": _sentence,
    "bool": lambda s, arg: Value("boolean", s.rng.random() < float(arg or 0.5)),
    "nation": lambda s, _: Value("country", s.locale.country_code),
    "currency": lambda s, _: Value("currency", s.locale.currency),
}


def draw(scope: Scope, spec: str) -> Value:
    """Draws a value by a generator's text. Raises ValueError with the known generators for an unknown one."""
    name, _, arg = spec.partition(" ")
    if name == "pick:" or name.startswith("pick:"):
        return _pick(scope, ":" + spec[5:])
    if name not in GENERATORS:
        raise ValueError(f"generator {name!r} in {spec!r} is not one of {', '.join(sorted(GENERATORS))}")
    return GENERATORS[name](scope, arg)


def kind_of(spec: str) -> str:
    """Returns the kind of a generator's values, as far as its name shows."""
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
