"""Pages in which the tests of the priors look for names, with the tiny network's words and letters."""

from __future__ import annotations

from tests.engine.models.reader.network.test_phrase_vectors import letters
from tests.support.tiny_network import tiny_network, wordpieces

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.priors.name_matching import Page, WordVectors
from cinnabar.engine.models.reader.priors.prior import PriorInput
from cinnabar.schemas.form.form import Form


def page_of(text: str) -> Page:
    """The page of this text."""
    columns = Columns(wordpieces().pieces(text))
    words = WordVectors(tiny_network().encoder.words.weight.numpy(), letters().numpy(), wordpieces())
    return Page.of(text, columns, words)


def given(form: Form, text: str) -> PriorInput:
    """The input of the priors for this form and the page of this text."""
    return PriorInput(form, page_of(text))
