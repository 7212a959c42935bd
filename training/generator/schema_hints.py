"""Adds hints to descriptions: values for absence, examples and bounds, and signs.

A third of the hints only look like a value for absence: a number in a description is more often an example, and the
model has to read which of the two it is.
"""

from __future__ import annotations

import random
from typing import Any

from training.generator.schema_plan import Plan

#: Phrases for the value {} that stands for absence.
_NONE = (
    "; {} when none", "; {} if none", ", {} where none is given", " ({} when not stated)",
    "; {} if missing", "; {} if the document names none", " Defaults to {}.", " Default: {}.",
    "; otherwise {}", "; else {}", " Use {} when nothing is printed.", "; {} unless stated",
    ", {} if there is none", " ({} = none)", "; {} stands for none", " Put {} where it is missing.",
    ", or {} if not mentioned", " {} when absent.", "; {} falls nicht angegeben", "; {}, wenn keine",
    "; sonst {}", " ({} bei Fehlen)", "; {} si absent", ", {} en l'absence d'indication",
    "; {} if nothing is charged", ", {} when none are mentioned", ". If there is none, put {}",
    "; {} by default", "; {} unless the document says otherwise", " (none: {})",
    "; write {} where nothing is said", ". Without one: {}", "; {} for those without", " (missing = {})",
    "; a document without it gets {}", "; {} is used where it lacks", "; falls unbekannt {}",
    "; à défaut {}",
)  # fmt: skip
#: Phrases with a number {} that does not stand for absence.
_NUMBERS = (
    " e.g. {}", ", for example {}", "; at least {}", "; between {} and 100", ", {} or more",
    " (up to {} digits)", "; {} only where it is printed, null otherwise",
    "; null when not stated, never {}", " in steps of {}", ", such as {}", "; {} is a possible value",
    "; null if none, not {}", " z. B. {}", ", par exemple {}", "; rounded to {} decimals",
    " (scale from {} to 10)", ", not {}", " with {} decimals", "; as in {}", ", {} to 1", ", {} to 12",
    ", 1 to {}", " from {} to 5", ", {} digits", ", {} decimals", "; {} decimal places", " of line {}",
    " of the last {} months", " ({} for {} %)", "; column {}", "; {} means the best", " (page {})",
    "; only above {}", " since January {}", "; {} and more are possible", " per {} pieces", "; {} = yes",
    "; in units of {}", "; {} is the highest", " on a scale of {}", "; see note {}", "; {} Stellen",
    " de {} à 10",
)  # fmt: skip
_TEXTS = (
    " e.g. {}", ", such as {}", "; null rather than {}", " like {}", " (for instance {})", ", not {}",
    "; the words after {}", " z. B. {}", ", par exemple {}", "; without {}", "; null if none, never {}",
    " not to be mixed up with {}", " (the line gives {})", "; one word, as {}", " ({} and the like)",
    "; begins with {}", "; letters such as {}", "; the part before {}", " in the form {}",
    "; {} is one of them",
)  # fmt: skip
_FOR_NONE = (
    "unknown", "none", "N/A", "n/a", "not stated", "missing", "UNKNOWN", "-", "keine", "unbekannt",
    "inconnu",
)  # fmt: skip
_EXAMPLES = ("A-100", "Example", "main", "total", "No. 7", "Berlin", "ABC", "Smith", "X", "2024/17")
_UNSIGNED = (
    ", always positive", " without its sign", " as a positive number", "; never negative",
    " (absolute value)", ", the sign is dropped", "; positive also for debits", ", immer positiv",
    " ohne Vorzeichen", ", toujours positif", " (amount only, no minus)",
)  # fmt: skip
_SIGNED = (
    ", negative for debits", " with its sign", "; negative where it is deducted", " (minus as printed)",
    ", may be negative", " mit Vorzeichen",
)  # fmt: skip
_CURRENCIES = ("EUR", "USD", "GBP", "CHF", "JPY")
_COUNTRIES = ("DE", "US", "FR", "GB", "AT")


def add_hints(r: random.Random, kind: str, plan: Plan, head: dict[str, Any]) -> None:
    """Adds a hint to the description of a leaf and adapts its plan to the hint."""
    numeric = kind in ("number", "integer")
    if plan.verbatim or not (numeric or kind in ("string", "compact", "currency", "country")):
        return
    if numeric and r.random() < 0.12:
        plan.unsigned = r.random() < 0.6
        _say(r, head, r.choice(_UNSIGNED if plan.unsigned else _SIGNED))
    draw = r.random()
    if draw < 0.12:
        plan.default = _value(r, kind)
        _say(r, head, r.choice(_NONE).replace("{}", _quoted(r, plan.default)))
    elif draw < 0.19:
        shown = _value(r, kind) if numeric or r.random() < 0.4 else r.choice(_EXAMPLES)
        _say(r, head, r.choice(_NUMBERS if numeric else _TEXTS).replace("{}", _quoted(r, shown)))


def _value(r: random.Random, kind: str) -> Any:
    if kind in ("number", "integer"):
        return r.choice((0, 0, 0, 0, 0, 1, 1, -1, r.randint(2, 100)))
    if kind == "currency":
        return r.choice(_CURRENCIES)
    return r.choice(_COUNTRIES) if kind == "country" else r.choice(_FOR_NONE)


def _quoted(r: random.Random, value: Any) -> str:
    if not isinstance(value, str) or (value.isupper() and value.isalpha() and r.random() < 0.7):
        return str(value)
    marks = r.choice(('""', '""', "''", "''", "``", "“”", "„“"))
    return f"{marks[0]}{value}{marks[1]}"


def _say(r: random.Random, head: dict[str, Any], more: str) -> None:
    said = head.get("description", "")
    if said.endswith(".") and more.startswith((";", ",")):
        said = said[:-1]
    head["description"] = (said + more).lstrip(" ,;") if not said else said + more
    if r.random() < 0.5 and not head["description"].endswith("."):
        head["description"] += "."
