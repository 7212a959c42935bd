"""A small trained model reads pages that it never saw, and denoising is what makes it right."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from training.diffusion.pages import Page, Pages

from cinnabar.engine.diffusion.engine import DiffusionEngine
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.request import Filled, Passage, Request
from cinnabar.schemas.compiling.compile import compile_schema

MODEL = Path(__file__).parents[2] / "data" / "small_diffusion_model"


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_language_model(MODEL, "cpu", "float32")


def _request(number: int, page: Page) -> Request:
    nothing = np.zeros(0, np.int32)
    passage = Passage(str(number), page.text, 0, nothing, nothing, np.zeros((0, 4), np.float32))
    return Request(str(number), compile_schema(page.schema).form, passage)


def _filled(model: LanguageModel, pages: list[Page], effort: str) -> list[Filled]:
    found = DiffusionEngine(model, effort).fill([_request(at, page) for at, page in enumerate(pages)])
    assert all(isinstance(result, Filled) for result in found)
    return [result for result in found if isinstance(result, Filled)]


def test_the_model_reads_values_layouts_and_labels_that_it_never_saw(model: LanguageModel) -> None:
    rng = random.Random(11)
    pages = [Pages(held_back=True).labelled(rng, asked=3) for _ in range(8)]
    right = wanted = 0
    for page, filled in zip(pages, _filled(model, pages, "medium"), strict=True):
        record = json.loads(filled.record)
        right += sum(record[name] == value for name, value in page.record.items())
        wanted += len(page.record)
    # A random record has none of them right; on the machine of the training it was all of them.
    assert right >= 0.8 * wanted


def test_values_that_are_read_have_their_place_on_the_page(model: LanguageModel) -> None:
    page = Pages(held_back=True).labelled(random.Random(3), asked=3)
    (filled,) = _filled(model, [page], "medium")
    for leaf in filled.leaves.values():
        if leaf.origin == "copied" and leaf.text is not None:
            ((start, end),) = leaf.spans
            assert page.text[start:end] == str(json.loads(leaf.text))


def test_of_two_answers_passes_make_a_whole_one_and_one_pass_mixes_them(model: LanguageModel) -> None:
    rng = random.Random(5)
    pages = [Pages(held_back=True).two_answers(rng) for _ in range(16)]

    def whole(effort: str) -> int:
        count = 0
        for page, filled in zip(pages, _filled(model, pages, effort), strict=True):
            (answer,) = json.loads(filled.record).values()
            found = re.search(r"([A-Z0-9]+) or ([A-Z0-9]+)", page.text)
            assert found is not None
            count += answer in found.groups()
        return count

    assert whole("medium") >= 12
    assert whole("instant") <= 8
