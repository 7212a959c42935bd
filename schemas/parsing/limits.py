"""Limits on every schema, whatever its keywords: nesting, valid JSON, valid Unicode, the length of numbers.

They are checked first and without recursion, so later code may walk a schema by recursion.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from cinnabar.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas.keywords import MAPS
from cinnabar.schemas.pointers import pointer_of
from cinnabar.schemas.refusals import Refusal, refused

#: The most objects and lists nested within one another. Real schemas have 24 at most; a recursive walk takes up to
#: three frames for each, of the thousand that Python allows.
MAX_LEVELS = 200
#: The most digits of a number written without an exponent. Python converts no more than 4,300 at once.
MAX_DIGITS = 4_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_VAST = 10**MAX_DIGITS


def check_limits(schema: Any, name: str = "schema") -> None:
    """Raises UnsupportedSchema if a value is nested too deeply, a number too long, or a text not Unicode.

    The error has the pointer of the value. Raises SchemaError if a number is not finite, such as NaN.
    """
    # The containers still to check, each with its level and its path as a linked list: (last step, path above).
    pending: list[tuple[Any, int, Any]] = [(schema, 1, None)] if isinstance(schema, dict) else []
    while pending:
        value, level, way = pending.pop()
        if level > MAX_LEVELS:
            raise too_deep(_steps(way))
        if isinstance(value, dict):
            for key in value:
                if isinstance(key, str) and not key.isascii() and _SURROGATE.search(key):
                    raise _refused_at(_steps(way), Refusal.SURROGATE, text=f"the name {ascii(key)[:80]}")
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(part, (dict, list, tuple)):
                pending.append((part, level + 1, (step, way)))
            elif isinstance(part, str):
                if not part.isascii() and _SURROGATE.search(part):
                    raise _refused_at(_steps((step, way)), Refusal.SURROGATE, text=ascii(part)[:80])
            elif isinstance(part, (int, float, Decimal)):
                _check_number(part, (step, way), name)


def too_deep(steps: Sequence[Any]) -> UnsupportedSchema:
    """The error for a value one level too deep, at the end of these steps from the root."""
    return _refused_at(steps, Refusal.NESTED_CONTAINERS, most=MAX_LEVELS)


def _check_number(number: int | float | Decimal, way: Any, name: str) -> None:
    finite = True
    if isinstance(number, int):
        long = abs(number) >= _VAST
    elif isinstance(number, float):
        # A finite float has at most 309 digits before the point and 324 behind it.
        long, finite = False, math.isfinite(number)
    else:
        _, digits, exponent = number.as_tuple()
        finite = isinstance(exponent, int)
        long = isinstance(exponent, int) and max(len(digits) + exponent, len(digits), -exponent) > MAX_DIGITS
    if not finite:
        raise SchemaError(f"{name}: {pointer_of(_steps(way))}: expected JSON, got {json.dumps(float(number))}")
    if long:
        raise _refused_at(_steps(way), Refusal.DIGITS, most=MAX_DIGITS)


def _refused_at(steps: Sequence[Any], refusal: Refusal, **told: object) -> UnsupportedSchema:
    *above, keyword = [str(step) for step in steps if not isinstance(step, int)] or ["schema"]
    if above and above[-1] in MAPS:
        keyword = above[-1]
    return refused(refusal, pointer_of(steps), keyword, **told)


def _steps(way: Any) -> list[Any]:
    found = []
    while way is not None:
        step, way = way
        found.append(step)
    return found[::-1]
