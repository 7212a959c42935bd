"""Draws values of synthetic documents with small named generators.

A family's data names a generator by a short text such as `date`, `money 5 900`, `code INV-####` or `after issued 14
30`; `GENERATORS` lists them. A value has its content in the record (`truth`) apart from its printing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from training.generator.codes import code_pattern, draw_code
from training.generator.locale import Scope, Value, split
from training.generator.parties import PARTIES
from training.generator.printing import plain, show
from training.generator.quantities import QUANTITIES


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
