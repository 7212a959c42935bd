"""The registry of rules beside the network: each can be switched off by name and changes only its own scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.engine.models.reader.priors.test_tables import TABLE, list_of
from tests.support.prior_pages import given
from tests.support.tiny_network import form_of, passage_of, tiny_network, wordpieces

from cinnabar.engine.model import Canvas, Row, Scores, SlotInstance
from cinnabar.engine.models.reader.inputs.tensors import Window
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.priors.config import RULES, PriorConfig
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores
from cinnabar.engine.models.reader.priors.priors import PRIORS, Priors

TEXT: dict[str, Any] = {"type": ["string", "null"]}
PARTY = {"type": "object", "properties": {"name": TEXT, "city": TEXT}, "required": ["name", "city"]}
FORM = form_of(
    buyer=PARTY, number=TEXT | {"examples": ["AB-1/20"]}, goods=list_of("quantity", "article_number", "price"),
    notes={"type": "array", "items": {"type": "string"}},
)  # fmt: skip
GOODS = f"{TABLE}3          C-9              4.00\n"
PARTY_PAGE = 'Stone ("Buyer") and Paper ("Seller") agree.'
PAGE = f"Number: CD-7/21\n\nBuyer\nwater\nstone\n\n{GOODS}\nNotes:\n- paper\n- glass\n\n{PARTY_PAGE}\n"
OF_ROWS = ("list_prior", "doubtful_rows", "single_item", "bound_tables")
OF_CHOICES = ("printed_options", "described_options")


def reader(*without: str, row_bias: float = -3.0) -> ExtractiveReader:
    network = tiny_network(1)
    with torch.no_grad():
        network.row_bias.fill_(row_bias)
    return ExtractiveReader(network, wordpieces(), "tiny", config=PriorConfig(without=frozenset(without)))


def scores_of(model: ExtractiveReader, text: str = PAGE) -> Scores:
    """The scores of an open canvas, with three rows of the list of goods."""
    goods = next(array.index for array in FORM.arrays if array.path == "/goods")
    anchors = [i for i in range(len(text)) if text.startswith(("2  ", "1  ", "3  "), i)]
    rows = [Row(goods, -1, anchor, 0.9) for anchor in anchors]
    instances = [SlotInstance(0, s, -1) for s in FORM.slots if "*" not in s.path]
    instances += [SlotInstance(0, s, i) for i in range(len(rows)) for s in FORM.slots if s.path.startswith("/goods")]
    count = len(instances)
    canvas = Canvas(
        instances, [None] * count, [False] * count,
        [()] * count,
    )  # fmt: skip
    return model.score([FORM], model.encode([passage_of(text)]), [rows], canvas)


def numbers(scores: Scores) -> list[Any]:
    """The candidates and all scores, for comparison."""
    return [scores.candidates, scores.candidate_logits.tolist(), scores.absent_logit.tolist()]


def rows_of(model: ExtractiveReader, text: str = PAGE) -> list[Row]:
    return [row for row in model.find_rows([FORM], model.encode([passage_of(text)]))[0] if row.taken]


@pytest.mark.parametrize("rule", PRIORS)
def test_switching_off_a_prior_removes_only_its_scores(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = given(FORM, PAGE)
    off = replace(asked, config=PriorConfig(without=frozenset({rule})))
    window, slots = Window(0, asked.pieces, 0, asked.pieces), [FORM.slots]
    own = PRIORS[rule](asked)

    def tables(one: PriorInput) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        priors = Priors(one)
        return priors.starts([window], slots, len(FORM.slots), 200), priors.rows([window], FORM.arrays, 200)

    without = tables(off)
    assert any(not np.array_equal(a, b) for a, b in zip(tables(asked), without, strict=True))
    monkeypatch.setitem(PRIORS, rule, lambda _: PriorScores())
    assert all(np.array_equal(a, b) for a, b in zip(tables(asked), without, strict=True))
    assert {*own.values, *own.objects, *own.rows}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in OF_ROWS + OF_CHOICES])
def test_switching_off_a_rule_changes_the_scores_of_slots(rule: str) -> None:
    assert numbers(scores_of(reader())) != numbers(scores_of(reader(rule)))


@pytest.mark.parametrize("rule", ["list_prior", "table_prior", "heading_prior"])
def test_switching_off_a_rule_of_rows_changes_the_rows(rule: str) -> None:
    # A list's label scores its items before its heading does.
    before = ["list_prior"] if rule == "heading_prior" else []
    found = rows_of(reader(*before, row_bias=1.0))
    assert found and found != rows_of(reader(*before, rule, row_bias=1.0))


def test_without_the_doubtful_rows_rule_doubtful_items_are_no_rows() -> None:
    plain = "water stone paper glass\n" * 3
    doubtful = rows_of(reader(row_bias=-2.5), plain)
    assert doubtful and all(row.probability < 0.2 for row in doubtful)
    assert rows_of(reader("doubtful_rows", row_bias=-2.5), plain) == []


def test_on_a_page_that_names_nothing_the_priors_change_nothing() -> None:
    plain = "water\nstone\n"
    assert numbers(scores_of(reader(), plain)) == numbers(scores_of(reader(*PRIORS, "absence_prior"), plain))
