"""Reading of a list of thousands of rows: the rows found, those right and in their place, and the time."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from bench.timing import read_alone
from cinnabar.engine.model import Model

#: The rows of a page, below a heading that each page has.
PAGE = 60
GOODS = ("hex bolt M8", "pipe clamp 22 mm", "cable tie black", "work gloves L", "sanding disc")
LEDGER: dict[str, Any] = {
    "title": "ledger",
    "type": "object",
    "properties": {
        "movements": {
            "type": "array",
            "description": "One entry for each line of the ledger.",
            "items": {
                "type": "object",
                "properties": {
                    "day": {"type": ["string", "null"], "format": "date", "description": "Its day."},
                    "item_number": {"type": ["string", "null"], "description": "Number of the item."},
                    "goods": {"type": ["string", "null"], "description": "What was moved."},
                    "quantity": {"type": ["integer", "null"], "description": "How many pieces."},
                    "unit_price": {"type": ["number", "null"], "description": "Price of one piece."},
                },
                "required": ["day", "item_number", "goods", "quantity", "unit_price"],
            },
        }
    },
    "required": ["movements"],
}


@dataclass(frozen=True, slots=True)
class LongList:
    """The rows printed, found, and found with every value right in their place; seconds in all."""

    printed: int
    found: int
    right: int
    seconds: float


def ledger(rows: int, seed: int = 0) -> tuple[str, list[dict[str, Any]]]:
    """The text of a stock ledger of `rows` lines, on pages with headings, and its rows."""
    draw, day = random.Random(seed), date(2023, 1, 2)
    head = f"{'Date':12}{'Item no.':12}{'Description':22}{'Quantity':>10}{'Unit price':>12}"
    lines, expected = list[str](), list[dict[str, Any]]()
    for number in range(rows):
        if number % PAGE == 0:
            lines += ["", f"Stock ledger, page {number // PAGE + 1}", "", head, ""]
        day += timedelta(days=draw.random() < 0.12)
        row = {
            "day": day.isoformat(),
            "item_number": f"{draw.randint(10000, 99999)}-{draw.choice('ABC')}",
            "goods": draw.choice(GOODS),
            "quantity": draw.randint(1, 400),
            "unit_price": draw.randint(10, 9000) / 100,
        }
        printed = f"{day:%d.%m.%Y}  {row['item_number']:12}{row['goods']:22}"
        lines.append(f"{printed}{row['quantity']:10}{row['unit_price']:12.2f}")
        expected.append(row)
    return "\n".join(lines), expected


def read_ledger(model: Model, effort: str, rows: int) -> LongList:
    """Reads a ledger of `rows` lines, as a run reads a document."""
    text, expected = ledger(rows)
    outcome, seconds = read_alone(model, effort, LEDGER, text)
    found = json.loads(outcome.record.text)["movements"] if outcome.record else []
    right = sum(a == b for a, b in zip(found, expected, strict=False))
    return LongList(rows, len(found), right, seconds)
