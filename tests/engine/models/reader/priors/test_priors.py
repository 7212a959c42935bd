"""The priors together: headings, labels and tables score the slots that look at windows."""

from __future__ import annotations

import numpy as np
import torch
from tests.engine.models.reader.priors.test_tables import TABLE, list_of
from tests.support.prior_pages import given
from tests.support.tiny_network import form_of, wordpieces

from cinnabar.engine.models.reader.inputs.tensors import Window
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.priors import Priors
from cinnabar.schemas.form.form import Form

TEXT = {"type": ["string", "null"]}
PARTY = {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}
OWN = DEFAULT_PRIORS.table_prior.own
FORM = form_of(
    buyer=PARTY, seller=PARTY, goods=list_of("quantity", "article_number", "price"),
    notes={"type": "array", "items": {"type": "string"}},
)  # fmt: skip
PAGE = "Buyer\nName: water\n\n" + TABLE + "\nNotes\n- paper\n- glass\n"


def _priors(text: str = PAGE, form: Form = FORM) -> tuple[Priors, Window]:
    asked = given(form, text)
    return Priors(asked), Window(0, asked.pieces, 0, asked.pieces)


def _at(words: str) -> int:
    """The place in the window, in which [CLS] stands before the first piece."""
    return wordpieces().pieces(PAGE).at(PAGE.index(words)) + 1


def test_labels_and_headings_add_up() -> None:
    priors, window = _priors()
    said = priors.starts([window], [FORM.slots], len(FORM.slots), 200)[0]
    of = {slot.path: said[i] for i, slot in enumerate(FORM.slots)}
    without, window = _priors(PAGE.replace("Name:", "Thing"))
    buyer = [slot.path for slot in FORM.slots].index("/buyer/name")
    heading = without.starts([window], [FORM.slots], len(FORM.slots), 200)[0, buyer]
    assert of["/buyer/name"][_at("water")] > heading[_at("water")] > 0
    assert of["/buyer/name"][_at("water")] > of["/seller/name"][_at("water")]
    assert of["/goods/*/price"][_at("3.50")] == OWN


def test_a_window_gets_the_scores_of_its_own_pieces_only() -> None:
    priors, window = _priors()
    first = _at("3.50") - 1
    part = Window(first, window.last, first, window.last)
    price = [slot for slot in FORM.slots if slot.path == "/goods/*/price"]
    said = priors.starts([part], [price], 1, 200)[0, 0]
    assert said[1] == OWN
    assert said[0] == 0 and not said[window.last - first + 1 :].any()


def test_tables_and_list_headings_score_where_items_begin() -> None:
    priors, window = _priors()
    said = priors.rows([window], FORM.arrays, 200)[0]
    goods, notes = (next(a.index for a in FORM.arrays if a.path == path) for path in ("/goods", "/notes"))
    assert said[goods, _at("1          B-4")] > 0 > said[goods, _at("paper")]
    assert said[notes, _at("- paper")] > 0 > said[notes, _at("water")]


def test_a_list_that_nothing_names_is_left_to_the_network() -> None:
    priors, window = _priors("water\nstone\n")
    assert not priors.rows([window], FORM.arrays, 50).any()


def test_low_precision_gives_the_same_scores() -> None:
    priors, window = _priors()
    with torch.autocast("cpu", torch.bfloat16):
        low, _ = _priors()
    slots, arrays = [FORM.slots], FORM.arrays
    assert np.array_equal(
        priors.starts([window], slots, len(FORM.slots), 200), low.starts([window], slots, len(FORM.slots), 200)
    )
    assert np.array_equal(priors.rows([window], arrays, 200), low.rows([window], arrays, 200))
