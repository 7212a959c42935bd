"""Two readings of a document: each place comes from the surer one, and the record stays one that the schema allows."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from tests.support.reading_model import ReadingModel
from tests.support.remote_forms import form_of

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Filled, Leaf, Passage, Request
from cinnabar.extraction.filling.merge.merging import prefer_confident_record
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}
ORDER = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
ORDERS = {
    "type": "object",
    "properties": {"title": TEXT, "total": {"type": "number"}, "orders": {"type": "array", "items": ORDER}},
    "required": ["title", "total", "orders"],
}


def read(form: Form, text: str, sure: float, lists: float | None = None, **surest: float) -> Filled:
    """A reading whose values all have the confidence `sure`, but for those named."""
    none = np.zeros(0, np.int32)
    passage = Passage("d", text, 0, none, none, np.zeros((0, 4), np.float32))
    (filled,) = Engine(ReadingModel()).fill([Request("d", form, passage)])
    assert isinstance(filled, Filled)
    leaves = {at: replace(leaf, confidence=surest.get(at[1:], sure)) for at, leaf in filled.leaves.items()}
    return replace(filled, leaves=leaves, lists={} if lists is None else {"/orders": lists})


def test_the_surer_value_counts_and_the_list_of_the_second_reading_if_it_has_items() -> None:
    form = form_of(ORDERS)
    one = read(form, "title=One\n- id=A\ntotal=5\n", 0.6, lists=0.8)
    other = read(form, "title=Two\n- id=B\n- id=C\ntotal=7\n", 0.5, lists=0.7, title=0.9)
    both = prefer_confident_record(form, one, other)
    assert json.loads(both.record) == {"title": "Two", "total": 5, "orders": [{"id": "B"}, {"id": "C"}]}
    assert [both.leaves[at].confidence for at in ("/title", "/total")] == [0.9, 0.6]
    assert (both.leaves["/orders/1/id"].text, both.lists) == ('"C"', {"/orders": 0.7})
    assert both.leaves.keys() == {"/title", "/total", "/orders/0/id", "/orders/1/id"} and len(both.rows) == 2
    assert json.loads(prefer_confident_record(form, one, read(form, "title=Two\ntotal=7\n", 0.6)).record) == json.loads(
        one.record
    )


def test_a_value_counts_more_than_a_null_which_is_weighed_afterwards() -> None:
    form = form_of(ORDERS)
    one, other = read(form, "total=5\n", 0.9), read(form, "title=Two\ntotal=7\n", 0.2)
    for readings in ((one, other), (other, one)):
        assert json.loads(prefer_confident_record(form, *readings).record) == {"title": "Two", "total": 5, "orders": []}


def test_a_reading_of_parts_is_never_the_whole_record_nor_a_shorter_list() -> None:
    form = form_of(ORDERS)
    one = read(form, "title=One\n- id=A\n- id=B\ntotal=5\n", 0.4, lists=0.2)
    other = read(form, "- id=C\ntotal=7\n", 0.9, lists=0.9)
    for partial, orders in ((False, [{"id": "C"}]), (True, [{"id": "A"}, {"id": "B"}])):
        both = json.loads(prefer_confident_record(form, one, other, partial=partial).record)
        assert (both["orders"], both["total"]) == (orders, 7)
    refused = {"properties": {"title": {"const": "One"}, "total": {"const": 7}}, "required": ["title", "total"]}
    form = form_of({**ORDERS, "not": refused})
    one, other = read(form, "title=One\ntotal=5\n", 0.6, title=0.95), read(form, "title=Two\ntotal=7\n", 0.9)
    for partial, first in ((False, False), (True, True)):
        whole = prefer_confident_record(form, one, other, partial=partial).record
        assert whole == (one if first else other).record


def test_a_settled_list_is_that_of_its_reading_however_sure_it_is() -> None:
    form = form_of(ORDERS)
    one, other = read(form, "- id=A\ntotal=5\n", 0.9, lists=0.9), read(form, "- id=B\ntotal=5\n", 0.2, lists=0.2)
    for settled, name in ({"/orders": True}, "B"), ({"/orders": False}, "A"):
        found = prefer_confident_record(form, one, other, settled=settled)
        assert json.loads(found.record)["orders"] == [{"id": name}]


def test_without_the_confidence_of_one_of_the_lists_their_values_decide_and_an_empty_list_keeps_its_own() -> None:
    form = form_of(ORDERS)
    one = read(form, "- id=A\ntotal=5\n", 0.6, lists=0.2)
    surer = read(form, "- id=B\n- id=C\ntotal=5\n", 0.7)
    assert [row["id"] for row in json.loads(prefer_confident_record(form, one, surer).record)["orders"]] == ["B", "C"]
    empty, also = read(form, "total=5\n", 0.6, lists=0.3), read(form, "total=5\n", 0.6, lists=0.4)
    assert prefer_confident_record(form, empty, also).lists == {"/orders": 0.4}


def test_a_value_that_was_found_counts_more_than_one_that_was_made_up() -> None:
    form = form_of(ORDERS)
    one, other = read(form, "title=One\n", 0.6), read(form, "total=7\n", 0.3)
    assert one.leaves["/total"].missing
    both = prefer_confident_record(form, one, other)
    assert json.loads(both.record)["total"] == 7 and not both.leaves["/total"].missing


def test_a_sure_null_stays_and_keeps_its_confidence_where_alternatives_are_asked() -> None:
    either = {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"id": TEXT}}, {"type": "null"}]}
    form = form_of({"type": "object", "properties": {"ref": either, "title": TEXT}, "required": ["ref", "title"]})
    nothing = {"/ref": leaf(None, 0.99), "/title": leaf('"One"', 0.9)}
    null = Filled("d", {"ref": None, "title": "One"}, nothing, {}, 1, 0)
    four = Filled("d", {"ref": 4, "title": "Two"}, {"/ref": leaf("4", 0.05), "/title": leaf('"Two"', 0.1)}, {}, 1, 0)
    for readings in ((null, four), (four, null)):
        both = prefer_confident_record(form, *readings)
        assert (both.record, both.leaves["/ref"].confidence) == (null.record, 0.99)


def test_a_fact_that_the_document_lacks_stays_out() -> None:
    properties = {"subject": {"type": "string"}, "total": {"type": "number"}}
    form = form_of({"type": "object", "properties": properties, "required": ["total"]})
    fact = Leaf(None, 1.0, origin="fact")
    one = Filled("d", {"total": 5}, {"/subject": fact, "/total": leaf("5", 0.4)}, {}, 1, 0)
    other = Filled("d", {"total": 7}, {"/subject": fact, "/total": leaf("7", 0.6)}, {}, 1, 0)
    both = prefer_confident_record(form, one, other)
    assert json.loads(both.record) == {"total": 7} and both.leaves["/subject"] == fact


def test_values_that_the_schema_does_not_allow_together_come_from_the_reading_that_is_surer_on_the_whole() -> None:
    kinds = {"kind": {"enum": ["a", "b"]}, "code": {"enum": ["A7", "B7"]}}
    alike = {"if": {"properties": {"kind": {"const": "a"}}}, "then": {"properties": {"code": {"const": "A7"}}}}
    form = form_of({"type": "object", "properties": kinds, "required": ["kind", "code"], **alike})
    one = read(form, "kind=b\ncode=B7\n", 0.6)
    for sure, record in ((0.55, {"kind": "a", "code": "A7"}), (0.1, {"kind": "b", "code": "B7"})):
        both = prefer_confident_record(form, one, read(form, "kind=a\ncode=A7\n", 0.9, code=sure))
        assert json.loads(both.record) == record
        assert not any(own.missing for own in both.leaves.values())


def leaf(text: str | None, sure: float) -> Leaf:
    return Leaf(text, sure, origin="absent" if text is None else "copied")
