"""Choices of the reader: the first look decides, and a printed option tells that there is a value."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.support.tiny_network import form_of, passage_of, tiny_network, wordpieces

from cinnabar.engine.model import Canvas, Scores, SlotInstance
from cinnabar.engine.models.reader.inputs.questions import plain_words
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.reader.scoring.choices import printed_options, tells_presence, text_near

FORM = form_of(total={"type": ["number", "null"]}, kind={"enum": ["water", "stone", "paper"]}, paid={"type": "boolean"})
TEXT = "A page about water.\nTotal: 3.25\n"


def canvas_of(**committed: bytes) -> Canvas:
    names = [slot.path[1:] for slot in FORM.slots]
    values = [committed.get(name) for name in names]
    count = len(names)
    return Canvas(
        [SlotInstance(0, slot, -1) for slot in FORM.slots], values, [False] * count, [()] * count,
    )  # fmt: skip


def reader(config: PriorConfig = DEFAULT_PRIORS) -> ExtractiveReader:
    return ExtractiveReader(tiny_network(1), wordpieces(), "tiny", config=config)


def of_slot(scores: Scores, name: str) -> tuple[list[float], float]:
    at = [slot.path for slot in FORM.slots].index(f"/{name}")
    return scores.candidate_logits[at].tolist(), float(scores.absent_logit[at])


@pytest.mark.parametrize("name", ["kind", "paid"])
def test_the_values_that_other_slots_commit_later_change_no_choice(name: str) -> None:
    model = reader()
    memory = model.encode([passage_of(TEXT)])
    first = of_slot(model.score([FORM], memory, [[]], canvas_of()), name)
    later = of_slot(model.score([FORM], memory, [[]], canvas_of(total=b"3.25")), name)
    assert later == first
    # The network alone would change it.
    unseen = model.encode([passage_of(TEXT)])
    assert of_slot(model.score([FORM], unseen, [[]], canvas_of(total=b"3.25")), name) != first


def test_options_are_printed_where_their_names_are() -> None:
    model = reader()
    (memory,) = model.encode([passage_of(TEXT)])
    slots = {slot.path: slot for slot in FORM.slots}
    assert printed_options(model.form(FORM), slots["/kind"], text_near(memory, None)[1]) == [True, False, False]
    assert printed_options(model.form(FORM), slots["/paid"], text_near(memory, None)[1]) == [False, False]


def test_another_word_for_an_option_that_is_printed_counts_as_its_name() -> None:
    model = reader()
    words = {"end": ["Kündigung", "kündige"], "claim": "Schaden"}
    form = form_of(kind={"enum": ["end", "claim"], "x-cinnabar-options": words})
    (memory,) = model.encode([passage_of("Hiermit kündige ich den Vertrag.")])
    near = text_near(memory, None)[1]
    assert printed_options(model.form(form), form.slots[0], near) == [True, False]


@pytest.mark.parametrize(("text", "moves"), [(TEXT, True), ("A page about nothing.\nTotal: 3.25\n", False)])
def test_absence_is_less_likely_if_the_likeliest_option_is_printed(text: str, moves: bool) -> None:
    def likely(config: PriorConfig) -> float:
        model = reader(config)
        with torch.no_grad():
            model.network.choice_printed.fill_(50.0)
        return of_slot(model.score([FORM], model.encode([passage_of(text)]), [[]], canvas_of()), "kind")[1]

    off = likely(PriorConfig(without=frozenset({"printed_options"})))
    on = likely(DEFAULT_PRIORS)
    more = likely(PriorConfig(printed_options=replace(DEFAULT_PRIORS.printed_options, present=4.0)))
    assert (more < on < off) if moves else more == on == off


@pytest.mark.parametrize(
    ("option", "text", "tells"),
    [
        ('"water"', "A glass of water", True),
        ('"DE"', "Fecha: 7 de mayo", False),
        ('"DE"', "Country: DE", True),
        ('"EUR"', "Total: 12 €", True),
        ("4", "On page 4", False),
        ('"4"', "On page 4", False),
    ],
)
def test_numbers_and_words_that_look_like_codes_tell_nothing_of_a_choice(option: str, text: str, tells: bool) -> None:
    assert tells_presence(option, text, plain_words(text)) == tells
