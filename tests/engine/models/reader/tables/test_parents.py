"""Lists in lists keep every item around others: those without items, and those that say the same."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.tables.parents import _block_starts
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.schemas import compile_schema

TEXT, NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
ARTICLES = {"article": TEXT, "pieces": NUMBER, "price": NUMBER}
ORDERS = """\
Order 1001   Customer: Berg
  Hinge large   12   4.50
  Bolt M8       250  0.12

Order 1002   Customer: Stein

Order 1003   Customer: Voss
  Lamp          1    49.00

Order 1004   Customer: Berg
  Chair         4    89.00
  Table         1    310.00
"""
STAFF = """\
Department: Sales
Name          Role        Since
Anna Berg     Lead        2019
Paul Stein    Clerk       2021

Department: Store
Name          Role        Since
Rita Voss     Lead        2018

Department: Office
(no staff)

Department: Fleet
Name          Role        Since
Max Kern      Driver      2020
Ina Holm      Driver      2022
"""
ALIKE = """\
Order 1001   Customer: Berg
Article       Pieces  Price
Hinge large   12      4.50
Bolt M8       250     0.12

Order 1001   Customer: Berg
Article       Pieces  Price
Lamp          1       49.00

Order 1003   Customer: Voss
Article       Pieces  Price
Chair         4       89.00
Table         1       310.00
Stool         2       45.00
Shelf         2       75.00
Box           7       5.00
"""

CUSTOMERS = """\
SUMMARY OF ORDERS

Smith & Sons, Leeds
Date: 2024-01-02
Hammer, 2 pieces
Saw, 1 piece

Jones Hardware, York
Date: 2024-01-03
Drill, 1 piece
Pliers, 4 pieces
"""


def rooms() -> str:
    """Eight buildings, two of them without rooms."""
    lines = ["Plan of rooms", ""]
    for at in range(8):
        lines.append(f"Building: B{at + 1}   Street: {['Hafenstr.', 'Marktplatz', 'Ringweg'][at % 3]} {at + 2}")
        lines += [f"{at + 1}.{n:02}    {use}  {9 + 7 * n}" for n, use in enumerate(("Office ", "Kitchen", "Store  "))]
        lines = [*(lines[:-3] if at in (2, 5) else lines), ""]
    return "\n".join(lines)


#: A text, its list, a field of the items, the list in them with its fields; the values, and how many items each has.
CASES = {
    "one has no items": (ORDERS, "orders", "number", ("lines", ARTICLES), "1001 1002 1003 1004", [2, 0, 1, 2]),
    "heads below each": (
        STAFF, "departments", "department", ("staff", {"name": TEXT, "role": TEXT, "since": NUMBER}),
        "Sales Store Office Fleet", [2, 1, 0, 2],
    ),
    "two say the same": (ALIKE, "orders", "number", ("lines", ARTICLES), "1001 1001 1003", [2, 1, 5]),
    "in a table": (
        rooms(), "buildings", "building", ("rooms", {"use": TEXT, "area": NUMBER}),
        "B1 B2 B3 B4 B5 B6 B7 B8", [3, 3, 0, 3, 3, 0, 3, 3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_line_that_begins_an_item_around_others_is_kept(case: str) -> None:
    text, outer, name, (inner, fields), values, counts = CASES[case]
    rows = {"type": "array", "items": {"type": "object", "properties": fields, "required": list(fields)}}
    item = {"type": "object", "properties": {name: TEXT, inner: rows}, "required": [name, inner]}
    schema: dict[str, Any] = {"type": "object", "properties": {outer: {"type": "array", "items": item}}}
    (found,) = Engine(load_model()).fill([Request("", compile_schema(schema).form, text_passage(text))])
    assert isinstance(found, Filled)
    items = json.loads(found.record)[outer]
    assert [one[name] for one in items] == values.split()
    assert [len(one[inner]) for one in items] == counts


def test_an_item_begins_with_its_block_not_with_the_line_that_tells_it() -> None:
    rows = [CUSTOMERS.index(one) for one in ("Hammer", "Saw", "Drill", "Pliers")]
    lines = [match.span() for match in re.finditer("Date.*", CUSTOMERS)]
    assert _block_starts(lines, rows, CUSTOMERS) == [CUSTOMERS.index("Smith"), CUSTOMERS.index("Jones")]
    together = CUSTOMERS.replace("\n\n", "\n")
    lines = [match.span() for match in re.finditer("Date.*", together)]
    rows = [together.index(one) for one in ("Saw", "Drill")]
    assert _block_starts(lines, rows, together) == [start for start, _ in lines]
