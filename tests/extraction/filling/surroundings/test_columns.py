"""Values below the heads of a table of one row."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each
from tests.support.surrounded_values import surrounded

FIELDS: dict[str, dict[str, Any]] = {
    "article": {"type": ["string", "null"]},
    "unit_price": {"type": ["number", "null"]},
    "sent": {"type": ["string", "null"], "format": "date-time"},
}
NOTHING = (None, None, None)


@each(
    "text,read,told",
    [
        ("Article  Unit price  Sent\nHose     12,50", NOTHING, ("Hose", 12.5, None)),
        ("article | unit_price\nHose | 12.50", NOTHING, ("Hose", 12.5, None)),
        ("Article  Sent\nParcel 7  7 May 2024 10:30", NOTHING, ("Parcel 7", None, "2024-05-07T10:30:00Z")),
        ("Article  Unit price\nHose     #N/A", NOTHING, ("Hose", None, None)),
        ("Article  Unit price\nTBD      12.50", NOTHING, (None, 12.5, None)),
        ("| Article | Unit price |\n|---|---|\n| Hose | 12.50 |", NOTHING, ("Hose", 12.5, None)),
        ("Article      Unit price\n\nHose      12.50\n\nThanks", NOTHING, ("Hose", 12.5, None)),
        ("Article      Unit price\n\nHose      12.50\n\nRake      9.00", NOTHING, NOTHING),
        # Several rows, a form of labels and values, one known head, heads without a row.
        ("Article  Unit price\nHose     12.50\nRake     9.00", NOTHING, NOTHING),
        ("Article  Hose\nUnit price  12.50", NOTHING, NOTHING),
        ("Article  Colour\nHose     red", NOTHING, NOTHING),
        ("Article  Unit price", NOTHING, NOTHING),
        ("Article  Unit price\nHose     12.50", ("Garden hose", 12.5, None), ("Hose", 12.5, None)),
        ("Article  Unit price\nHose     12.50", ("Unit price", 12.5, None), ("Hose", 12.5, None)),
    ],
)
def test_a_field_has_the_value_below_its_head_in_a_table_of_one_row(
    text: str, read: tuple[Any, ...], told: tuple[Any, ...]
) -> None:
    values = dict(zip(FIELDS, read, strict=True))
    found = surrounded(FIELDS, text, values, {})
    for (value, sure, flags), wanted, before in zip(found.values(), told, read, strict=True):
        assert value == wanted
        assert (flags == ("below_head",) and sure < 0.9) == (value != before)
