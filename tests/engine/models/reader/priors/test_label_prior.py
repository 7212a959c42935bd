"""The label prior: labels point to the values of a record's fields."""

from __future__ import annotations

import pytest
from tests.support.prior_pages import given, page_of
from tests.support.tiny_network import form_of

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.labels import labels_of
from cinnabar.engine.models.reader.priors.priors import label_prior
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}
SAMPLE = form_of(received_on=TEXT, sampled_on=TEXT, sample_number=TEXT)


def _said(text: str, at: str, form: Form = SAMPLE) -> dict[str, float]:
    """The label scores at the piece at which these words begin, by field; 0 where there are none."""
    asked = given(form, text)
    scores, piece = label_prior(asked).values, asked.page.columns.pieces.at(text.index(at))
    return {s.path[1:]: float(scores[s.path][piece]) if s.path in scores else 0.0 for s in form.slots}


@pytest.mark.parametrize(
    "text",
    [
        "Sample number: water\n",
        "Sample number     water\n",
        "Sample number\nwater\n",
        "Sample number :  water",
    ],
    ids=["colon", "beside", "below", "wide"],
)
def test_text_behind_or_below_a_label_belongs_to_its_field(text: str) -> None:
    said = _said(text, "water")
    assert 0 < said["sample_number"] <= DEFAULT_PRIORS.label_prior.own
    assert said["received_on"] < 0


def test_text_beside_a_label_comes_before_text_below_it() -> None:
    assert _said("Sample number     water\nstone\n", "stone")["sample_number"] == 0


@pytest.mark.parametrize(
    ("rows", "is_value"),
    [
        ("water             clay          stone\n", True),
        ("W-7               clay          stone 4\nStreet 12         sand          stone\n", True),
        ("W-7               clay          stone 4\nW-8               sand          stone 9\n", False),
        ("water             clay\n", False),
        ("water             clay          stone         sand\n", False),
        ("water             Received on   stone\n", False),
    ],
    ids=["one row", "address lines", "several rows", "a cell less", "a cell more", "a label among them"],
)
def test_in_a_line_of_heads_the_value_of_each_stands_below_it(rows: str, is_value: bool) -> None:
    text = f"Sample number     Sampled on    Place\n{rows}"
    scores = _said(text, rows.split("  ")[0])
    assert (scores["sample_number"] > DEFAULT_PRIORS.label_prior.own) == is_value
    assert (scores["sampled_on"] < -DEFAULT_PRIORS.label_prior.others) == is_value


def test_a_value_starts_with_its_first_word() -> None:
    text = "Sample number: water stone\n"
    assert _said(text, "water")["sample_number"] > _said(text, "stone")["sample_number"] > 0


def test_a_label_scores_a_clause_lower_than_a_value() -> None:
    clause = "Sample number: water " + "and more of it " * 20
    brief = _said("Sample number: water", "water")["sample_number"]
    assert brief > _said(clause, "water")["sample_number"] > 0


def test_fields_of_one_name_share_a_label() -> None:
    party = {"type": "object", "properties": {"street": TEXT}, "required": ["street"]}
    alone, shared = form_of(seller=party), form_of(seller=party, buyer=party)
    of_one = _said("Street: water\n", "water", alone)["seller/street"]
    of_two = _said("Street: water\n", "water", shared)
    assert of_one > of_two["seller/street"] == of_two["buyer/street"] > 0


def test_the_words_of_a_description_name_a_label() -> None:
    form = form_of(client=TEXT | {"description": "Who ordered the test: the applicant"})
    assert _said("Applicant     water\n", "water", form)["client"] > 0


def test_frequent_words_of_a_description_are_no_label() -> None:
    form = form_of(client=TEXT | {"description": "Who is in the right, and why"})
    assert _said("Who is in:     water\n", "water", form)["client"] == 0


@pytest.mark.parametrize("text", ["", "\n", ":", "Sample number", "Sample number:", "Sample number:\n\n"])
def test_nearly_empty_pages_give_finite_scores(text: str) -> None:
    assert not labels_of(SAMPLE, page_of(text), DEFAULT_PRIORS)


def test_text_with_figures_is_no_label() -> None:
    assert _said("Sample number 4     water\n", "water")["sample_number"] == 0


def test_an_empty_label_does_not_take_the_next_one_for_its_value() -> None:
    form = form_of(name=TEXT, date=TEXT)
    for text in ("Name:     Date: water\n", "Name\nDate\nwater\n"):
        assert _said(text, "Date", form)["name"] <= 0
        assert _said(text, "water", form)["date"] > 0


def test_the_description_decides_a_label_that_the_name_contradicts() -> None:
    form = form_of(applicant=TEXT | {"description": "Laboratory"}, client=TEXT | {"description": "Applicant"})
    said = _said("Applicant     water\n", "water", form)
    assert said["client"] > said["applicant"]
