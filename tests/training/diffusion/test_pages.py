"""Generated pages: what they ask stands on them, and what is held back is never drawn for training."""

from __future__ import annotations

import json
import random
import re

import pytest
from training.diffusion.pages import Pages, Words, held_back

from cinnabar.schemas.compiling.compile import compile_schema


@pytest.mark.parametrize("kept", [False, True])
def test_the_schema_allows_the_record_and_every_value_stands_on_the_page(kept: bool) -> None:
    rng, pages = random.Random(5), Pages(held_back=kept)
    for _ in range(60):
        page = pages.draw(rng)
        assert compile_schema(page.schema).accepts(json.dumps(page.record))
        for value in page.record.values():
            assert value is None or str(value) in page.text


def test_words_of_training_and_words_held_back_are_apart() -> None:
    rng = random.Random(1)
    assert not any(held_back(Words().draw(rng)) for _ in range(300))
    assert all(held_back(Words(held_back=True).draw(rng)) for _ in range(50))


def test_a_page_of_two_answers_names_both_and_asks_for_one() -> None:
    rng, pages = random.Random(2), Pages()
    for _ in range(20):
        page = pages.two_answers(rng)
        (answer,) = page.record.values()
        found = re.search(r"([A-Z0-9]+) or ([A-Z0-9]+)", page.text)
        assert found is not None and answer in found.groups() and len({*found.groups()}) == 2


def test_both_answers_are_drawn_equally_often() -> None:
    rng, pages = random.Random(4), Pages()
    first = 0
    for _ in range(200):
        page = pages.two_answers(rng)
        (answer,) = page.record.values()
        first += f"{answer} or" in page.text
    assert 70 <= first <= 130
