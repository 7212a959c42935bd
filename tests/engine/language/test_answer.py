"""A written record becomes a filled form: evidence, and a confidence from the tokens that the model chose."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.support.remote_forms import form_of, request

from cinnabar.engine.language.answer import read_written
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.language.remaining_form import Remaining
from cinnabar.engine.request import Filled, Request
from cinnabar.errors import EngineFailure

TEXT = "Invoice no. R-77\nDate: 14 March 2026\napples 2,00\npears 3,00\n"
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "string"},
        "day": {"type": ["string", "null"], "format": "date"},
        "note": {"type": "string"},
        "amount": {"type": "number"},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
                "required": ["what"],
            },
        },
    },
    "required": ["number", "day", "lines"],
}
# Tokens of the fake model: words, runs of digits, and single other signs.
TOKEN = re.compile(rb"\w+|\W")


def written(record: Any, sure: dict[str, float] | None = None, forced: str = "") -> Decoded:
    """Returns a text all of whose tokens are sure, except these; those of `forced` are not chosen."""
    text = json.dumps(record, ensure_ascii=False).encode()
    tokens = TOKEN.findall(text)
    posteriors = [(sure or {}).get(token.decode(), 1.0) for token in tokens]
    chosen = [token.decode() not in forced.split() for token in tokens]
    return Decoded(text, (), tuple(map(len, tokens)), tuple(posteriors), tuple(chosen), 4, 1, log_mass=-2.5)


def answered(record: Any, sure: dict[str, float] | None = None, forced: str = "", **known: str | None) -> Filled:
    asked = request(form_of(NOTE), TEXT, {f"/{at.replace('__', '/')}": text for at, text in known.items()})
    return read_written(asked, Remaining(asked), written(record, sure, forced))


def note(**changed: Any) -> dict[str, Any]:
    values = {"number": "R-77", "day": None, "lines": []} | changed
    return {name: values[name] for name in NOTE["properties"] if name in values}


def words(found: Filled, pointer: str) -> list[str]:
    return [TEXT[slice(*span)] for span in found.leaves[pointer].spans]


def test_a_record_has_evidence_for_every_value() -> None:
    rows = [{"what": "apples", "price": 2}, {"what": "pears", "price": 3}]
    found = answered(note(day="2026-03-14", lines=rows))
    assert json.loads(found.record) == note(day="2026-03-14", lines=rows)
    assert (found.steps, found.reopened) == (4, 1)
    assert words(found, "/number") == ["R-77"] and words(found, "/day") == ["14 March 2026"]
    assert words(found, "/lines/1/price") == ["3,00"]
    assert [found.rows[f"/lines/{at}"][0] for at in range(2)] == [TEXT.index("apples"), TEXT.index("pears")]


def test_the_confidence_of_a_value_is_the_product_over_its_chosen_tokens() -> None:
    leaf = answered(note(), {"R": 0.5, "77": 0.8}).leaves["/number"]
    assert (leaf.confidence, leaf.posterior) == (0.4, 0.4)
    assert leaf.allowed_mass == -2.5
    assert leaf.rival == 0.5  # what the least sure token left to others


def test_forced_tokens_do_not_count() -> None:
    leaf = answered(note(), {"R": 0.5, "77": 0.8}, forced="77").leaves["/number"]
    assert leaf.confidence == 0.5


def test_a_value_that_only_a_lack_of_room_forced_is_none_of_the_models() -> None:
    found = answered(note(amount=7), forced="7 : , null").leaves
    assert (found["/amount"].text, found["/amount"].origin, found["/amount"].confidence) == (None, "absent", 0.0)
    assert (found["/day"].text, found["/day"].confidence) == ("null", 0.0)


def test_a_value_that_the_schema_alone_decides_is_sure() -> None:
    schema = {"type": "object", "properties": {"a": {"const": "x"}, "b": {"type": "null"}}, "required": ["a", "b"]}
    asked = request(form_of(schema), TEXT)
    text = written({"a": "x", "b": None})
    forced = replace(text, chosen=(False,) * len(text.lengths))
    leaves = read_written(asked, Remaining(asked), forced).leaves
    assert [(leaf.text, leaf.confidence) for leaf in leaves.values()] == [('"x"', 1.0), ("null", 1.0)]


def test_what_completes_a_record_that_was_given_up_is_no_value() -> None:
    found = answered(note(number="R-77", amount=7), {"77": 0.0, ",": 0.0})
    assert found.leaves["/number"].missing and found.leaves["/amount"].text is None
    assert json.loads(found.record) == note(number="")


def test_the_end_of_a_number_is_part_of_it() -> None:
    found = answered(note(amount=12, lines=[{"what": "figs", "price": 3}]), {",": 0.7, "}": 0.6})
    assert found.leaves["/amount"].confidence == 0.7
    assert found.leaves["/lines/0/price"].confidence == 0.6
    assert found.leaves["/number"].confidence == 1.0


def test_absence_is_as_sure_as_the_tokens_that_stand_in_its_place() -> None:
    found = answered(note(amount=1), {"null": 0.7, "amount": 0.9})
    day, left_out = found.leaves["/day"], found.leaves["/note"]
    assert (day.text, day.origin, day.confidence) == ("null", "absent", 0.7)
    assert (left_out.text, left_out.confidence, left_out.absence) == (None, 0.9, 0.9)


def test_a_value_that_the_document_does_not_print_has_no_evidence() -> None:
    leaf = answered(note(number="Quentin Zyx")).leaves["/number"]
    assert (leaf.origin, leaf.spans, leaf.demanded) == ("generated", (), True)


def test_an_empty_text_is_no_value_and_a_demanded_one_is_missing() -> None:
    found = answered(note(number="", note=""))
    assert found.leaves["/number"].missing and found.leaves["/note"].text is None
    assert json.loads(found.record) == note(number="")


LINK = "http://a.example/1"


@pytest.mark.parametrize(
    ("items", "kept"),
    [
        ([{"a": "x"}, *4 * [{"a": LINK}]], 3),
        (2 * [{"a": LINK}], 2),
        ([*4 * [{"a": LINK}], {"a": "x"}], 5),
        # A short text may be said of many things, and what the document spells otherwise was read there.
        (4 * [{"a": "yes"}], 4),
        (4 * [{"a": "2024-03-01", "b": "not printed"}], 4),
        (4 * [{"a": "2024-03-01", "b": LINK}], 2),
    ],
)
def test_a_list_that_ends_in_a_loop_has_its_item_as_often_as_the_document(items: list[Any], kept: int) -> None:
    item = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    for least, many in ((0, kept), (len(items), len(items))):
        schema = {"type": "object", "properties": {"all": {"type": "array", "items": item, "minItems": least}}}
        asked = request(form_of(schema), f"x yes {LINK} and {LINK} of 1 March 2024")
        found = json.loads(read_written(asked, Remaining(asked), written({"all": items})).record)
        assert found["all"] == items[:many]


def test_frozen_values_join_the_record_as_they_are() -> None:
    found = answered({"day": None, "lines": [{"price": 2}]}, number='"frozen"', note=None, lines__0__what='"apples"')
    assert json.loads(found.record) == note(number="frozen", lines=[{"what": "apples", "price": 2}])
    assert found.leaves["/number"].origin == found.leaves["/lines/0/what"].origin == "known"
    assert words(found, "/lines/0/price") == ["2,00"]


def test_a_form_with_nothing_to_ask_is_filled_without_a_model() -> None:
    form = form_of({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    asked = Request("r", form, request(form, TEXT).passage, {"/a": '"x"'})
    assert read_written(asked, Remaining(asked), None).record == '{"a":"x"}'


@pytest.mark.parametrize("value", ["text", 12, {"what": "apples", "price": 1}])
def test_every_branch_of_a_choice_is_read(value: Any) -> None:
    line = NOTE["properties"]["lines"]["items"]
    schema = {
        "type": "object",
        "properties": {"u": {"anyOf": [{"type": ["string", "integer"]}, line]}},
        "required": ["u"],
    }
    asked = request(form_of(schema), TEXT)
    found = read_written(asked, Remaining(asked), written({"u": value}))
    assert json.loads(found.record) == {"u": value} and all(leaf.confidence == 1.0 for leaf in found.leaves.values())


def test_open_properties_are_read_with_their_names() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "number"}}
    asked = request(form_of(schema), TEXT)
    found = read_written(asked, Remaining(asked), written({"apples": 2, "pears": 3}, {"3": 0.5}))
    assert json.loads(found.record) == {"apples": 2, "pears": 3}
    assert found.leaves["/pears"].confidence == 0.5 and words_of(found, "/pears") == "3,00"


def test_a_record_whose_empty_values_the_schema_demands_stays_as_it_was_written() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": {"type": ["string", "null"]},
        "minProperties": 3,
    }
    asked = request(form_of(schema), TEXT)
    found = read_written(asked, Remaining(asked), written({"a": "R-77", "b": None, "c": ""}, {"77": 0.5}))
    assert json.loads(found.record) == {"a": "R-77", "b": None, "c": ""}
    leaf = found.leaves["/a"]
    assert (leaf.origin, leaf.confidence) == ("copied", 0.5) and words_of(found, "/a") == "R-77"
    assert found.leaves["/b"].origin == "absent" and set(found.rows) == {"/b", "/c"}


def words_of(found: Filled, pointer: str) -> str:
    return TEXT[slice(*found.leaves[pointer].spans[0])]


def test_a_number_may_be_spelled_in_any_way_and_is_stored_canonically() -> None:
    asked = request(form_of(NOTE), TEXT)
    text = b'{"number": "R\\u002d77", "day": null, "amount": 190.00, "lines": [{"what": "pears", "price": 3.0}]}'
    tokens = TOKEN.findall(text)
    many = len(tokens)
    plain = Decoded(text, (), tuple(map(len, tokens)), (1.0,) * many, (True,) * many, 1, 0, 0.0)
    found = read_written(asked, Remaining(asked), plain)
    assert found.record == '{"number":"R-77","day":null,"amount":190,"lines":[{"what":"pears","price":3}]}'
    assert words(found, "/number") == ["R-77"] and words(found, "/lines/0/price") == ["3,00"]
    assert found.leaves["/amount"].text == "190" and found.leaves["/amount"].confidence == 1.0


def test_a_constant_is_sure_however_the_model_spells_it() -> None:
    asked = request(form_of({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}), TEXT)
    spelled = Decoded(b'{"a": 1.0}', (), (1,) * 10, (0.5,) * 10, (True,) * 10, 1, 0, 0.0)
    leaf = read_written(asked, Remaining(asked), spelled).leaves["/a"]
    assert (leaf.text, leaf.confidence) == ("1", 1.0)


def test_a_text_that_is_longer_than_its_document_is_refused_unless_it_is_known() -> None:
    long = "figs " * 300
    with pytest.raises(EngineFailure, match="/number: expected a text that the document states, got 1,500 characters"):
        answered(note(number=long))
    assert answered(note(), number=json.dumps(long)).leaves["/number"].origin == "known"
