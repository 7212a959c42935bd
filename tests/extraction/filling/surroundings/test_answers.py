"""The yes or no beside a field, and what is denied."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each
from tests.support.surrounded_values import one_value, surrounded

YES_OR_NO = {"type": ["boolean", "null"], "description": "Whether the roof leaks."}
STATE = {"enum": ["granted", "declined", "open", None], "description": "What became of the permit."}


@each(
    "text,told",
    [
        ("Leaking: yes", True),
        ("Leaking: no", False),
        ("Leaking?\tNon", False),
        ("Leaking = FALSE", False),
        ("Leaking: ☐", False),
        ("The roof is not leaking.", False),
        ("The roof was never leaking", False),
        ("The roof is leaking.", True),
        ("Painted: no\nLeaking: yes", True),
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
        ("Permit: not open", "open", "open", "open?"),
    ],
)
def test_a_denied_choice_is_its_opposite_or_doubted(text: str, words: str, value: str, told: str) -> None:
    assert one_value(STATE, text, value, words, name="permit") == told


def test_a_choice_that_nothing_states_is_left_out() -> None:
    assert one_value(STATE, "Dear neighbours, see you on Friday.", "granted", name="permit") is None


@each(
    "options,text,words,value,told",
    [
        (["active", "inactive"], "Line: no longer active", "active", "active", "inactive"),
        (["with_roof", "without_roof", "unknown"], "Built: not with roof", "with roof", "with_roof", "with_roof?"),
        (["on", "off"], "Pump: not on", "on", "on", "off"),
    ],
)
def test_the_opposite_is_the_only_other_option_or_the_same_word_denied(
    options: list[str], text: str, words: str, value: str, told: str
) -> None:
    field: dict[str, Any] = {"enum": options, "description": "Its state."}
    name = text.partition(":")[0].lower()
    assert one_value(field, text, value, words, name=name) == told
