"""A value is written in the form that its description asks for, and is null where it asks for null."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.surrounded_values import one_value, surrounded

TOLD = [
    ("As DD/MM/YYYY.", "Due: 5 May 2026", "5 May 2026", "05/05/2026"),
    ("As DD/MM/YYYY.", "Sent 05/13/2026, due 05/03/2026", "05/03/2026", "03/05/2026"),
    ("As MM/DD/YYYY.", "Fällig: 13.05.2026", "13.05.2026", "05/13/2026"),
    ("Start, 24-hour HH:MM", "Start: 3:30 pm", "3:30 pm", "15:30"),
    ("YYYY-MM-DDThh:mm", "On 5 May 2026 at 9:15 am", "5 May 2026 at 9:15 am", "2026-05-05T09:15"),
    ("YYYY-MM-DD HH:MM", "On 5 May 2026 at 9:15 am", "5 May 2026", "2026-05-05 09:15"),
    ("As DD/MM/YYYY", "Paid 2 June 2006, due December 27, 2026.", "December 27", "27/12/2026"),
    ("As MM/YYYY", "Month: January 2010. Sent on 11 April 2012", "2010", "01/2010"),
    ("As MM/YYYY", "In 2010. Sent on 11 April 2012", "2010", "2010?"),
    ("ISO 4217 code", "Total: € 12.50", "€", "EUR"),
    ("Two-letter country code", "From: Germany", "Germany", "DE"),
    ("In upper case", "Name: Mia Öz", "Mia Öz", "MIA ÖZ"),
    ("Nom, en majuscules", "Nom : Mia Öz", " Mia Öz", "MIA ÖZ"),
    ("Digits only", "No. 12-34 / 5", "12-34 / 5", "12345"),
    ("As DD/MM/YYYY.", "Due: soon", "soon", "soon?"),
    ("As DD/MM/YYYY, otherwise in the words of the letter.", "Due: soon", "soon", "soon"),
    ('Remark; null if "n/a".', "Remark: N/A", "N/A", None),
    ("Vermerk, leer wenn „keiner“", "Vermerk: keiner", "keiner", None),
]


@pytest.mark.parametrize(("description", "text", "words", "told"), TOLD)
def test_a_text_is_written_as_its_description_asks(description: str, text: str, words: str, told: Any) -> None:
    field = {"type": ["string", "null"], "description": description}
    assert one_value(field, text, words, words) == (told if told is None else f"{told}")


def test_a_value_that_a_model_wrote_in_the_form_stays() -> None:
    field = {"type": ["string", "null"], "description": "As DD/MM/YYYY."}
    assert one_value(field, "Due on the third of May", "03/05/2026", "third of May") == "03/05/2026"


def test_a_day_that_a_model_wrote_in_another_order_than_asked_is_that_of_the_document() -> None:
    field = {"type": ["string", "null"], "description": "As MM/DD/YYYY."}
    for text, told in [
        ("Collected on 2007-10-12.", "10/12/2007"),
        ("Collected on 2007-12-10, sent on 2007-10-12.", "12/10/2007"),
        ("Collected in autumn.", "12/10/2007"),
    ]:
        # A value without words stays in doubt.
        assert one_value(field, text, "12/10/2007").removesuffix("?") == told


@pytest.mark.parametrize("day", [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12])
def test_of_two_times_that_the_document_may_mean_the_likelier_one_is_told_in_every_run(day: int) -> None:
    field = {"type": ["string", "null"], "description": "YYYY-MM-DDThh:mm"}
    found = one_value(field, f"Collected October {day}, 2007 at 9:10.", f"{day}/10/2007 9:10")
    assert found == f"2007-10-{day:02}T09:10?"


def test_a_form_that_nothing_fits_is_flagged_and_one_that_is_told_keeps_its_confidence() -> None:
    asked = {"type": "string", "description": "As DD/MM/YYYY."}
    words = {"a": "5 May 2026", "b": "soon"}
    read = surrounded({"a": asked, "b": asked}, "5 May 2026, soon", words, words)
    assert read["a"][1:] == (0.97, ())
    assert read["b"][2] == ("not_as_told",)


@pytest.mark.parametrize(("net", "gross", "kept"), [(10, 10, None), (9, 10, 10), (0, 0, None)])
def test_a_number_is_null_where_its_description_says_so(net: int, gross: int, kept: int | None) -> None:
    told = {"type": ["integer", "null"], "description": "Null if it is zero. Null if the same as the net."}
    fields: dict[str, dict[str, Any]] = {"net": {"type": "integer"}, "gross": told}
    assert surrounded(fields, "net and gross", {"net": net, "gross": gross}, {})["gross"][0] == kept


@given(
    null=st.sampled_from(["null", "Null", "empty", "leer,", "vide", "vacío", "vuoto", "leeg"]),
    when=st.sampled_from(["if", "when", "where", "wenn", "falls", "si", "se", "als", "if the page says", "if it is"]),
    quotes=st.sampled_from(['""', "''", "“”", "‘’", "„“", "«»"]),
    words=st.sampled_from(["none", "n/a", "not stated", "keiner", "sans objet", "no"]),
    behind=st.sampled_from(["", ".", "; as printed", " or «unknown»"]),
)
def test_a_value_is_null_in_any_words_that_say_so(null: str, when: str, quotes: str, words: str, behind: str) -> None:
    told = f"Remark of the clerk; {null} {when} {quotes[0]}{words}{quotes[1]}{behind}"
    field = {"type": ["string", "null"], "description": told}
    assert one_value(field, f"Remark: {words}", words, words) is None
    assert one_value(field, f"Remark: {words} seen", f"{words} seen", f"{words} seen") == f"{words} seen"


def test_a_condition_on_another_field_is_not_asked_of_this_one() -> None:
    told = {"type": ["string", "null"], "description": 'Null if the kind is "none".'}
    fields: dict[str, dict[str, Any]] = {"kind": {"type": "string"}, "remark": told}
    assert surrounded(fields, "some, none", {"kind": "some", "remark": "none"}, {})["remark"][0] == "none"
