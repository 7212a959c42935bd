"""Reading and writing of schemas as JSON texts without loss: a number that a float would round is a Decimal.

All other fractions stay the floats of Python's json, so a schema is the same whether it comes from a file or was
written in Python.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from itertools import count
from typing import Any

from cinnabar.schemas.automata.strings import most_repeated
from cinnabar.schemas.parsing.limits import MAX_DIGITS, too_deep


def read_schema(text: str) -> Any:
    """The value of a JSON text.

    NaN and infinities come as floats, so that `check_limits` refuses them with their place. Raises ValueError if the
    text is not JSON or has a key twice in one object, and UnsupportedSchema if it is too deep for Python's parser.
    """
    try:
        return json.loads(
            text, parse_float=json_number, parse_int=json_integer, parse_constant=float, object_pairs_hook=_object
        )
    except RecursionError:
        raise too_deep([]) from None


def schema_text(schema: Any, **how: Any) -> str:
    """The schema as JSON with exact decimals; `how` goes to `json.dumps`."""
    # json writes no Decimal, so each becomes a string first, with a mark that is nowhere in the schema.
    numbers: dict[str, Decimal] = {}

    def stands_for(number: Any) -> str:
        if not isinstance(number, Decimal):
            raise TypeError(f"expected JSON, got {type(number).__name__}")
        numbers[key := f"{mark}:{len(numbers)}"] = number
        return key

    for mark in map("decimal {}".format, count()):
        numbers.clear()
        text = json.dumps(schema, default=stands_for, **how)
        if text.count(f'"{mark}:') == len(numbers):
            break
    return re.sub(rf'"({mark}:\d+)"', lambda match: str(numbers[match[1]]), text) if numbers else text


def json_number(text: str) -> float | Decimal:
    """The number with a fraction or exponent as a float, or as a Decimal if a float would round it."""
    near = float(text)
    try:
        exact = Decimal(text)
    except InvalidOperation:  # The exponent is past that of any Decimal, far above the limit.
        return Decimal(f"1e{MAX_DIGITS}")
    return near if math.isfinite(near) and Decimal(repr(near)) == exact else exact


def json_integer(digits: str) -> int | Decimal:
    """The whole number as an int, or as a Decimal if Python converts no number of that length."""
    return int(digits) if len(digits) <= MAX_DIGITS else Decimal(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key {most_repeated(pairs)!r:.80} twice in one object")
    return found
