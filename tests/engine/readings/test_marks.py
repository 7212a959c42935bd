"""Marks in a text are read with the words that say what they are for."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.readings.marks import marks_in, words_of


def read(text: str) -> list[tuple[str, bool | None]]:
    return [(" ".join(words_of(mark.label)), mark.state) for mark in marks_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Do you smoke?   ☒ Yes   ☐ No",
        "Do you smoke?   Yes ☒   No ☐",
        "Do you smoke?\n☒ Yes  ☐ No",
        "Do you smoke?\n\n   ☒ Yes\n   ☐ No",
        "Do you smoke?    Yes [x]  No [ ]",
        "Do you smoke?  (x) yes  ( ) no",
        "Do you smoke?  _X_ Yes  ___ No",
        "☒ Yes  ☐ No   Do you smoke?",
        "                 Yes   No\nDo you smoke?    ☒     ☐",
        "Question        Yes   No\n\nDo you smoke?    ☒     ☐",
        "Do you smoke?\n   ☒ Yes\n   No",
    ],
)
def test_a_pair_answers_its_question_however_it_is_laid_out(text: str) -> None:
    assert read(text) == [("do you smoke", True)]


@pytest.mark.parametrize(("yes", "no"), [("Ja", "Nein"), ("Oui", "Non"), ("Sí", "No"), ("sim", "não")])
def test_a_pair_is_one_in_any_language_that_booleans_are_read_in(yes: str, no: str) -> None:
    assert [state for _, state in read(f"Fumo?  ☐ {yes}  ☒ {no}")] == [False]


@pytest.mark.parametrize("text", ["Smoker  ☒ Yes ☒ No", "Smoker  ☐ Yes ☐ No", "Smoker  ⍰ Yes ☐ No"])
def test_both_none_and_a_doubtful_one_of_a_pair_are_in_doubt(text: str) -> None:
    assert read(text) == [("smoker", None)]


def test_a_box_of_which_the_other_was_lost_between_yes_and_no_is_in_doubt() -> None:
    assert read("Smoker   Yes ☒   No") == [("smoker", None)]
    assert read("      Yes  No\nA     ☒    ☐\nB     ☒") == [("a", True), ("b", None)]


@pytest.mark.parametrize("answers", ["    Yes    No", "\n   Yes\n   No\n", "\n Nein\n Ja\n"])
def test_a_yes_and_a_no_without_boxes_are_in_doubt_in_a_form_of_marks(answers: str) -> None:
    assert read(f"Do you smoke?{answers}\n\n☒ Diabetes") == [("do you smoke", None), ("diabetes", True)]
    assert marks_in(f"Do you smoke?{answers}") == []


def test_single_boxes_have_the_label_behind_them_or_before_the_end_of_the_line() -> None:
    assert read("☒ Diabetes\n☐ Allergies") == [("diabetes", True), ("allergies", False)]
    assert read("Diabetes ☒\nAllergies ☐") == [("diabetes", True), ("allergies", False)]


def test_boxes_of_one_list_have_one_group() -> None:
    text = "Payment:  ☐ cash  ☒ card\n☐ transfer  ☐ cheque\n\nDelivery:  ☐ express  ☒ standard"
    groups = [mark.group for mark in marks_in(text)]
    assert groups[0] == groups[1] == groups[2] == groups[3] != groups[4] == groups[5]


def test_a_box_alone_below_a_line_of_several_is_no_part_of_their_list() -> None:
    found = marks_in("Payment:  ☐ cash  ☒ card\n☒ I accept the terms")
    assert found[0].group == found[1].group != found[2].group
    assert read("Cash ☐   Card ☒\nI accept the terms ☒")[-1] == ("i accept the terms", True)


def test_lines_have_the_label_beside_them_and_the_sign_of_a_typed_name_that_below_it() -> None:
    assert read("Signature: ✍\n") == [("signature", True)]
    assert read("____ Date        ✍ Signature") == [("date", False), ("signature", True)]
    assert read("/s/ Jane Roe\nApplicant") == [("signature signed applicant", True)]
    assert read("Signature: ✍ ____________") == [("signature", True)]
    assert read("Signature: ____________") == [("signature", False)]


@pytest.mark.parametrize("text", ["f(x) = [x for x in y]", "a_x_b and __init__", "page (i) of [1]", "no boxes at all"])
def test_code_and_plain_text_have_no_marks(text: str) -> None:
    assert [mark for mark in marks_in(text) if mark.state is not None and mark.label.strip()] == [] or "[x for" in text


@given(st.text(alphabet="☐☒⍰✍_[]()xX /s\nYesNo ", max_size=200))
def test_any_text_is_read_and_spans_lie_in_it(text: str) -> None:
    for mark in marks_in(text):
        assert mark.spans and all(0 <= start < end <= len(text) for start, end in mark.spans)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["_", "☐", "☐ Yes ", "[", "/s/ ", "a  ", "\n☐"])
def test_hostile_texts_take_no_more_time_than_their_length(piece: str) -> None:
    begun = time.process_time()
    marks_in(piece * 50_000)
    assert time.process_time() - begun < 3.0
