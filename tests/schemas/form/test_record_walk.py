"""The record walk: it finds all values that fitting finds, and the places without a value."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.schema_strategies import hard_schemas, hard_values, near, schemas

from cinnabar.errors import NotAccepted
from cinnabar.schemas import UnsupportedSchema, compile_schema
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.record_walk import RecordLeaf, RecordRow, walk_record
from cinnabar.schemas.pointers import parts_of

TEXT = {"type": "string"}
LINES = {
    "type": "object",
    "properties": {
        "a/b": TEXT,
        "lines": {"type": "array", "items": {"type": "object", "properties": {
            "name": TEXT, "codes": {"type": "array", "items": TEXT}}}},
        "end": TEXT,
    },
}  # fmt: skip


def walked(schema: Any, value: Any) -> tuple[list[tuple[str, Any, int]], list[tuple[str, int, int]]]:
    """(pointer, value, row) of each leaf, (pointer, number, parent) of each row."""
    found = list(walk_record(compile_schema(schema).form, value))
    leaves = [(at.pointer, at.value, at.row) for at in found if isinstance(at, RecordLeaf)]
    return leaves, [(at.pointer, at.number, at.parent) for at in found if isinstance(at, RecordRow)]


def test_rows_are_numbered_as_they_come_and_a_slot_without_a_value_comes_too() -> None:
    record = {"lines": [{"name": "x", "codes": ["1", "2"]}, {"name": "y"}], "end": "z"}
    leaves, rows = walked(LINES, record)
    assert leaves == [
        ("/a~1b", None, -1), ("/lines/0/name", "x", 0), ("/lines/0/codes/0", "1", 1),
        ("/lines/0/codes/1", "2", 2), ("/lines/1/name", "y", 3), ("/end", "z", -1),
    ]  # fmt: skip
    assert rows == [("/lines/0", 0, -1), ("/lines/0/codes/0", 1, 0), ("/lines/0/codes/1", 2, 0),
                    ("/lines/1", 3, -1)]  # fmt: skip


def test_an_open_property_is_a_row_by_its_name_and_a_first_item_is_none() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "array", "prefixItems": [TEXT], "items": TEXT}}
    leaves, rows = walked(schema, {"k/1": ["x", "y"], "l": []})
    assert leaves == [("/k~11", "k/1", 0), ("/k~11/0", "x", 0), ("/k~11/1", "y", 1), ("/l", "l", 2),
                      ("/l/0", None, 2)]  # fmt: skip
    assert rows == [("/k~11", 0, -1), ("/k~11/1", 1, 0), ("/l", 2, -1)]


def test_a_choice_is_walked_in_the_branch_that_accepts_the_value() -> None:
    schema = {"anyOf": [{"type": "array", "items": TEXT}, {"type": "object", "properties": {"a": TEXT}}]}
    leaves, _ = walked(schema, {"a": "x"})
    assert leaves[1:] == [("/a", "x", -1)] and leaves[0][0] == "" and isinstance(leaves[0][1], str)
    assert walked(schema, None) == ([("", None, -1)], [])


PAIRS = st.one_of(
    hard_schemas().map(lambda schema: (schema, hard_values)), schemas().map(lambda schema: (schema, near(schema)))
)


@examples(100)
@given(PAIRS, st.data())
def test_the_walk_finds_each_scalar_of_a_record_in_a_slot_that_accepts_it(pair: Any, data: st.DataObject) -> None:
    schema, values = pair
    value = data.draw(values)
    try:
        form = compile_schema(schema).form
        fit(form, value)
    except (UnsupportedSchema, NotAccepted):
        return
    leaves = [part for part in walk_record(form, value) if isinstance(part, RecordLeaf) and part.value is not None]
    assert all(leaf.slot.accepts(scalar_text(leaf.value).encode()) for leaf in leaves)
    # Names of branches and of open properties have the pointer of their value.
    beside = {choice.selector.index for choice in form.choices}
    beside |= {array.key.index for array in form.arrays if array.key is not None}
    found = [(leaf.pointer, leaf.value) for leaf in leaves if leaf.slot.index not in beside]
    scalars = {at: part for at, part in parts_of(value) if part is not None and not isinstance(part, dict | list)}
    assert dict(found) == scalars and len(found) == len(scalars)
