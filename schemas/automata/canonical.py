"""Canonical writing of JSON values, and parsing of JSON texts in any spelling."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from decimal import MAX_EMAX, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from cinnabar.schemas.automata.numbers import canonical_number
from cinnabar.schemas.automata.strings import canonical_string


def decimal(value: int | float | Decimal) -> Decimal:
    """A JSON number as the decimal of its shortest spelling.

    Raises ValueError if the value is infinite or not a number.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"expected a JSON number, got {value}")
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"expected a JSON number, got {value}")
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def scalar_text(value: str | int | float | Decimal | bool | None) -> str:
    """The canonical text of null, a boolean, a number or a string.

    Raises ValueError if a string has a lone surrogate, which no UTF-8 text can hold, or if a number is not finite.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return canonical_string(value).decode("utf-8")
    return canonical_number(decimal(value))


def json_text(value: Any) -> str:
    """The canonical text of any JSON value: no spaces, properties in the order of the value."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{scalar_text(str(k))}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(json_text(v) for v in value) + "]"
    return scalar_text(value)


@lru_cache(maxsize=16)
def shared_value(text: str) -> Any:
    """The value of a JSON text as of `parse`: one object for all who read it, and no one changes it.

    The stages of a run look at one record in turn; the last sixteen are kept.
    """
    return parse(text)


def parse(text: str) -> Any:
    """The value of a JSON text in any spelling (RFC 8259), with exact numbers.

    Numbers come as int, or as Decimal if they have a fraction, an exponent or too many digits for Python's limit on
    integer texts. Raises ValueError if the text is not JSON (NaN and Infinity are not), or if it has a construct on
    which readers of JSON disagree: two properties of one name in an object, a lone surrogate, an exponent past that
    of Decimal, nesting that is too deep.
    """
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_object
        )
        if _SURROGATE.search(text):
            # A pair of surrogates is one code point; a lone one is not valid Unicode.
            json.dumps(value, ensure_ascii=False, default=str).encode()
    except RecursionError:
        raise ValueError("expected JSON with fewer nested values") from None
    except UnicodeEncodeError:
        raise ValueError("expected valid Unicode, got a lone surrogate") from None
    except InvalidOperation:
        raise ValueError(f"expected a number with an exponent of at most {MAX_EMAX}") from None
    return value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def _refuse(name: str) -> None:
    raise ValueError(f"expected JSON, got {name}")


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < 4000 else Decimal(digits)


def most_repeated(pairs: list[tuple[str, Any]]) -> str:
    """The most frequent name among these pairs, for the error message about a repeated property."""
    ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
    return name


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"expected properties of different names, got {most_repeated(pairs)!r:.80} twice")
    return found
