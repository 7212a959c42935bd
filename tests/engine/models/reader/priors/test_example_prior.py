"""The example prior: text that looks like an example in the schema is a likelier value of its field."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.support.prior_pages import given
from tests.support.tiny_network import form_of

from cinnabar.engine.models.reader.inputs.tensors import Window
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.priors import Priors, example_prior

TEXT: dict[str, Any] = {"type": ["string", "null"]}
OWN = DEFAULT_PRIORS.example_prior.own
PAGE = "Drug: Zinc 2,5 mg 1-0-1\nOur sign: AB-124/23\nPaid 12.50 for 3 years since 2021-07-04\n"


def _told(schema: dict[str, Any], text: str = PAGE) -> list[str]:
    """The words at which the values of a field become likelier to start."""
    asked = given(form_of(f=schema), text)
    start, scores = asked.page.columns.pieces.start, example_prior(asked).values
    if not scores:
        return []
    assert set(scores["/f"].tolist()) == {0.0, OWN}
    return [text[start[i] :].split()[0] for i in scores["/f"].nonzero()[0].tolist()]


@pytest.mark.parametrize(
    ("note", "found"),
    [
        ("Dosing scheme, e.g. 0-2-0.", ["1-0-1"]),
        ("Strength of one unit, such as 10 g", ["2,5", "12.50", "3"]),
        ('Number of the file (z. B. "XY-17/22")', ["AB-124/23"]),
        ("Par exemple CD-1/20 ou 5-5-5.", ["1-0-1", "AB-124/23"]),
        ("For example 1999-12-31", ["2021-07-04"]),
        ("Such as Zinc or Iron.", []),
        ("e.g. 550", []),
        ("e.g. XY-1/2, as it is printed, never 0-0-1", ["AB-124/23"]),
        ("No more than 1-0-1 is printed.", []),
        ("e.g. 7:3:1", []),
    ],
)
def test_text_that_looks_like_a_described_example_is_likelier(note: str, found: list[str]) -> None:
    assert _told(TEXT | {"description": note}) == found


@pytest.mark.parametrize(
    ("example", "text", "found"),
    [
        ("75 m²", "In all 80 m² of rooms", ["80"]),
        ("Ż-12/3", "sign Ć-1/1", ["Ć-1/1"]),
        ("ab-1", "AB-1 cd-2", ["cd-2"]),
        ("2,5 mg", "4 ml or 3,25 ml", ["4", "3,25"]),
        ("1,234.50 EUR", "of 9,120.00 EUR", ["9,120.00"]),
        ("1.2.3", "see 4.5.6 and 7.8", ["4.5.6"]),
        ('12"-A', 'pipe 16"-B', ['16"-B']),
    ],
)
def test_figures_letters_and_signs_of_all_kinds_count(example: str, text: str, found: list[str]) -> None:
    assert _told(TEXT | {"examples": [example]}, text) == found
    assert _told(TEXT | {"examples": [example]}, f"x {example} y") == [example.split()[0]]


def test_a_hostile_example_takes_no_long_time() -> None:
    for example in ("1." * 18 + "1-a", "1-" * 19 + "a1", "a1 " * 12):
        begin = time.thread_time()
        _told(TEXT | {"examples": [example]}, "1." * 2000 + " " * 2000 + "1-" * 2000)
        assert time.thread_time() - begin < 5


def test_the_examples_keyword_counts_as_examples_in_a_description_do() -> None:
    assert _told(TEXT | {"examples": ["QQ-100/99", "0-0-1"]}) == ["1-0-1", "AB-124/23"]


def test_signs_match_themselves_and_longer_words_do_not_match() -> None:
    assert _told(TEXT | {"examples": ["A(1)+"]}, "A(1) B(2)+ xA(1)+") == ["B(2)+"]
    assert _told(TEXT | {"examples": ["A1"]}, "A1 A1B AA1 A12_") == ["A1", "AA1"]


def test_dates_numbers_and_choices_take_nothing_from_examples() -> None:
    for kind in ({"format": "date"}, {"pattern": "^[0-9-]+$"}):
        assert _told(TEXT | kind | {"examples": ["1-0-1", "2020-01-01"]}) == []
    assert _told({"type": ["number", "null"], "description": "e.g. 2.5 mg"}) == []
    assert _told({"enum": ["1-0-1", "1-1-1"], "description": "e.g. 1-0-1"}) == []


def test_a_label_and_an_example_add_up() -> None:
    form = form_of(sign=TEXT | {"examples": ["C-5/5"]})
    asked = given(form, PAGE)
    pieces, priors = asked.page.columns.pieces, Priors(asked)
    said = priors.starts([Window(0, len(pieces), 0, len(pieces))], [form.slots], len(form.slots), 200)[0, 0]
    assert said[pieces.at(PAGE.index("AB-")) + 1] > OWN
