"""The signs that a list is complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.tiny_network import form_of, passage_of
from training.calibration_data import chance_of

from cinnabar.engine.models.reader.confidence_features import ConfidenceFeatures, list_features, log_odds
from cinnabar.engine.request import Filled, Leaf, RefusedRow

ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
FORM = form_of(lines={"type": "array", "items": ITEM})
WHOLE = {"record": 1.0, "there": 2.0, "length": 6.0}


def signs(text: str, rows: Sequence[tuple[str, str]], refused: Sequence[tuple[str, float]] = ()) -> ConfidenceFeatures:
    """The signs of a list whose rows are a name and a price, each row at the line that holds its name."""
    leaves, anchors, items = dict[str, Leaf](), dict[str, tuple[int, float]](), list[dict[str, Any]]()
    for at, (name, price) in enumerate(rows):
        start = text.index(name)
        number = text.index(price, start)
        anchors[f"/lines/{at}"] = text.rindex("\n", 0, start) + 1, 0.9
        leaves[f"/lines/{at}/name"] = Leaf(json.dumps(name), 0.8, ((start, start + len(name)),), slot=0)
        leaves[f"/lines/{at}/price"] = Leaf(price, 0.8, ((number, number + len(price)),), slot=1)
        items.append({"name": name, "price": float(price)})
    filled = Filled("x", {"lines": items}, leaves, anchors, 1, 0)
    places = tuple(RefusedRow(0, text.index(word), chance) for word, chance in refused)
    return list_features(FORM, passage_of(text), replace(filled, refused=places), WHOLE)["/lines"]


BILL = "\n1. Apples 10.50\n2. Brushes 20.25\n3. Candles 30.26\nSum 61.01\n"
ALL = [("Apples", "10.50"), ("Brushes", "20.25"), ("Candles", "30.26")]


def test_a_line_like_the_rows_that_begins_no_row_tells_of_a_gap() -> None:
    assert signs(BILL, ALL)["alike_share"] == 0
    assert signs(BILL, [ALL[0], ALL[2]])["alike_share"] == pytest.approx(1 / 3)


def test_a_numbering_tells_of_missing_rows_within_and_behind_the_list() -> None:
    assert signs(BILL, ALL)["numbering"] == 1
    assert signs(BILL, [ALL[0], ALL[2]])["numbering"] == -1
    assert signs(BILL, ALL[:2])["numbering"] == -1
    assert signs(BILL, ALL[1:])["numbering"] == -1
    assert signs("\nApples 10.50\nBrushes 20.25\n", ALL[:2])["numbering"] == 0


def test_a_column_that_adds_up_to_a_printed_number_speaks_for_the_list() -> None:
    assert signs(BILL, ALL)["sums"] == 1
    assert signs(BILL, ALL[:2])["sums"] == -1
    assert signs(BILL, ALL[:1])["sums"] == 0


def test_a_separator_behind_the_last_item_tells_that_the_list_goes_on() -> None:
    assert signs("\nApples 10.50, Brushes 20.25", ALL[:1])["continues"] == 1
    assert signs("\nApples 10.50. Brushes 20.25", ALL[:1])["continues"] == 0
    assert signs("\nApples 10.50", ALL[:1])["continues"] == 0


def test_a_refused_place_lowers_the_models_own_probability() -> None:
    alone, doubted = signs(BILL, ALL), signs(BILL, ALL, [("Sum", 0.15)])
    assert chance_of(alone) == pytest.approx(0.9**3)
    assert chance_of(doubted) == pytest.approx(0.9**3 * 0.85)
    assert doubted["next"] > alone["next"]


def test_an_empty_list_has_signs_of_its_own() -> None:
    empty = signs(BILL, [], [("Apples", 0.19)])
    assert (empty["empty"], empty["rows"]) == (1, 0)
    assert chance_of(empty) == pytest.approx(0.81)
    assert {name: empty[name] for name in WHOLE} == WHOLE


def test_refused_places_count_for_the_inner_list_around_them() -> None:
    form = form_of(
        boxes={
            "type": "array",
            "items": {"type": "object", "properties": {"notes": {"type": "array", "items": {"type": "string"}}}},
        }
    )
    record = {"boxes": [{"notes": []}, {"notes": []}]}
    rows = {"/boxes/0": (0, 0.9), "/boxes/1": (10, 0.9)}
    filled = Filled("x", record, {}, rows, 1, 0, refused=(RefusedRow(1, 12, 0.15),))
    found = list_features(form, passage_of("first box\nsecond box"), filled, WHOLE)
    assert list(found) == ["/boxes", "/boxes/0/notes", "/boxes/1/notes"]
    assert chance_of(found["/boxes/0/notes"]) == 1
    assert chance_of(found["/boxes/1/notes"]) == pytest.approx(0.85)


def test_a_list_with_known_rows_is_not_judged() -> None:
    leaves = {"/lines/0/name": Leaf('"a"', 1.0, origin="known", slot=0)}
    filled = Filled("x", {"lines": [{"name": "a"}]}, leaves, {"/lines/0": (0, 1.0)}, 1, 0)
    assert list_features(FORM, passage_of("a"), filled, WHOLE) == {}


def test_what_the_text_says_of_the_length_is_a_sign() -> None:
    counted = BILL.replace("Sum", "Lines: 3\nSum")
    assert signs(counted, ALL)["counts"] > 0 and signs(counted, ALL)["miscounted"] == 0
    assert signs(counted, ALL[:2])["counts"] == 0 and signs(counted, ALL[:2])["miscounted"] == 1


def test_a_field_that_is_doubtful_in_all_rows_is_a_sign_and_a_row_around_an_inner_list() -> None:
    found = signs(BILL, ALL)
    assert found["field_least"] == pytest.approx(log_odds(0.8))
    assert (found["inner"], found["around"]) == (0, 0)
