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

from cinnabar.schemas.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas.judging.resources import MAPS
from cinnabar.schemas.pointers import escape

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
                    raise _no_unicode(_steps(way), f"the name {ascii(key)[:80]}")
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(part, (dict, list, tuple)):
                pending.append((part, level + 1, (step, way)))
            elif isinstance(part, str):
                if not part.isascii() and _SURROGATE.search(part):
                    raise _no_unicode(_steps((step, way)), ascii(part)[:80])
            elif isinstance(part, (int, float, Decimal)):
                _check_number(part, (step, way), name)


def too_deep(steps: Sequence[Any]) -> UnsupportedSchema:
    """The error for a value one level too deep, at the end of these steps from the root."""
    reason = f"more than {MAX_LEVELS} objects and lists within one another"
    return _refused(steps, reason, "nest fewer, or put inner schemas under $defs and refer to them")


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
        raise SchemaError(f"{name}: {_pointer(_steps(way))}: expected JSON, got {json.dumps(float(number))}")
    if long:
        reason = f"a number of more than {MAX_DIGITS:,} digits, written without an exponent"
        raise _refused(_steps(way), reason, "leave it out, or write a shorter one")


def _no_unicode(steps: Sequence[Any], what: str) -> UnsupportedSchema:
    reason = f"expected valid Unicode, got a lone surrogate in {what}"
    return _refused(steps, reason, "no text in UTF-8 has one; leave it out")


def _refused(steps: Sequence[Any], reason: str, advice: str) -> UnsupportedSchema:
    *above, keyword = [str(step) for step in steps if not isinstance(step, int)] or ["schema"]
    if above and above[-1] in MAPS:
        keyword = above[-1]
    return UnsupportedSchema(_pointer(steps), keyword, reason, advice)


def _steps(way: Any) -> list[Any]:
    found = []
    while way is not None:
        step, way = way
        found.append(step)
    return found[::-1]


def _pointer(steps: Sequence[Any]) -> str:
    return "".join(f"/{escape(str(step))}" for step in steps)
