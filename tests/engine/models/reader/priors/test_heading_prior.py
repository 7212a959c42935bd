"""The heading prior: headings that name objects of the form mark the block of page below them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.support.prior_pages import given

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.heading_prior import heading_prior, objects_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}


def _object(*names: str, **more: Any) -> dict[str, Any]:
    properties = dict.fromkeys(names, TEXT) | more
    return {"type": "object", "properties": properties, "required": list(properties)}


def _form(**properties: Any) -> Form:
    return compile_schema({"type": "object", "properties": properties, "required": list(properties)}).form


PARTIES = _form(seller=_object("name", "city"), buyer=_object("name", "city"), number=TEXT)


def _said(text: str, at: str, form: Form = PARTIES) -> dict[str, float]:
    """The heading scores at the piece at which these words begin, by object."""
    asked = given(form, text)
    piece = asked.page.columns.pieces.at(text.index(at))
    return {path: float(scores[piece]) for path, scores in heading_prior(asked).objects.items()}


def test_a_place_below_a_heading_belongs_to_its_object() -> None:
    said = _said("Buyer\nwater\npaper\n\nSeller\nstone\n", "water")
    assert 0 < said["/buyer"] <= DEFAULT_PRIORS.heading_prior.own
    assert -DEFAULT_PRIORS.heading_prior.others <= said["/seller"] < 0


def test_the_next_heading_ends_a_block() -> None:
    said = _said("Buyer\nwater\npaper\n\nSeller\nstone\n", "stone")
    assert said["/seller"] > 0 > said["/buyer"]


def test_blocks_beside_each_other_are_told_apart_by_their_left_edges() -> None:
    text = "Buyer              Seller\nwater              stone\npaper              glass\n"
    for words, own, other in (("paper", "/buyer", "/seller"), ("glass", "/seller", "/buyer")):
        said = _said(text, words)
        assert said[own] > 0 > said[other]


def test_a_heading_with_a_colon_also_marks_its_own_line() -> None:
    text = "Buyer: water\nSeller: stone\n"
    assert _said(text, "water")["/buyer"] > 0 > _said(text, "stone")["/buyer"]


def test_a_heading_fades_with_the_distance_below_it() -> None:
    text = "Buyer\n" + "water\n" * 3 + "paper\n" + "water\n" * 20 + "stone\n"
    near, far = _said(text, "water")["/buyer"], _said(text, "paper")["/buyer"]
    assert near > far > 0
    assert _said(text, "stone")["/buyer"] == 0


def test_running_text_is_no_heading() -> None:
    assert not any(_said("The buyer of the house has paid the seller\nwater\n", "water").values())


def test_objects_with_other_fields_get_no_penalty() -> None:
    form = _form(buyer=_object("name", "city"), total=_object("net", "tax"))
    said = _said("Buyer\nwater\n", "water", form)
    assert said["/buyer"] > 0
    assert said["/total"] == 0


def test_fields_of_items_and_of_the_record_itself_have_no_headings() -> None:
    items = {"type": "array", "items": _object("name", owner=_object("city"))}
    form = _form(number=TEXT, items=items)
    assert set(objects_of(form)) == {"/items"}
    assert not any(_said("Number\nwater\n", "water", form).values())


def test_a_heading_is_for_its_own_list_and_against_the_others() -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    form = _form(present=texts, absent=texts)
    said = _said("Present\n- water\n- paper\n\nAbsent\n- stone\n", "paper", form)
    assert said["/present"] > 0 > said["/absent"]


def test_a_sentence_before_a_colon_names_a_list_by_its_last_words() -> None:
    form = _form(benefits={"type": "array", "items": {"type": "string"}})
    text = "You will be eligible for all of the following benefits:\n- water\n"
    assert _said(text, "water", form)["/benefits"] > 0


def test_several_words_of_its_description_name_a_list_and_one_does_not() -> None:
    plots = {"type": "array", "items": {"type": "string"}, "description": "Numbers in the land register"}
    form = _form(parcels=plots)
    assert _said("Land register:\nwater\n", "water", form)["/parcels"] > 0
    assert not any(_said("Land:\nwater\n", "water", form).values())


def test_the_names_around_an_object_name_it_as_well() -> None:
    address = _object("city", "street")
    form = _form(buyer=_object("name", address=address), seller=_object("name", address=address))
    said = _said("Seller\nwater\n", "water", form)
    assert said["/seller/address"] > 0 > said["/buyer/address"]


@pytest.mark.parametrize("text", ["", "\n\n", "   ", ":", "Buyer", ": :\n:Buyer:\n"])
def test_nearly_empty_pages_give_finite_scores(text: str) -> None:
    asked = given(PARTIES, text)
    for scores in heading_prior(asked).objects.values():
        assert scores.shape == (asked.pieces,) and np.isfinite(scores).all()
