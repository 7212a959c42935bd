"""The party prior: the values of a field stand at the name before the term that has the field's words."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each
from tests.support.prior_pages import given

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.party_prior import party_prior
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}
OWN, OTHERS = DEFAULT_PRIORS.party_prior.own, -DEFAULT_PRIORS.party_prior.others


def _form(**properties: Any) -> Form:
    return compile_schema({"type": "object", "properties": properties, "required": list(properties)}).form


def _said(text: str, at: str, form: Form) -> dict[str, float]:
    """The scores of fields and objects at the piece at which these words begin."""
    asked = given(form, text)
    piece, scores = asked.page.columns.pieces.at(text.index(at)), party_prior(asked)
    return {path: float(own[piece]) for path, own in {**scores.values, **scores.objects}.items()}


FLAT = _form(seller=TEXT, buyer=TEXT)
PARTY = {"type": "object", "properties": {"name": TEXT}}
DEEP = _form(seller=PARTY, buyer=PARTY)
BOTH = 'Stone, represented by Glass ("Seller"), and Paper ("Buyer") agree.'


@each(
    "at,form,seller,buyer",
    [
        ("Stone", FLAT, OWN, OTHERS),
        ("Paper", FLAT, OTHERS, OWN),
        ("Glass", FLAT, OTHERS, OTHERS),
        ("Seller", FLAT, OTHERS, OTHERS),
        ("Paper", DEEP, OTHERS, OWN),
        ("agree", FLAT, 0, 0),
    ],
)
def test_a_party_is_the_name_before_its_term(at: str, form: Form, seller: float, buyer: float) -> None:
    assert _said(BOTH, at, form) == {"/seller": seller, "/buyer": buyer}


def test_a_field_with_more_words_than_the_term_may_stand_in_the_clause_of_its_party() -> None:
    said = _said(BOTH, "Glass", _form(seller_agent=TEXT, buyer_agent=TEXT))
    assert said["/seller_agent"] > 0 > said["/buyer_agent"]


def test_dates_descriptions_and_lists_of_parties_claim_no_term() -> None:
    told = TEXT | {"description": "Who the seller and the buyer are."}
    dated = {"type": "string", "format": "date"}
    texts, parties = {"type": "array", "items": TEXT}, {"type": "array", "items": PARTY}
    form = _form(law=told, seller=dated, sellers=texts, buyer=parties)
    assert _said(BOTH, "Stone", form) == {}


def test_a_text_that_defines_no_term_of_the_form_says_nothing() -> None:
    assert _said('Stone ("Glass") and Paper', "Stone", FLAT) == {} == _said("Stone and Paper", "Stone", FLAT)
