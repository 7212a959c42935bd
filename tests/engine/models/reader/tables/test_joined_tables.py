"""Rows of several tables of one list, and rows in groups."""

from __future__ import annotations

from dataclasses import replace

from cinnabar.engine.models.reader.memory.passage import MatchedRow
from cinnabar.engine.models.reader.tables.joined_tables import group_rows, join_tables
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Slot

NAMES = ("code", "name", "price")
TEXT = "K1 K2 K3 Anna Ben Carl 10 20 30"


def slots_of() -> tuple[Slot, ...]:
    properties = {name: {"type": "string"} for name in NAMES}
    return compile_schema({"type": "object", "properties": properties, "required": [*NAMES]}).form.slots


def row(**values: str) -> MatchedRow:
    cells = {}
    for at, name in enumerate(NAMES):
        start = TEXT.find(values[name]) if name in values else -1
        cells[at] = (((start, start + len(values[name])),) if start >= 0 else (), 0.9)
    return MatchedRow(cells, {}, {}, (), True, 0.9)


def texts(rows: dict[int, MatchedRow]) -> list[list[str]]:
    return [[" ".join(TEXT[a:b] for a, b in row.cells[at][0]) for at in range(3)] for row in rows.values()]


def test_a_table_with_known_keys_adds_its_fields_to_the_rows() -> None:
    first = {0: row(code="K1", name="Anna"), 1: row(code="K2", name="Ben"), 2: row(code="K3", name="Carl")}
    second = {
        7: row(code="K3", name="Carl", price="30"),
        8: row(code="K1", name="Anna", price="10"),
        9: row(code="K2", name="Carl", price="20"),
    }
    found = join_tables(first, second, slots_of(), TEXT)
    # Where both tell a value that of the first table stays.
    assert texts(found) == [["K1", "Anna", "10"], ["K2", "Ben", "20"], ["K3", "Carl", "30"]]


def test_a_table_with_other_things_adds_rows() -> None:
    first, second = {0: row(code="K1", name="Anna"), 1: row(code="K2", name="Ben")}, {5: row(code="K3", name="Carl")}
    assert [own[0] for own in texts(join_tables(first, second, slots_of(), TEXT))] == ["K1", "K2", "K3"]


def test_tables_that_number_their_rows_alike_are_not_joined() -> None:
    first = {0: row(code="K1", name="Anna"), 1: row(code="K2", name="Ben"), 2: row(code="K3", name="Carl")}
    second = {7: row(code="K1", name="Carl"), 8: row(code="K2", name="Anna"), 9: row(code="K3", name="Ben")}
    assert len(join_tables(first, second, slots_of(), TEXT)) == 6
    # Nor is one that only says the same again.
    assert len(join_tables(first, {at + 7: own for at, own in first.items()}, slots_of(), TEXT)) == 6


def test_a_table_beside_the_list_adds_no_rows_of_things_that_the_list_has() -> None:
    first = {0: row(code="K1", name="Anna"), 1: row(code="K2", name="Ben")}
    second = {7: row(code="K2", name="Anna"), 8: row(code="K1", name="Carl")}
    assert len(join_tables(first, second, slots_of(), TEXT)) == 4, "two months of the same people"
    assert texts(join_tables(first, second, slots_of(), TEXT, {1})) == texts(first), (
        "their names are those of other things"
    )


def test_a_group_begins_where_the_values_around_its_rows_change() -> None:
    rows = {0: row(code="K1", name="Anna"), 3: row(code="K2", name="Anna"), 6: row(code="K3", name="Ben")}
    code, name, _ = slots_of()
    assert [*group_rows(rows, [name], TEXT)] == [0, 6]
    assert group_rows({0: row(code="K1")}, [name], TEXT) == {}
    assert [*group_rows(rows, [code], TEXT)] == [0, 3, 6]
    doubted = {start: replace(one, matches={name.index: 0.6, code.index: 0.2}) for start, one in rows.items()}
    assert {one.chance for one in group_rows(doubted, [name], TEXT).values()} == {0.6}, "no surer than its column"
