"""One thing told under a schema of a list of things."""

from __future__ import annotations

import math

import pytest
from tests.support.tiny_network import form_of, passage_of, tiny_network, wordpieces

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.model import WHOLE
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.priors.config import (
    DoubtfulRowsConfig,
    PriorConfig,
    RowConfig,
    SingleItemConfig,
)
from cinnabar.engine.models.reader.scoring.rows import item_slots, only_list, single_item_chance
from cinnabar.engine.request import Filled, Request
from cinnabar.schemas import compile_schema

TEXT = {"type": ["string", "null"]}
NOTICE = {
    "type": "object",
    "properties": {"place": TEXT, "day": TEXT, "people": {"type": "array", "items": TEXT}},
    "required": ["place", "day", "people"],
}
NOTICES = {"type": "array", "items": NOTICE}


def test_only_a_list_that_is_the_schemas_whole_content_counts() -> None:
    root = compile_schema(NOTICES).form
    array = only_list(root)
    assert array is not None and array.path == ""
    assert [slot.path for slot in item_slots(root, array)] == ["/*/place", "/*/day"]
    assert only_list(form_of(notices=NOTICES)) is not None
    assert only_list(form_of(notices=NOTICES, title=TEXT)) is None
    assert only_list(form_of(notices=NOTICES, others=NOTICES)) is None
    assert only_list(form_of(names={"type": "array", "items": TEXT})) is None
    assert only_list(form_of(title=TEXT)) is None


def test_a_document_with_most_fields_of_an_item_is_one() -> None:
    config = SingleItemConfig(least=0.5)
    assert single_item_chance([math.log(0.1), math.log(0.3), math.log(0.8)], config) == pytest.approx(0.6)
    assert single_item_chance([math.log(0.1), math.log(0.9), math.log(0.8)], config) == 0
    assert single_item_chance([], config) == 0


def rows_of(config: PriorConfig, text: str = "The hall burned down on Monday.") -> Filled:
    model = ExtractiveReader(tiny_network(), wordpieces(), "tiny", config=config)
    (filled,) = Engine(model).fill([Request("x", compile_schema(NOTICES).form, passage_of(text))])
    assert isinstance(filled, Filled)
    return filled


#: A place never begins an item.
NO_ROWS = {"rows": RowConfig(least=1.0), "doubtful_rows": DoubtfulRowsConfig(least=1.0)}


def test_without_a_beginning_the_whole_document_is_read_as_one_item() -> None:
    config = PriorConfig(single_item=SingleItemConfig(least=0.0), **NO_ROWS)  # type: ignore[arg-type]
    model = ExtractiveReader(tiny_network(), wordpieces(), "tiny", config=config)
    form = compile_schema(NOTICES).form
    (memory,) = model.encode([passage_of("The hall burned down on Monday.")])
    (found,) = model.find_rows([form], [memory])
    outer = [row for row in found if row.taken and row.array == 0]
    assert [row.anchor for row in outer] == [WHOLE]
    assert all(anchor >= 0 for anchor, _ in rows_of(config).rows.values())


def test_a_document_without_the_items_fields_stays_an_empty_list() -> None:
    strict = PriorConfig(single_item=SingleItemConfig(least=1.0), **NO_ROWS)  # type: ignore[arg-type]
    assert rows_of(strict).record == "[]"
    off = PriorConfig(
        single_item=SingleItemConfig(least=0.0),
        without=frozenset({"single_item"}),
        **NO_ROWS,  # type: ignore[arg-type]
    )
    assert rows_of(off).record == "[]"
