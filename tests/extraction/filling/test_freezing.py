"""Freezing: the values of a stored record are frozen for another schema version and joined to its new ones."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.support.remote_forms import form_of

from cinnabar.extraction.documents.content.document import Evidence, Span
from cinnabar.extraction.filling.overlay.freezing import freeze, join
from cinnabar.extraction.filling.overlay.given import known_to_model
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.schemas.compiling.version_changes import Changes

#: The version that has one column more than the record.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("what", "unit", "tax")},
                "required": ["what", "unit"],
            },
        }
    },
    "required": ["lines"],
}


@pytest.mark.parametrize(("below", "asked"), [(0.0, 0), (0.8, 3000)])
def test_a_list_of_thousands_of_rows_is_frozen_and_joined_quickly(below: float, asked: int) -> None:
    lines = [{"what": f"w{n}", "unit": "kg"} for n in range(3000)]
    sure = {"what": 0.9, "unit": 0.5}
    leaves = tuple(
        LeafRow(
            f"/lines/{n}/{name}",
            json.dumps(text),
            sure[name],
            "copied",
            evidence=Evidence((Span(9 * n, 9 * n + 2),), text),
        )
        for n, line in enumerate(lines)
        for name, text in line.items()
    )
    record = Record(json.dumps({"lines": lines}), leaves, 0.5, (), {f"/lines/{n}": 0.9 for n in range(3000)})
    form, changes = form_of(SCHEMA), Changes(new=("/lines/*/tax",))
    begin = time.process_time()
    frozen = freeze(form, record, changes, below)
    answer = {"lines": [line | {"tax": "7%"} for line in lines]}
    joined, taken = join({"lines": lines}, answer, {*changes.asked_places, *frozen.asked})
    assert time.process_time() - begin < 4
    known, _, rows = known_to_model(frozen.given)
    assert len(frozen.asked) == asked and len(known) == 6000 - asked
    assert [start for _, start in rows] == [9 * n for n in range(3000)]
    assert joined == answer and len(taken) == 3000 + asked


def test_a_list_that_may_lack_rows_is_asked_as_a_whole() -> None:
    lines = [{"name": "a"}]
    leaves = (LeafRow("/lines/0/name", '"a"', 0.9, "copied", evidence=Evidence((Span(0, 2),), "a")),)
    for sure, asked in ((0.9, set()), (0.3, {"/lines"})):
        record = Record(json.dumps({"lines": lines}), leaves, 0.5, (), {"/lines/0": 0.9}, lists={"/lines": sure})
        assert freeze(form_of(SCHEMA), record, Changes(), 0.5).asked == asked


A, B, C = {"what": "a"}, {"what": "b", "tax": 1}, {"what": "c", "tax": 2}


@pytest.mark.parametrize(
    ("asked", "old", "new", "joined", "taken"),
    [
        ({"/paid"}, {"paid": 1, "by": "card"}, {"paid": True}, {"paid": True, "by": "card"}, {"/paid"}),
        ({"/paid"}, {"paid": 1, "by": "card"}, {}, {"by": "card"}, {"/paid"}),
        ({"/paid"}, {"by": "card"}, {}, {"by": "card"}, {"/paid"}),
        ({"/lines/*/tax"}, {"lines": [A]}, {"lines": [B]}, {"lines": [A | {"tax": 1}]}, {"/lines/0/tax"}),
        ({"/lines/*/tax"}, {"lines": [A]}, {"lines": [B, C]}, {"lines": [B, C]}, {"/lines"}),
        ({"/lines/1/what"}, {"lines": [A, A]}, {"lines": [B, C]}, {"lines": [A, {"what": "c"}]}, {"/lines/1/what"}),
        ({"/lines/*/tax"}, {"lines": []}, {"lines": [B]}, {"lines": []}, set()),
        ({"/lines/*/tax"}, {"lines": [A]}, {"lines": None}, {"lines": [A]}, set()),
        ({"/of/a~1b"}, {"of": None}, {"of": {"a/b": 1, "c": 2}}, {"of": {"a/b": 1, "c": 2}}, {"/of"}),
        ({"/of/a~1b"}, {"of": {"c": 3}}, {"of": {"a/b": 1, "c": 2}}, {"of": {"c": 3, "a/b": 1}}, {"/of/a~1b"}),
        ({"/of/c"}, {"of": {"d": 1}}, {"of": None}, {"of": {"d": 1}}, set()),
        ({"", "/paid"}, {"paid": 1}, {"paid": 2, "by": "card"}, {"paid": 2, "by": "card"}, {""}),
        (set(), {"paid": 1}, {"paid": 2}, {"paid": 1}, set()),
    ],
)
def test_asked_parts_come_from_the_new_record_and_all_else_stays(
    asked: set[str], old: Any, new: Any, joined: Any, taken: set[str]
) -> None:
    assert json.dumps(join(old, new, asked)[0]) == json.dumps(joined)  # True is no 1
    assert join(old, new, asked)[1] == taken


def test_an_unsure_value_of_an_open_property_stays_since_no_model_is_asked_for_it() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}
    old = {"a": "x", "other": "y"}
    leaves = tuple(LeafRow(f"/{name}", json.dumps(text), 0.3, "copied") for name, text in old.items())
    frozen = freeze(form_of(schema), Record(json.dumps(old), leaves, 0.3), Changes(), 0.5)
    assert join(old, {"a": "z"}, frozen.asked) == ({"a": "z", "other": "y"}, {"/a"})
