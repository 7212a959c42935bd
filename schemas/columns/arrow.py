"""Arrow types of shapes, and conversion of JSON values to the Python values that PyArrow takes."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from cinnabar.errors import NotStored
from cinnabar.schemas.automata.strings import decimal, json_text
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.parsing.algebra import text_type
from cinnabar.schemas.parsing.shape import (
    Anything,
    Array,
    Boolean,
    Enum,
    Null,
    Number,
    Object,
    Shape,
    String,
    drop_null,
    is_open,
)
from cinnabar.schemas.pointers import escape

# The digits that decimal128 holds.
PRECISION = 38
_INT64 = (-(2**63), 2**63 - 1)


def arrow_schema(compiled: CompiledSchema) -> pa.Schema:
    """The columns of a record: one for each property, or one named `value` if the record is no object.

    Every column is nullable, so that a later version of the schema can make any property optional.
    """
    column = arrow_type(compiled.shape)
    if pa.types.is_struct(column):
        return pa.schema([column.field(i) for i in range(column.num_fields)])
    return pa.schema([pa.field("value", column)])


def arrow_type(shape: Shape) -> pa.DataType:
    """The type of a column that holds the values of this shape, including null.

    Dates are date32, date-times timestamp in UTC to the microsecond. Numbers with a known number of decimal places
    (`x-cinnabar-decimals`, or a `multipleOf` of a power of ten) are decimal128, other numbers float64. Integers are
    int64, or decimal128 if a bound lies beyond. All other shapes are stored as text: alternatives of different types,
    objects with open properties, arrays whose first items differ from the others, and an object without properties,
    which Parquet cannot store. A value there that is no string is stored as its canonical JSON text.
    """
    kinds = {_branch(branch) for branch in drop_null(shape)}
    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    return kinds.pop() if len(kinds) == 1 else pa.string()


def _branch(shape: Shape) -> pa.DataType:
    if isinstance(shape, Array):
        return pa.string() if shape.prefix or shape.item is None else pa.list_(arrow_type(shape.item))
    if isinstance(shape, Anything):
        return pa.string()
    if isinstance(shape, Object):
        if not shape.fields or is_open(shape):
            return pa.string()
        return pa.struct([pa.field(f.name, arrow_type(f.shape)) for f in shape.fields])
    if isinstance(shape, Boolean):
        return pa.bool_()
    if isinstance(shape, Number):
        return _number(shape)
    if isinstance(shape, String):
        if "date" in shape.formats:
            return pa.date32()
        return pa.timestamp("us", tz="UTC") if "date-time" in shape.formats else pa.string()
    if isinstance(shape, Enum):
        return _enum(shape)
    assert isinstance(shape, Null)
    return pa.null()


def _number(shape: Number) -> pa.DataType:
    bounds = (shape.minimum, shape.maximum, shape.exclusive_minimum, shape.exclusive_maximum)
    if shape.integer:
        beyond = any(b is not None and not _INT64[0] <= b <= _INT64[1] for b in bounds)
        return pa.decimal128(PRECISION, 0) if beyond else pa.int64()
    places = [_places(multiple) for multiple in shape.multiples]
    known = [p for p in places if p is not None]
    return pa.decimal128(PRECISION, max(known)) if known else pa.float64()


def _places(multiple: Decimal) -> int | None:
    """The k for which `multiple` is 10 to the power of -k; None if there is none that fits a decimal column."""
    sign, digits, exponent = multiple.normalize().as_tuple()
    if sign or digits != (1,) or not isinstance(exponent, int) or not -PRECISION < exponent <= 0:
        return None
    return -exponent


def _enum(shape: Enum) -> pa.DataType:
    kinds = {text_type(text) for text in shape.options}
    if kinds == {"integer"}:
        big = any(not _INT64[0] <= Decimal(text) <= _INT64[1] for text in shape.options)
        return pa.decimal128(PRECISION, 0) if big else pa.int64()
    if kinds <= {"integer", "number"}:
        return pa.float64()
    return pa.bool_() if kinds == {"boolean"} else pa.string()


def arrow_value(value: Any, kind: pa.DataType, pointer: str = "") -> Any:
    """The Python value that PyArrow takes for this JSON value in a column of this type.

    `value` is parsed JSON with int or Decimal numbers. Dates become date, date-times datetime in UTC. In a text
    column, a value that is no string becomes its canonical JSON text. Raises NotStored, with the place (`pointer` is
    that of the value), if the schema allows the value and the column cannot hold it, such as an integer beyond 64 bits.
    """
    if value is None:
        return None
    if pa.types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return {f.name: arrow_value(value.get(f.name), f.type, f"{pointer}/{escape(f.name)}") for f in fields}
    if pa.types.is_list(kind):
        return [arrow_value(item, kind.value_type, f"{pointer}/{at}") for at, item in enumerate(value)]
    try:
        return _scalar(value, kind)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise NotStored(pointer, str(error)) from error


def _scalar(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return value
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else json_text(value)
    if pa.types.is_date32(kind):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(kind):
        return _instant(value)
    return _numeric(value, kind)


def _numeric(value: int | float | Decimal, kind: pa.DataType) -> int | float | Decimal:
    exact = decimal(value)
    if isinstance(kind, pa.Decimal128Type):
        return _scale(exact, kind.precision, kind.scale)
    if pa.types.is_int64(kind):
        if exact.adjusted() > 19 or not _INT64[0] <= exact <= _INT64[1]:
            raise ValueError(f"expected an integer of 64 bits, got {exact}")
        return int(exact)
    near = float(exact)
    if math.isinf(near):
        raise ValueError(f"expected a number that a 64-bit float holds, got {exact}")
    return near


def _scale(exact: Decimal, precision: int, scale: int) -> Decimal:
    """The same number with exactly `scale` places; `quantize` would round to Python's 28 digits."""
    if exact and exact.adjusted() >= precision - scale:
        raise ValueError(f"expected {precision - scale} digits before the point, got {exact}")
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    if shift < 0 and any(digits[shift:]):
        raise ValueError(f"expected at most {scale} decimal places, got {exact}")
    figures = digits + (0,) * shift if shift >= 0 else digits[:shift]
    return Decimal((sign, figures or (0,), -scale))


def _instant(text: str) -> datetime:
    """The instant of an RFC 3339 date-time, in UTC; digits beyond the microsecond are dropped."""
    instant = datetime.fromisoformat(text.upper())
    if instant.tzinfo is None:
        raise ValueError(f"expected a date-time with an offset from UTC, got {text}")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"expected a date-time between the years 1 and 9999 in UTC, got {text}") from None
