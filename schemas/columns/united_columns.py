"""Common column types of two versions of a schema, so that both can be read as one table."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa

from cinnabar.errors import NotUnited
from cinnabar.schemas.columns.arrow import PRECISION
from cinnabar.schemas.pointers import escape

# The most digits of an int64.
_INTEGER = 19


def unite(old: pa.DataType, new: pa.DataType, pointer: str = "") -> pa.DataType:
    """The type that holds every value of both, exactly.

    Numbers have a common type; an integer beyond 53 bits is rounded in a float. Objects and lists have one if their
    contents do. Raises NotUnited with the place and both types if there is no common type: a text does not tell
    which date or number it stands for.
    """
    if old.equals(new) or pa.types.is_null(new):
        return old
    if pa.types.is_null(old):
        return new
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return pa.struct(united_columns(list(old), list(new), pointer))
    if pa.types.is_list(old) and pa.types.is_list(new):
        return pa.list_(unite(old.value_type, new.value_type, f"{pointer}/*"))
    wider = _number_of_united_columns(old, new)
    if wider is None:
        raise NotUnited(pointer, _in_words(old), _in_words(new))
    return wider


Columns: TypeAlias = "list[pa.Field[Any]]"


def united_columns(old: Columns, new: Columns, pointer: str = "") -> Columns:
    """The columns of both, the new ones in their order first. Raises NotUnited."""
    before = {field.name: field.type for field in old}
    columns = [
        field.with_type(unite(before.pop(field.name, field.type), field.type, _below(pointer, field.name)))
        for field in new
    ]
    return columns + [field for field in old if field.name in before]


def _below(pointer: str, name: str) -> str:
    return f"{pointer}/{escape(name)}"


def _number_of_united_columns(old: pa.DataType, new: pa.DataType) -> pa.DataType | None:
    digits = [_digits(kind) for kind in (old, new)]
    if pa.float64() in (old, new):
        other = digits[1] if old == pa.float64() else digits[0]
        return None if other is None else pa.float64()
    if digits[0] is None or digits[1] is None:
        return None
    scale = max(places for _, places in (digits[0], digits[1]))
    before = max(whole for whole, _ in (digits[0], digits[1]))
    # A number with more digits than the column leaves fails the query that reads it; it is never cut.
    return pa.decimal128(PRECISION, scale) if min(before, _INTEGER) + scale <= PRECISION else None


def _digits(kind: pa.DataType) -> tuple[int, int] | None:
    """Digits before the point and behind it, for types with exact numbers; None for others."""
    if pa.types.is_int64(kind):
        return _INTEGER, 0
    if isinstance(kind, pa.Decimal128Type):
        return kind.precision - kind.scale, kind.scale
    return None


def _in_words(kind: pa.DataType) -> str:
    """The name of a type for the author of a schema."""
    if pa.types.is_list(kind):
        return f"a list ({_in_words(kind.value_type)})"
    if isinstance(kind, pa.Decimal128Type):
        return f"a number with {kind.scale} decimals" if kind.scale else "an integer"
    return "an object" if pa.types.is_struct(kind) else _PLAIN[str(kind)]


_PLAIN = {
    "bool": "true or false",
    "date32[day]": "a date",
    "double": "a number",
    "int64": "an integer",
    "null": "null",
    "string": "a text",
    "timestamp[us, tz=UTC]": "a date-time",
}
