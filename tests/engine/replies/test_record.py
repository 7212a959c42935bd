"""Answers of a server: each becomes a record of the form with its evidence, or a list of its faults."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.cases import each
from tests.support.remote_forms import NOTE, form_of, request

from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.replies.record import read_answer
from cinnabar.engine.request import Filled

TEXT = """Author: Ada Lovelace
Date: 14 March 2026, total 1.234,50 EUR
lines
apples 2,00
apples 3,00
pears 3,00
"""


def answered(schema: dict[str, Any], answer: Any, text: str = TEXT, **known: str | None) -> Any:
    form = form_of(schema)
    pointers = {"/" + name.replace("__", "/"): value for name, value in known.items()}
    wire = Wire(form, pointers)
    said = answer if isinstance(answer, str) else json.dumps(answer)
    return read_answer(request(form, text, pointers), wire, said)


def note(**changed: Any) -> dict[str, Any]:
    empty = {"name": "Ada Lovelace", "day": None, "kind": None, "paid": None, "seller": None, "lines": []}
    return empty | changed


def words(found: Filled, pointer: str) -> str | None:
    spans = found.leaves[pointer].spans
    return TEXT[slice(*spans[0])] if spans else None


def test_absence_leaves_places_out_and_values_have_their_words() -> None:
    found = answered(NOTE, note(day="2026-03-14"))
    assert found.record == '{"name":"Ada Lovelace","day":"2026-03-14","lines":[]}'
    assert words(found, "/name") == "Ada Lovelace" and words(found, "/day") == "14 March 2026"
    assert found.leaves["/kind"].origin == "absent" and found.leaves["/kind"].text is None


def test_rows_stand_where_their_values_do() -> None:
    rows = [
        {"what": "apples", "price": 2},
        {"what": "apples", "price": 3.0},
        {"what": "pears", "price": 3},
    ]
    found = answered(NOTE, note(lines=rows))
    assert json.loads(found.record)["lines"] == rows
    lines = [TEXT.index("apples 2"), TEXT.index("apples 3"), TEXT.index("pears")]
    assert [found.rows[f"/lines/{at}"][0] for at in range(3)] == lines
    for at, line in enumerate(lines):
        assert found.leaves[f"/lines/{at}/price"].spans[0][0] - line < 8


def test_numbers_are_found_as_the_document_writes_them() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
    found = answered(schema, {"total": 1234.5})
    assert words(found, "/total") == "1.234,50" and found.record == '{"total":1234.5}'


def test_a_misspelled_text_has_the_document_words_nearest_to_it() -> None:
    found = answered(NOTE, note(name="Ada Lovelacce"))
    leaf = found.leaves["/name"]
    assert words(found, "/name") == "Ada Lovelace" and leaf.confidence < 0.8


def test_a_value_that_the_document_does_not_say_has_no_spans_and_low_confidence() -> None:
    leaf = answered(NOTE, note(name="Quentin Zyx")).leaves["/name"]
    assert (leaf.spans, leaf.origin) == ((), "generated") and leaf.confidence <= 0.3


def test_an_unprinted_value_that_the_description_names_for_none_is_a_default() -> None:
    fees = {"type": "number", "description": "Sum of the fees; 0 when there are none"}
    schema = {"type": "object", "properties": {"fees": fees}, "required": ["fees"]}
    leaf = answered(schema, {"fees": 0}, "nothing of this").leaves["/fees"]
    assert (leaf.origin, leaf.spans, leaf.confidence) == ("default", (), 0.7)
    assert answered(schema, {"fees": 0}, "Fees: 0.00").leaves["/fees"].origin == "copied"
    assert answered(schema, {"fees": 5}, "nothing of this").leaves["/fees"].origin == "generated"


def test_a_choice_without_spans_is_surer_than_a_number_without_spans() -> None:
    properties = {"rate": {"enum": [7, 19]}, "kind": {"enum": ["a", "b"]}, "days": {"type": "number"}}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    found = answered(schema, {"rate": 7, "kind": "b", "days": 7}, "nothing of this")
    assert [found.leaves[f"/{name}"].confidence for name in properties] == [0.6, 0.6, 0.3]


def test_the_place_behind_the_label_is_chosen_among_several() -> None:
    text = "Seller: Bonn Ltd\nShip to: Bonn\nCity: Bonn\n"
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    found = answered(schema, {"city": "Bonn"}, text)
    assert found.leaves["/city"].spans == ((text.rindex("Bonn"), text.rindex("Bonn") + 4),)


def test_a_demanded_value_that_is_not_there_is_missing_and_not_made_up() -> None:
    found = answered(NOTE, note(name=None))
    assert found.leaves["/name"].missing and found.record.startswith('{"name":""')


@pytest.mark.parametrize(
    "fenced", ["```json\n{}\n```", "```\n{}\n```", "\n```JSON\r\n{}```\n", "```{}```", "```json {} ```"]
)
def test_one_code_fence_around_an_answer_is_taken_off(fenced: str) -> None:
    found = answered(NOTE, fenced.replace("{}", json.dumps(note(name="Ada ```json``` Lovelace"))))
    assert isinstance(found, Filled), found
    assert json.loads(found.record)["name"] == "Ada ```json``` Lovelace"


@each(
    "answer, said",
    [
        (f"```json\n```json\n{json.dumps(note())}\n```\n```", "expected one JSON object"),
        (f"Here it is:\n```json\n{json.dumps(note())}\n```", "expected one JSON object"),
        ("```", "expected one JSON object"),
        ("Sure! Here it is", "expected one JSON object"),
        ("[]", "/: expected an object"),
        ("null", "/: expected an object"),
        ("{}", "/name: expected a value or null"),
        (note(day="14.3.2026"), "/day: expected a date as YYYY-MM-DD, or null"),
        (note(kind="c"), '/kind: expected one of "a", "b"'),
        (note(extra=1), "/extra: expected no such property"),
        (note(paid="yes"), "/paid: expected"),
        (note(lines=None) | {"lines": "none"}, "/lines: expected a list"),
        (note(lines=[{"what": "x", "price": 1}] * 4), "at most 3 items"),
        (note(lines=[{"what": "x"}]), "/lines/0/price: expected a value or null"),
        (note(seller={"city": 7}), "/seller/city: expected a string"),
        ('{"name": "a", "name": "b"}', "expected one JSON object"),
    ],
)
def test_faults_are_named_by_their_place(answer: Any, said: str) -> None:
    problems = answered(NOTE, answer)
    assert isinstance(problems, list) and any(said in problem for problem in problems), problems


def test_a_rule_across_fields_is_held_too() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "dependentRequired": {"a": ["b"]},
    }
    problems = answered(schema, {"a": "x", "b": None})
    assert isinstance(problems, list) and "/" in problems[0]


def test_known_values_stay_and_rows_of_known_lists_are_filled_by_index() -> None:
    known = {"name": '"Grace"', "lines__0__what": '"apples"', "lines__1__what": '"pears"'}
    rest = {"day": None, "kind": None, "paid": None, "seller": None}
    found = answered(NOTE, rest | {"lines": {"0": {"price": 2}, "1": {"price": 3}}}, **known)
    assert isinstance(found, Filled)
    record = json.loads(found.record)
    assert record["name"] == "Grace"
    assert record["lines"] == [{"what": "apples", "price": 2}, {"what": "pears", "price": 3}]
    assert found.leaves["/name"].origin == "known"


def test_known_rows_stay_although_the_answer_omits_their_parent() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}},
            "b": {
                "type": "object",
                "properties": {"n": {"type": ["string", "null"]}, "rows": NOTE["properties"]["lines"]},
                "required": ["n", "rows"],
            },
        },
        "required": ["a", "b"],
    }
    found = answered(
        schema, {"a": ["pears", "apples"], "b": None}, b__rows__0__what='"x"', b__rows__0__price="1"
    )
    assert isinstance(found, Filled), found
    wanted = {"a": ["pears", "apples"], "b": {"n": None, "rows": [{"what": "x", "price": 1}]}}
    assert json.loads(found.record) == wanted


def test_a_property_known_to_be_absent_stays_absent() -> None:
    rest = {"name": "Ada", "day": None, "paid": True, "lines": []}
    found = answered(NOTE, rest, kind=None, seller__city=None)
    assert json.loads(found.record) == {"name": "Ada", "day": None, "paid": True, "lines": []}


@pytest.mark.parametrize("known", [{"kind": '"x"'}, {"kind__what": '"x"', "kind__price": "2"}])
def test_known_alternatives_are_not_asked_and_stay(known: dict[str, str]) -> None:
    line = NOTE["properties"]["lines"]["items"]
    found = answered({"type": "object", "properties": {"kind": {"oneOf": [line, {"type": "string"}]}}}, "", **known)
    assert isinstance(found, Filled), found
    assert json.loads(found.record) == {"kind": "x" if len(known) == 1 else {"what": "x", "price": 2}}


def test_alternatives_open_properties_and_first_items_are_read() -> None:
    schema = {
        "type": "object",
        "properties": {
            "owner": {
                "anyOf": [
                    {"type": "object", "properties": {"person": {"type": "string"}}, "required": ["person"]},
                    {"type": "object", "properties": {"fleet": {"type": "integer"}}, "required": ["fleet"]},
                ]
            },
            "rates": {"type": "object", "additionalProperties": {"type": "number"}},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
            },
        },
        "required": ["owner", "rates", "pair"],
    }
    form = form_of(schema)
    asked = Wire(form, {}).schema
    assert asked is not None
    places = asked["properties"]
    assert "other properties" in places["rates"]["properties"] and "0" in places["pair"]["properties"]
    owner: dict[str, Any] = {"fleet": 7}
    if len(places["owner"].get("anyOf", [])) == 0:  # alternatives that one object holds are one
        owner = {"person": None, "fleet": 7}
    answer = {
        "owner": owner,
        "rates": {"other properties": [{"name": "day", "value": 2.5}, {"name": "night", "value": 1}]},
        "pair": {"0": "x", "1": 4},
    }
    found = answered(schema, answer)
    assert isinstance(found, Filled), found
    assert json.loads(found.record) == {
        "owner": {"fleet": 7},
        "rates": {"day": 2.5, "night": 1},
        "pair": ["x", 4],
    }


@pytest.mark.parametrize("day_first", [True, False])
def test_a_date_is_found_in_the_order_that_the_schema_tells(day_first: bool) -> None:
    text = "Acme Inc, 1 Main St, Austin, TX 78701\nDue date: 05/06/2026\n"
    due = {"type": "string", "format": "date", "x-cinnabar-day-first": day_first}
    schema = {"type": "object", "properties": {"due": due}, "required": ["due"]}
    right, wrong = ("2026-06-05", "2026-05-06") if day_first else ("2026-05-06", "2026-06-05")
    assert answered(schema, {"due": right}, text).leaves["/due"].spans == ((text.index("05/"), len(text) - 1),)
    assert answered(schema, {"due": wrong}, text).leaves["/due"].spans == ()
