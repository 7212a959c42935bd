"""JSON values by the standard: their types, and equality.

Numbers are equal by value in any spelling; true is no number; the order of properties makes no difference. A value is
the result of a JSON parser: dict, list, str, bool, None, and int, Decimal or float. A float counts as the decimal of
its shortest spelling.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from decimal import Decimal
from types import NoneType
from typing import Any

from cinnabar.schemas.automata.canonical import decimal

OBJECT: tuple[type, ...] = (dict,)
ARRAY: tuple[type, ...] = (list,)
STRING: tuple[type, ...] = (str,)
NUMBER: tuple[type, ...] = (int, Decimal, float)
KINDS: tuple[type, ...] = (dict, list, str, int, Decimal, float, bool, NoneType)
"""The Python types of parsed JSON."""

TYPES: dict[str, tuple[type, ...]] = {
    "object": OBJECT,
    "array": ARRAY,
    "string": STRING,
    "number": NUMBER,
    "integer": NUMBER,
    "boolean": (bool,),
    "null": (NoneType,),
}
"""The types of the standard, each with the Python types of its values."""

_TRUE, _FALSE = ("true",), ("false",)


def frozen(value: Any) -> Hashable:
    """A key that two JSON values share exactly if they are equal; raises ValueError if the value is not JSON."""
    kind = type(value)
    if kind is str or kind is int or kind is Decimal or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is list:
        return ("[", *map(frozen, value))
    if kind is dict:
        return ("{", frozenset([(name, frozen(part)) for name, part in value.items()]))
    if kind is float:
        return decimal(value)
    raise ValueError(f"expected parsed JSON, got {kind.__name__}")


def split(value: int | Decimal | float) -> tuple[int, int]:
    """The size of a number as (mantissa, exponent of ten), without zeros at the end of the mantissa."""
    _, digits, exponent = decimal(value).as_tuple()
    assert isinstance(exponent, int)
    kept = len(digits)
    while kept > 1 and digits[kept - 1] == 0:
        kept -= 1
        # Decimal has no limit on the number of digits; int() has one on texts.
    mantissa = int(Decimal((0, digits[:kept], 0)))
    return (mantissa, exponent + len(digits) - kept) if mantissa else (0, 0)


def is_whole(value: int | Decimal | float) -> bool:
    """Whether a number has no fraction in any spelling: 1.0 and 1e2 have none."""
    return type(value) is int or split(value)[1] >= 0


def show_value(value: Any) -> str:
    """A value for a message, as JSON if possible, cut to 80 characters."""
    if isinstance(value, Decimal):
        text = str(value)
    elif isinstance(value, (dict, list)):
        few = f"{len(value)} {'properties' if isinstance(value, dict) else 'items'}"
        text = f"an {'object' if isinstance(value, dict) else 'array'} of {few}"
    else:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else text[:79] + "…"
