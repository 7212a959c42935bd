"""Of two calibrated models the second one is asked for documents in which much is likely wrong, at a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.reading_model import ReadingModel
from tests.support.remote_forms import NOTE, form_of

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.escalation import SETTINGS, best_setting, likely_right, share_asked
from cinnabar.extraction.filling.stages import MergedRecord
from cinnabar.extraction.filling.tiers import Tier, escalate

LINES = [{"what": "a", "price": 1}, {"what": "b", "price": 2}]


@pytest.mark.parametrize(
    ("values", "lists", "right"),
    [
        ({}, {}, 1.0),
        ({"/a": 0.4, "/b": 0.8}, {}, 0.6),
        ({"/a": 0.9, "/rows/0/x": 0.2, "/rows/1/x": 0.6}, {"/rows": 0.5}, (0.9 + 0.5 * 0.4) / 2),
        ({"/a": 0.9}, {"/rows": 0.3}, 0.6),
        # A list in a list is its outermost one's.
        ({"/rows/0/x": 0.6, "/rows/0/in/0": 0.8}, {"/rows": 1.0, "/rows/0/in": 0.1}, 0.7),
        # A name may begin with that of a list.
        ({"/rows_told": 0.5, "/rows/0": 1.0}, {"/rows": 1.0}, 0.75),
    ],
)
def test_a_list_counts_once_however_long_it_is(
    values: Mapping[str, float], lists: Mapping[str, float], right: float
) -> None:
    assert likely_right(values, lists) == pytest.approx(right)


def read(doubts: Mapping[str, float], missing: bool = False) -> MergedRecord:
    chances = dict.fromkeys(("/name", "/lines/0/what", "/lines/0/price", "/lines/1/what", "/lines/1/price"), 0.95)
    leaves = {at: Leaf('"x"', sure, missing=missing and at == "/name") for at, sure in (chances | doubts).items()}
    record = {"name": "Ada", "day": None, "lines": LINES}
    filled = Filled("d", record, leaves, {f"/lines/{at}": (at, 0.95) for at in (0, 1)}, 1, 0, {"/lines": 0.95})
    return MergedRecord(parse(b"name=Eve\n", "page.txt"), filled)


@pytest.mark.parametrize(
    ("changed", "asked"),
    [
        ({}, False),
        ({"doubts": {"/name": 0.5}}, False),
        ({"doubts": {"/name": 0.1}}, True),
        ({"missing": True}, True),
        ({"refused": True}, True),
    ],
    ids=["sure", "half sure of one", "much is likely wrong", "a demanded value is missing", "a check fails"],
)
def test_a_document_is_asked_for_as_a_whole_where_that_pays(changed: dict[str, Any], asked: bool) -> None:
    tier = Tier(lambda: Engine(ReadingModel()), 0.6, prefer_confident=True)
    refused = changed.pop("refused", False)
    one = replace(read(changed.get("doubts", {}), changed.get("missing", False)), refused=refused)
    _, counts = escalate([one], form_of(NOTE), tier)
    assert counts.documents == asked


def test_the_faster_a_machine_is_the_more_documents_are_asked() -> None:
    chosen = [best_setting(14.5 / cores) for cores in (0.1, 1, 2, 4, 8, 16)]
    assert chosen == sorted(chosen) and chosen[0] == 0.0 and chosen[-1] == 1.0 and 0.5 <= chosen[1] <= 0.6
    shares = [share_asked(at / 20) for at in range(21)]
    assert shares == sorted(shares) and [share_asked(one.below) for one in SETTINGS] == [one.share for one in SETTINGS]
