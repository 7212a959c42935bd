"""What holds for every model that fills fields as branches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from tests.support.random_schemas import forms

from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.request import Filled, Request, text_passage


def check_records_are_valid(model: LanguageModel, text: str, seed: int) -> None:
    """Fills three random forms from a text: each record is one that its schema allows."""
    for compiled in forms(seed, 3):
        (result,) = language_engine(model).fill([Request("a", compiled.form, text_passage(text))])
        assert isinstance(result, Filled), result
        if compiled.form.judge is not None:
            assert compiled.form.judge.accepts(json.loads(result.record))


def check_documents_are_apart(model: LanguageModel, asked: Callable[[str, str], Request], texts: Sequence[str]) -> None:
    """Fills the form of `asked` from texts: the results are those of each text alone."""
    together = language_engine(model).fill([asked(str(at), text) for at, text in enumerate(texts)])
    for at, text in enumerate(texts):
        (alone,) = language_engine(model).fill([asked(str(at), text)])
        assert alone == together[at]
