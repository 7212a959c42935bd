"""The keyword `x-cinnabar-decimals`: numbers with at most so many decimal places.

`multipleOf: 0.0001` says the same in the words of the standard. But a validator that computes in binary floats, as most
do, finds 80.91 to be no multiple of 0.0001, so such schemas make other programs refuse valid records.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from cinnabar.schemas.pointers import escape

DECIMALS = "x-cinnabar-decimals"
#: A decimal column has 38 digits, and one of them stands before the point.
MOST = 37
# Keywords whose values are data, and keywords that map any name to a schema.
_DATA = frozenset({"const", "default", "enum", "example", "examples"})
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})


def step_of(places: Any) -> Decimal | None:
    """The number of which all numbers with this many decimal places are multiples; None if `places` is no such count.

    A float that is whole counts, as everywhere in JSON Schema.
    """
    if isinstance(places, bool) or not isinstance(places, (int, float, Decimal)) or places != places // 1:
        return None
    return Decimal(1).scaleb(-int(places)) if 0 <= places <= MOST else None


def inexact_multiples(schema: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yields the pointer of each `multipleOf` that binary floats cannot hold, and a warning with advice."""
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from inexact_multiples(part, f"{at}/{index}")
    elif isinstance(schema, dict):
        step = schema.get("multipleOf")
        if not isinstance(step, bool) and isinstance(step, (int, float, Decimal)) and not _is_exact(step):
            yield f"{at}/multipleOf", _warning_of(Decimal(str(step)))
        for key, part in schema.items():
            if key in _NAMED and isinstance(part, dict):
                for name, below in part.items():
                    yield from inexact_multiples(below, f"{at}/{escape(key)}/{escape(name)}")
            elif key not in _DATA:
                yield from inexact_multiples(part, f"{at}/{escape(key)}")


def _is_exact(step: int | float | Decimal) -> bool:
    if isinstance(step, int):
        return True
    # A float is compared with the decimal that was written, which is the shortest one that reads back as it.
    return Decimal(float(step)) == Decimal(str(step))


def _warning_of(step: Decimal) -> str:
    sign, digits, exponent = step.normalize().as_tuple()
    places = -exponent if isinstance(exponent, int) else 0
    warning = f"multipleOf {step} is exact here, but validators with binary floats refuse numbers that meet it"
    power = not sign and digits == (1,) and 0 < places <= MOST
    return f'{warning}; write "{DECIMALS}": {places} instead' if power else warning
