"""The search for the words behind a value: its places in a text, and which of several is that of a field."""

from __future__ import annotations

import pytest
from tests.support.cases import each

from cinnabar.engine.evidence.search import Search, behind_label


def spans(text: str, value: str | int | float | bool) -> list[str]:
    return [text[a:b] for a, b in Search(text).find(value).spans]


@each(
    "text, value, expected",
    [
        ("sold by ACME\n GmbH & Co. KG today", "Acme GmbH & Co. KG", ["ACME\n GmbH & Co. KG"]),
        ("born in Norfolk, Conn.; died", "Norfolk, Conn.", ["Norfolk, Conn."]),
        ("Artist and art", "art", ["art"]),
        ("total 1.234,56 EUR", 1234.56, ["1.234,56"]),
        ("total 12 of 112", 12, ["12"]),
        ("on 3. März 2020 and 03.03.2020", "2020-03-03", ["3. März 2020", "03.03.2020"]),
        ("starts 3:30 - 5:00 pm", "15:30", ["3:30"]),
        ("2 talks, at 14:00", "14:00", ["14:00"]),
        ("for three (3) months", 3, ["3"]),
        ("issued 429 PM CDT FRI JUN 6 2014", "2014-06-06T21:29:00Z", ["429 PM CDT FRI JUN 6 2014"]),
        ("for two (2) years", "2 years", ["two (2) years"]),
        ("for two (2) years", "24 months", ["two (2) years"]),
        ("paid 5,00 €", "EUR", ["€"]),
        ("in Germany", "DE", ["Germany"]),
        ("IBAN DE12 3456 7890 1234 5678 90", "DE12345678901234567890", ["DE12 3456 7890 1234 5678 90"]),
        ("version 1.5 is not 15", "1.5", ["1.5"]),
        ("we paid CHF141.00", "CHF", ["CHF141.00"]),
        ("the Sixty-ninth and next Congress", 69, ["Sixty-ninth"]),
        ("nothing here", "else", []),
        ("yes", True, []),
        ("a ß is one", "SS", ["ß"]),
    ],
)
def test_a_value_is_found_at_the_text_that_reads_as_it(
    text: str, value: str | int | float | bool, expected: list[str]
) -> None:
    assert spans(text, value) == expected


def test_an_exact_spelling_is_preferred_to_a_folded_one() -> None:
    assert spans("ACME and Acme", "Acme") == ["Acme"]


@pytest.mark.parametrize("first, day", [(True, "2026-04-03"), (False, "2026-03-04"), (None, "2026-03-04")])
def test_a_date_is_read_in_the_order_that_its_field_tells(first: bool | None, day: str) -> None:
    search = Search("on 03/04/2026, after 12/31/2025")
    assert search.find(day, first).spans == ((3, 13),)


def test_the_name_of_an_option_is_found_in_any_letter_case_and_within_a_longer_word() -> None:
    search = Search("No Claims, 1 9 : 4 4")
    assert search.printed("claim", name=True) == ((3, 9 - 1),) and search.printed("claim") == ()
    assert search.printed("no", name=True) == ((0, 2),) and search.printed("no", (1, 9), name=True) == ()
    assert search.printed("19:44", name=True) == ((11, 20),)


@each(
    "label, behind",
    [
        ("City", "City: "),
        ("Minimum", "min "),
        ("Art", ""),
        ("Birth date", "Dates of birth: "),
        ("x", ""),
    ],
)
def test_the_place_behind_the_words_of_the_label_is_that_of_the_field(label: str, behind: str) -> None:
    text = f"Bonn. {'.' * 60} Article Bonn {'.' * 60} City: Bonn {'.' * 60} min Bonn {'.' * 60} Dates of birth: Bonn"
    start, _ = behind_label(text, Search(text).find("Bonn").spans, label)
    assert text[:start].endswith(behind) and (behind or not start)
