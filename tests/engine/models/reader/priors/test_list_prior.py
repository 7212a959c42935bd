"""The list prior: items of a list of texts begin behind or below the list's label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.support.cases import each
from tests.support.prior_pages import given
from tests.support.tiny_network import form_of

from cinnabar.engine.models.reader.priors import list_prior as list_prior_module
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.priors.list_prior import list_prior
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.schemas.form.form import Form

TEXT: dict[str, Any] = {"type": ["string", "null"]}
NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "description": "Whom the clerk saw."}
CONFIG = DEFAULT_PRIORS.list_prior
FORM = form_of(present=NAMES, agenda=NAMES, secretary=TEXT)


def _told(text: str, form: Form = FORM) -> tuple[Page, dict[str, Floats]]:
    asked = given(form, text)
    scores = list_prior(asked)
    return asked.page, {**scores.rows, **scores.values}


def _items(text: str, path: str = "/present", form: Form = FORM) -> list[str]:
    """The first words of each item of the list; empty where the prior scores nothing."""
    page, told = _told(text, form)
    start = page.columns.pieces.start
    if path not in told:
        return []
    return [text[start[i] :].split()[0] for i in (told[path] > 0).nonzero()[0].tolist()]


@each(
    "text, items",
    [
        ("Present: Ann, Bob (chair, clerk), Cid\nother, words\n", ["Ann,", "Bob", "Cid"]),
        ("Present: Ann, of Ulm; Bob, of Bonn\n", ["Ann,", "Bob,"]),
        ("Present:   Ann\n           Bob\n           Cid\nPlace:     Ulm\n", ["Ann", "Bob", "Cid"]),
        ("Present:   Ann, Bob,\n           Cid\n", ["Ann,", "Bob,", "Cid"]),
        ("Present\n- Ann, of Ulm\n  and Bonn\n- Bob\n\nPlace\n", ["-", "-"]),
        ("Present\n\n  1. Ann\n\n  2. Bob\n\nPlace: Ulm\n", ["1.", "2."]),
        ("Present:\n  a) Ann\n  b) Bob\n", ["Ann", "Bob"]),
        ("Present\nAnn\nBob\n\nCid\n", ["Ann", "Bob"]),
        ("Present: Ann\n", ["Ann"]),
        ("Present:\nAnn\nBob\nAgenda:\nwater\nPlace: Ulm\n", ["Ann", "Bob"]),
        ("Present: Ann, Bob      Agenda: water, stone\n", ["Ann,", "Bob"]),
        ("Present:\nA. Smith\nBob Bee\nC. Dee\n", ["A.", "Bob", "C."]),
        ("Present: A. Smith, B. Bee\n", ["A.", "B."]),
        ("Present: Ann 2,5 mg, Bob 1,5 mg\n", ["Ann", "Bob"]),
        ("Present: Ann, Bob and Cid\n", ["Ann,", "Bob", "Cid"]),
        ("Present:\na)\n\nPlace: Ulm\n", []),
    ]
)  # fmt: skip
def test_items_begin_at_the_lines_or_commas_behind_a_label(text: str, items: list[str]) -> None:
    assert _items(text) == items


def test_items_begin_less_likely_elsewhere() -> None:
    text = "water\nPresent: Ann, Bob\nstone\n"
    page, told = _told(text)
    said = {word: float(told["/present"][page.columns.pieces.at(text.index(word))]) for word in text.split()}
    assert said["Ann,"] == said["Bob"] == CONFIG.item
    assert said["water"] == said["stone"] == -CONFIG.outside
    assert float(told["/present"][page.columns.pieces.at(text.index(", "))]) == -CONFIG.inside


def test_a_text_begins_behind_its_bullet_or_number() -> None:
    text = "Present\n1. Ann Bee\n2. Bob\n"
    page, told = _told(text)
    start = page.columns.pieces.start
    texts = [text[start[i] :].split()[0] for i in (told["/present/*"] == CONFIG.text).nonzero()[0].tolist()]
    assert texts == ["Ann", "Bob"]


def test_lists_are_told_apart_by_their_names_alone() -> None:
    text = "Present: Ann, Bob\nAgenda: water, stone\nSecretary: Cid, Dan\n"
    assert _items(text) == ["Ann,", "Bob"]
    assert _items(text, "/agenda") == ["water,", "stone"]


@pytest.mark.parametrize(
    "form",
    [
        form_of(present={"type": "array", "items": {"enum": ["a", "b"]}}),
        form_of(present={"type": "array", "items": {"type": "object", "properties": {"name": TEXT}}}),
        form_of(other=NAMES),
    ],
    ids=["choices", "objects", "another name"],
)
def test_lists_of_other_items_or_names_get_no_scores(form: Form) -> None:
    assert _told("Present: Ann, Bob\n", form)[1] == {}


@pytest.mark.parametrize("text", ["", "Present", "Present:", "Present:\n\n", "Present: ,", "Present:\n-\n"])
def test_labels_without_a_list_are_no_harm(text: str) -> None:
    page, told = _told(text)
    assert all(len(said) == len(page.columns.pieces) for said in told.values())
    assert text in ("Present: ,", "Present:\n-\n") or not told


@pytest.mark.parametrize("footer", ["Page 1", "Page: 1"])
@pytest.mark.parametrize("name", ["Bob", "Bob: chair"])
@pytest.mark.parametrize("count", [8, 150])
def test_a_long_list_may_go_on_behind_the_end_of_a_page(count: int, name: str, footer: str) -> None:
    names = "".join(f"- Ann{n}\n" for n in range(count))
    text = f"Red house\n\nPresent:\n{names}\n{footer}\n\nBlue house\n\n- {name}\n\nSecretary: Eve\n"
    assert _items(text) == ["-"] * count
    page, told = _told(text)
    said, pieces = told["/present"], page.columns.pieces
    at = {word: said[pieces.at(text.index(word))] for word in ("Red", "- Bob", "Eve")}
    assert at == {"Red": -CONFIG.outside, "- Bob": 0.0, "Eve": -CONFIG.outside}


def test_a_short_list_ends_with_its_lines() -> None:
    names = "".join(f"- Ann{n}\n" for n in range(CONFIG.long - 1))
    text = f"Present:\n{names}\n\nPage 1\n\n- Cid\n"
    page, told = _told(text)
    assert told["/present"][page.columns.pieces.at(text.index("- Cid"))] == -CONFIG.outside


def test_long_winded_items_are_no_paragraph_where_they_are_marked() -> None:
    words = "one two three four five six seven eight nine ten"
    assert _items(f"Present:\n- {words}\n- {words}\n") == ["-", "-"]
    assert _items(f"Present:\n{words}\n{words}\n") == []


def test_lists_behind_many_labels_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    real = list_prior_module._mark_of
    monkeypatch.setattr(list_prior_module, "_mark_of", lambda *place: looked.append(place) or real(*place))
    few = replace(DEFAULT_PRIORS, list_prior=replace(CONFIG, lines=300))
    scores = list_prior(replace(given(FORM, "- Present:\n- x\n" * 300), config=few)).rows["/present"]
    assert len(looked) < 3000
    # Lines beyond the limit have no score.
    assert scores[-1] == 0.0 and scores.max() > 0
