"""Freezing: the values of a stored record are frozen for another schema version and joined to its new ones."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.support.remote_forms import form_of

from cinnabar.extraction.documents.content.document import Evidence, Span
from cinnabar.extraction.filling.overlay.freezing import freeze, join
from cinnabar.extraction.filling.overlay.given import told
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
    known, _, rows = told(frozen.given)
    assert len(frozen.asked) == asked and len(known) == 6000 - asked
    assert [start for _, start in rows] == [9 * n for n in range(3000)]
    assert joined == answer and len(taken) == 3000 + asked


def test_a_list_that_may_lack_rows_is_asked_as_a_whole() -> None:
    lines = [{"name": "a"}]
    leaves = (LeafRow("/lines/0/name", '"a"', 0.9, "copied", evidence=Evidence((Span(0, 2),), "a")),)
    for sure, asked in ((0.9, set()), (0.3, {"/lines"})):
        record = Record(json.dumps({"lines": lines}), leaves, 0.5, (), {"/lines/0": 0.9}, lists={"/lines": sure})
        assert freeze(form_of(SCHEMA), record, Changes(), 0.5).asked == asked


def test_a_number_that_became_a_boolean_is_taken_from_the_new_record() -> None:
    joined, taken = join({"paid": 1, "by": "card"}, {"paid": True}, {"/paid"})
    assert joined["paid"] is True and joined["by"] == "card" and taken == {"/paid"}


def test_an_unsure_value_of_an_open_property_stays_since_no_model_is_asked_for_it() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}
    old = {"a": "x", "other": "y"}
    leaves = tuple(LeafRow(f"/{name}", json.dumps(text), 0.3, "copied") for name, text in old.items())
    frozen = freeze(form_of(schema), Record(json.dumps(old), leaves, 0.3), Changes(), 0.5)
    assert join(old, {"a": "z"}, frozen.asked) == ({"a": "z", "other": "y"}, {"/a"})
