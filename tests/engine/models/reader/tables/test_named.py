"""Open properties in lines, numbers in a row, and what a recursive schema leaves out: read, or in doubt."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filled, Passage, Request
from cinnabar.schemas import compile_schema

NONE = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 4), np.float32)
GOODS = ("Apples", "Pears", "Red plums", "Oat flour", "Honey", "Black tea", "Salt", "Rye bread")


def filled_from(text: str, schema: dict[str, Any]) -> tuple[Any, Filled]:
    form = compile_schema(schema).form
    (filled,) = Engine(load_model("default"), "medium").fill([Request("a", form, Passage(text, text, 0, *NONE))])
    assert isinstance(filled, Filled)
    return json.loads(filled.record), filled


@pytest.mark.parametrize("seed", range(8))
def test_open_properties_in_lines_are_all_read_or_their_object_is_in_doubt(seed: int) -> None:
    rng = random.Random(seed)
    goods = rng.sample(GOODS, rng.randint(3, 7))
    prices = {name: rng.randint(100, 2000) / 100 for name in goods}
    between = rng.choice((": ", " = ", "\t", " - ", None))
    sign = rng.choice(("", " EUR"))
    lines = [name.ljust(20) + f"{one:>8.2f}" if between is None else f"{name}{between}{one:.2f}{sign}"
             for name, one in prices.items()]  # fmt: skip
    total = [f"Total{between or ' ' * 18}{sum(prices.values()):.2f}{sign}"] if rng.random() < 0.4 else []
    text = "\n".join(["Price list of the shop", "", *lines, *total, "", "All prices hold until May.", ""])
    about = {"type": "object", "description": "Price of each product by its name.",
             "additionalProperties": {"type": "number"}}  # fmt: skip
    record, filled = filled_from(text, {"type": "object", "properties": {"prices": about}})
    found = record.get("prices") or {}
    assert found == prices or filled.lists.get("/prices", 0.0) < 0.5, (text, record)
    assert len(found) in (0, len(prices)) or between == " - ", (text, record)


@pytest.mark.parametrize("numbers", ["38, 39, 40, 41", "38; 39; 40; 41", "38, 39, 40 and 41"])
def test_numbers_in_a_row_are_all_items(numbers: str) -> None:
    schema = {"type": "object", "properties": {"sizes": {"type": "array", "items": {"type": "number"}}}}
    record, _ = filled_from(f"Colours: red, green\nSizes: {numbers}\n", schema)
    assert record["sizes"] == [38, 39, 40, 41]


def test_lists_below_the_last_level_of_a_recursive_schema_are_in_doubt() -> None:
    person = {"type": "object", "required": ["name", "reports"], "properties": {"name": {"type": "string"}}}
    person["properties"]["reports"] = {"type": "array", "items": {"$ref": "#/$defs/person"}}
    text = "Chart\n\nAnna Miller, CEO\n  Ben Stone, CTO\n    Carl Price, Engineer\n      Dora Ruiz, Intern\n"
    record, filled = filled_from(text, {"$defs": {"person": person}, "$ref": "#/$defs/person"})
    cut = [f"/reports/{at}/reports" for at in range(len(record["reports"]))]
    assert cut and all(filled.lists[one] < 0.5 for one in cut)
