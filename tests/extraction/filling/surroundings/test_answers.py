"""The yes or no beside a field, and what is denied."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import each
from tests.support.surrounded_values import one_value, surrounded

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.surroundings.surroundings import read_surroundings
from cinnabar.schemas.compiling.compile import compile_schema

YES_OR_NO = {"type": ["boolean", "null"], "description": "Whether the roof leaks."}
STATE = {"enum": ["granted", "declined", "open", None], "description": "What became of the permit."}


@each(
    "text,told",
    [
        ("Leaking: yes", True),
        ("Leaking: no", False),
        ("Leaking?\tNon", False),
        ("Leaking = FALSE", False),
        ("Leaking: ☐ no", True),
        ("The roof is not leaking.", False),
        ("The roof was never leaking", False),
        ("The roof is leaking.", True),
        ("Painted: no\nLeaking: yes", True),
        ("house  leaking  painted\nNo. 7  no       yes", False),
        ("house  leaking  painted\nNo. 7  yes      no", True),
        ("The roof cannot leak while it is leaking: yes", True),
        ("Leaking: unchecked", False),
        ("Leaking: FALSO", False),
        ("Leaking: 0", False),
        ("Leaking: ✗", False),
        ("Leaking: ✗ ☐ ☐", True),
        ("Leaking: not yet", False),
        ("Leaking: noch nicht", False),
        ("Leaking: not known", True),
        ("Leaking: without doubt", True),
        ("Leaking: no data", True),
        ("Leaking: non-stop", True),
        ("Nothing is leaking", False),
        ("Im Mai war es leaking", True),
        ("Leaking\n\nno\n\nPainted", False),
        ("Leaking\nno roof\nPainted", True),
        ("House is nonleaking", True),
        ("House is non-leaking", False),
        ("The unleaking one is not leaking, the other is leaking", False),
        ("house  is leaking  painted\nNo. 7  no          yes", False),
        ("house  leaking since  painted\nNo. 7  no            yes", True),
    ],
)
def test_a_boolean_takes_the_answer_beside_its_label(text: str, told: bool) -> None:
    assert one_value(YES_OR_NO, text, True, name="leaking") is told


def test_answers_against_each_other_are_doubted_and_told() -> None:
    _, sure, flags = surrounded({"leaking": YES_OR_NO}, "Leaking: yes\nLeaking: no", {"leaking": True}, {})["leaking"]
    assert sure < 0.5
    assert flags == ("contradicted",)


@each(
    "text,words,value,told",
    [
        ("Permit: granted", "granted", "granted", "granted"),
        ("Permit: not granted", "granted", "granted", "declined"),
        ("Permit: has never been granted", "granted", "granted", "declined"),
        ("Permit: nicht granted", "granted", "granted", "declined"),
        ("Permit: not only granted", "granted", "granted", "granted"),
        ("Not now. Permit: granted", "granted", "granted", "granted"),
        ("Permit: not open", "open", "open", None),
        ("Permit: not yet in the open", "open", "open", "open?"),
        ("This is not an open one", "open", "open", None),
        ("Fee: none (open)", "open", "open", "open"),
    ],
)
def test_a_denied_choice_is_its_opposite_or_doubted(text: str, words: str, value: str, told: str | None) -> None:
    assert one_value(STATE, text, value, words, name="permit") == told


@each("sure,told", [(0.55, None), (0.97, "granted?")])
def test_a_choice_that_nothing_states_is_left_out_or_in_doubt(
    monkeypatch: pytest.MonkeyPatch, sure: float, told: str | None
) -> None:
    monkeypatch.setattr("tests.support.surrounded_values.SURE", sure)
    assert one_value(STATE, "Dear neighbours, see you on Friday.", "granted", name="permit") == told


def test_a_choice_that_stands_behind_digits_is_stated() -> None:
    units = {"enum": ["kt", "mps", None]}
    assert one_value(units, "Wind 31007KT", "kt", name="unit") == "kt"


@each(
    "text,value",
    [("Insurance is taken.\nInsurance that does not cover fire.", True), ("No insurance is taken.", False)],
)
def test_words_that_most_places_do_not_deny_hold(text: str, value: bool) -> None:
    told = one_value({"type": "boolean"}, text, True, name="insurance")
    assert told is value


@each(
    "options,text,words,value,told",
    [
        (["active", "inactive"], "Line: no longer active", "active", "active", "inactive"),
        (["with_roof", "without_roof", "unknown"], "Built: not with roof", "with roof", "with_roof", "with_roof?"),
        (["on", "off"], "Pump: not on", "on", "on", "off"),
        (["ordered", "arrived"], "Parts: not ordered", "ordered", "ordered", "ordered?"),
    ],
)
def test_the_opposite_is_the_same_word_denied_or_one_of_a_known_pair(
    options: list[str], text: str, words: str, value: str, told: str
) -> None:
    field: dict[str, Any] = {"enum": options, "description": "Its state."}
    name = text.partition(":")[0].lower()
    assert one_value(field, text, value, words, name=name) == told


@each(
    "text,told",
    [
        ("Permit: granted\nPermit: open", "granted?"),
        ("Permit: granted\nPermit: granted", "granted"),
        ("Permit: granted\nGate: open", "granted"),
        ("Permit: granted / open", "granted?"),
        ("Permit: granted or declined", "granted?"),
        ("Permit: granted / in May", "granted"),
        ("Permit: granted\nThe permit is declined.", "granted?"),
        ("Permit: granted\nThe permit is declined by few", "granted"),
    ],
)
def test_a_choice_that_is_told_twice_against_itself_is_doubted(text: str, told: str) -> None:
    assert one_value(STATE, text, "granted", "granted", name="permit") == told


@each(
    "text,told",
    [
        ("Dry? no", False),
        ("house\n  dry: no", False),
        ("Anna: no\nBert: the roof\nAnna: no", True),
        ("   did anybody see it? no", True),
    ],
)
def test_the_one_answer_of_a_form_counts_and_no_speaker_is_a_label(text: str, told: bool) -> None:
    assert one_value(YES_OR_NO, text, True, name="leaking") is told


def test_a_field_with_a_title_is_found_by_it_or_by_its_name() -> None:
    field = YES_OR_NO | {"title": "Water comes in"}
    assert one_value(field, "Water comes in: no\nPainted: yes", True, name="leaking") is False
    assert one_value(field, "Leaking: no\nPainted: yes", True, name="leaking") is False


def test_a_key_of_data_is_a_label_beside_a_longer_title() -> None:
    field = YES_OR_NO | {"title": "Leaks into the cellar"}
    assert one_value(field, "age: 40\nleaks: false\npainted: true", True, name="leaks") is False
    assert one_value(field, "leaks into the cellar: yes\nleaks: no", True, name="leaks") is True


@each(
    "text,told",
    [
        ("The cellar could not be entered.", "False"),
        ("The cellar could be entered.", "True"),
        ("The cellar is not large; we entered.", "True"),
        ("The door could not be entered.", "True"),
    ],
)
def test_a_statement_that_is_denied_in_words_of_the_description_is_false(text: str, told: str) -> None:
    field = {"type": ["boolean", "null"], "title": "Access", "description": "Whether the cellar can be entered."}
    assert str(one_value(field, text, True, name="access")) == told


def test_a_key_of_two_words_in_one_is_a_label() -> None:
    assert one_value(YES_OR_NO, "roofLeaks: 0\nage: 40", True, name="roofLeaks") is False


def test_a_choice_in_a_row_needs_no_words_of_its_own() -> None:
    kind = {"enum": ["fair", "race", None]}
    row = {"type": "object", "properties": {"kind": kind}, "required": ["kind"]}
    schema = {"type": "object", "properties": {"events": {"type": "array", "items": row}}, "required": ["events"]}
    form = compile_schema(schema).form
    leaf = Leaf('"fair"', 0.9, (), "chosen", slot=next(slot.index for slot in form.slots if slot.path.endswith("kind")))
    filled = Filled("", {"events": [{"kind": "fair"}]}, {"/events/0/kind": leaf}, {"/events/0": (0, 1.0)}, 1, 0)
    assert read_surroundings(form, filled, parse(b"Stalls and music in Ely", "page.txt"), Locale()) is filled
