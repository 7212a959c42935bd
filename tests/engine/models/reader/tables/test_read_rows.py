"""A few rows of a table that another model reads tell which column is which field."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.models.reader.tables.read_rows import READ_ROWS
from cinnabar.engine.request import Failed, Filled, Filler, Leaf, Request, Result, text_passage
from cinnabar.extraction.filling.tiers import Tier
from cinnabar.schemas import compile_schema

FIELDS = ("alpha", "beta", "gamma")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "things": {
            "type": "array",
            "items": {"type": "object", "properties": {name: {"type": ["number", "null"]} for name in FIELDS}},
        }
    },
}
#: The column in which the other model reads each field.
READ = {"alpha": 2, "beta": 0, "gamma": 1}


def numbers(rows: int = 20, tables: int = 1) -> tuple[str, list[list[int]]]:
    drawn = random.Random(5)
    lines, all_rows = ["Quantities", ""], []
    for at in range(tables):
        lines += [f"Part {at}", "", "Qx      Qy      Qz"]
        own = [[drawn.randrange(100, 999) for _ in FIELDS] for _ in range(rows)]
        lines += ["     ".join(map(str, row)) for row in own]
        lines += ["", *["Words that stand between two tables and belong to none of them."] * 3, ""]
        all_rows += own
    return "\n".join(lines), all_rows


@dataclass
class Knowing(Filler):
    """A language model, which knows the columns, and keeps what it was asked."""

    asked: list[str] = field(default_factory=list)
    fails: bool = False

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += [request.passage.text for request in requests]
        return [Failed(one.id, "too_long", "no room") if self.fails else _card(one) for one in requests]


def _card(request: Request) -> Filled:
    text, leaves = request.passage.text, dict[str, Leaf]()
    for slot in request.form.slots:
        line = text.split("\n")[READ[slot.path.strip("/")]]
        at = text.index(line) + line.index(": ") + 2
        leaves[slot.path] = Leaf(text[at : at + 3], 0.9, ((at, at + 3),), "copied", slot=slot.index)
    return Filled(request.id, {}, leaves, {}, 1, 0)


def things(engine: Engine, text: str) -> list[dict[str, Any]]:
    (found,) = engine.fill([Request("", compile_schema(SCHEMA).form, text_passage(text))])
    assert isinstance(found, Filled)
    kept: list[dict[str, Any]] = json.loads(found.record)["things"]
    return kept


@pytest.fixture(scope="module")
def reader() -> Engine:
    return Engine(load_model())


@pytest.mark.parametrize("tables", [1, 2])
def test_columns_that_heads_do_not_tell_are_those_that_another_model_reads(reader: Engine, tables: int) -> None:
    text, rows = numbers(tables=tables)
    other = Knowing()
    wanted = [{name: row[READ[name]] for name in FIELDS} for row in rows]
    assert things(reader.beside(lambda: other), text) == wanted  # type: ignore[arg-type, return-value]
    assert things(reader, text) != wanted, "by itself the reader takes them in their order"
    assert len(other.asked) == READ_ROWS, "once for tables of the same heads"
    assert all("Qx: " in card for card in other.asked)


def test_a_reader_that_gets_no_help_reads_as_ever(reader: Engine) -> None:
    text, other = numbers()[0], Knowing(fails=True)
    assert things(reader.beside(lambda: other), text) == things(reader, text)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("limits", [{}, {"seconds": 5.0}, {"prefer_confident": False}])
def test_a_surer_model_reads_rows_for_the_reader_unless_its_seconds_are_bounded(
    reader: Engine, limits: dict[str, Any]
) -> None:
    loaded: list[Engine] = []

    def load() -> Engine:
        loaded.append(reader)
        return reader

    tier = replace(Tier(load, 0.5, prefer_confident=True), **limits)
    engine = tier.beside(reader)
    assert (engine is reader) is bool(limits) and not loaded, "it is loaded at the first table"
    assert tier.filler is reader


def test_nobody_reads_more_layouts_than_are_allowed(reader: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.engine.models.reader.tables.read_rows.READ_LAYOUTS", 0)
    other = Knowing()
    text, _ = numbers()
    assert things(reader.beside(lambda: other), text) == things(reader, text)  # type: ignore[arg-type, return-value]
    assert not other.asked
