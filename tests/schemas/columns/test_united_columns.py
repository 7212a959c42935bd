"""Uniting types: one type for the values of two versions, or an error that names both with the place."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cinnabar.errors import NotUnited
from cinnabar.schemas.columns.united_columns import unite, united_columns

CENTS, NANOS, WHOLE = pa.decimal128(38, 2), pa.decimal128(38, 9), pa.int64()
UNITED = [
    (WHOLE, WHOLE, WHOLE),
    (WHOLE, pa.float64(), pa.float64()),
    (CENTS, pa.float64(), pa.float64()),
    (WHOLE, CENTS, CENTS),
    (CENTS, NANOS, NANOS),
    (pa.null(), pa.date32(), pa.date32()),
    (pa.list_(WHOLE), pa.list_(CENTS), pa.list_(CENTS)),
    (
        pa.struct([("a", WHOLE), ("b", pa.string())]),
        pa.struct([("c", pa.bool_()), ("a", CENTS)]),
        pa.struct([("c", pa.bool_()), ("a", CENTS), ("b", pa.string())]),
    ),
]
APART = [
    (pa.string(), pa.date32(), "/x"),
    (pa.string(), WHOLE, "/x"),
    (pa.bool_(), WHOLE, "/x"),
    (pa.date32(), pa.timestamp("us", tz="UTC"), "/x"),
    (pa.decimal128(38, 30), WHOLE, "/x"),
    (pa.list_(WHOLE), WHOLE, "/x"),
    (pa.list_(pa.struct([("a/b", WHOLE)])), pa.list_(pa.struct([("a/b", pa.string())])), "/x/*/a~1b"),
]


@pytest.mark.parametrize(("old", "new", "both"), UNITED)
def test_a_type_holds_the_values_of_both(old: pa.DataType, new: pa.DataType, both: pa.DataType) -> None:
    assert unite(old, new) == both
    assert unite(old, both) == both and unite(new, both) == both


@pytest.mark.parametrize(("old", "new", "pointer"), APART)
def test_types_that_do_not_unite_are_named(old: pa.DataType, new: pa.DataType, pointer: str) -> None:
    with pytest.raises(NotUnited) as raised:
        united_columns([pa.field("x", old)], [pa.field("x", new)])
    assert raised.value.pointer == pointer
    assert raised.value.old in str(raised.value) and raised.value.new in str(raised.value)
