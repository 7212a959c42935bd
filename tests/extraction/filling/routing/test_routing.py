"""The choice among schemas: what is told before a run, the probabilities, and labelled documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cinnabar.engine.version import VERSIONS
from cinnabar.errors import ModelError, SchemaError, UsageError
from cinnabar.extraction.filling.routing import likeness
from cinnabar.extraction.filling.routing.examples import EXAMPLES_FILE, load_examples, save_examples
from cinnabar.extraction.filling.routing.likeness import (
    PageVectors,
    RoutingFit,
    differs_from_kinds,
    example_features,
    kind_of,
    log_odds,
    probabilities,
    routing_fit,
    words_of_heading,
)
from cinnabar.extraction.filling.routing.router import Router
from cinnabar.extraction.filling.routing.routing import Route, Routing, routing_of
from cinnabar.extraction.filling.routing.vectors import page_vectors
from cinnabar.schemas import load_schema


def source(title: str = "bill", description: Any = "A bill for goods.") -> Any:
    schema = {"title": title, "type": "object", "properties": {"netTotal": {"type": "number", "multipleOf": 0.01}}}
    return load_schema(schema | ({} if description is None else {"description": description}))


def test_one_schema_without_a_probability_needs_no_routing() -> None:
    assert routing_of([source()], None, "default") is None


@pytest.mark.parametrize("other", ["bill", "Bill", "bill!"])
def test_two_schemas_of_one_table_are_told_with_the_place_of_the_name(other: str) -> None:
    with pytest.raises(UsageError, match=r"'bill' and '.*would share a table.*/title"):
        Routing((source(), source(other, "Another bill.")))


@pytest.mark.parametrize("description", [None, "", "  "])
def test_a_schema_without_a_description_is_told_with_its_pointer(description: Any) -> None:
    with pytest.raises(SchemaError, match=r"^note: expected .* at /description"):
        Routing((source(), source("note", description)))
    with pytest.raises(SchemaError, match="/description"):
        routing_of([load_schema(True)], 0.5, "default")


@pytest.mark.parametrize("least", [-0.1, 1.5, float("nan")])
def test_a_probability_out_of_range_is_told(least: float) -> None:
    with pytest.raises(UsageError, match=r"--related: expected 0 to 1, got"):
        Routing((source(),), least)


def test_the_fingerprint_ignores_the_order_of_schemas_and_nothing_else() -> None:
    one, two = source(), source("note")
    whole = Routing((one, two))
    assert whole.fingerprint == Routing((two, one)).fingerprint
    vectors = {one.fingerprint: np.eye(4, 384, dtype=np.float32)}
    others = [
        Routing((one,)),
        Routing((one, two), 0.5),
        Routing((one, source("note", "A note on a fridge."))),
        Routing((one, two), examples=vectors),
    ]
    assert len({whole.fingerprint, *(other.fingerprint for other in others)}) == 5
    # Documents done elsewhere, and examples of other schemas, change no choice.
    assert replace(whole, done={"bill": frozenset("x")}).fingerprint == whole.fingerprint
    assert replace(whole, examples={"other": vectors[one.fingerprint]}).fingerprint == whole.fingerprint


def test_a_kind_is_its_description_and_the_names_of_its_fields_as_words() -> None:
    kind = kind_of(source(description="  A bill for goods. "))
    assert (kind.heading, kind.labels) == ("bill: A bill for goods.", ("net total",))
    assert words_of_heading(kind) == ["bill", "goods"]


def test_probabilities_leave_a_rest_for_no_kind() -> None:
    assert probabilities(np.zeros(1, np.float32)).tolist() == [0.5]
    found = probabilities(np.array([90.0, -90.0], np.float32))
    assert found.tolist() == pytest.approx([1.0, 0.0])
    assert probabilities(np.array([-95.0, -200.0], np.float32)).sum() == pytest.approx(0.0)


def test_only_common_kinds_that_differ_from_a_kind_speak_against_it() -> None:
    fitted = RoutingFit(np.ones(6, np.float32), 0.0, 1.0, np.zeros(3, np.float32), 0.0)
    common = np.stack([np.full(6, value, np.float32) for value in (0.9, 0.4, 0.3, 0.2)])
    own = np.full((1, 6), 0.8, np.float32)
    alike = np.array([[0.8, 0.1, 0.2, 0.3]], np.float32)
    # The first common kind is this one in other words; against it the document would be of another kind.
    assert log_odds(own, common, alike, 99, fitted)[0] > 0 > log_odds(own, common, 0 * alike, 99, fitted)[0]
    assert differs_from_kinds(np.full((1, 4), 0.9, np.float32)).all()  # no common kind differs: all of them count


def test_the_data_of_the_comparison_is_part_of_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = likeness._fingerprint()
    assert routing_fit().fingerprint == before
    other = tmp_path / "fit.json"
    other.write_bytes(likeness.FITTED.read_bytes() + b" ")
    monkeypatch.setattr(likeness, "FITTED", other)
    assert likeness._fingerprint() != before


def test_the_version_of_the_comparison_is_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = likeness._fingerprint()
    monkeypatch.setitem(VERSIONS, "routing", VERSIONS["routing"] + 1)
    assert likeness._fingerprint() != before


def test_few_words_speak_for_no_kind_and_many_for_none_less() -> None:
    fitted = RoutingFit(np.ones(6, np.float32), 0.0, 1.0, np.zeros(3, np.float32), 0.0, short=1.5)
    common, own = np.full((2, 6), 0.2, np.float32), np.full((1, 6), 0.3, np.float32)
    alike = np.zeros((1, 2), np.float32)
    odds = [float(log_odds(own, common, alike, words, fitted)[0]) for words in (0, 5, 12, 24, 500)]
    assert odds[0] < odds[1] < odds[2] < odds[3] == odds[4]
    assert page_vectors("a line of five words").words == 5
    assert routing_fit().short > 0


def test_a_line_of_a_log_is_no_recipe_and_a_short_recipe_is_one() -> None:
    recipe = load_schema(
        {
            "title": "recipe",
            "description": "A cooking recipe with its ingredients.",
            "type": "object",
            "properties": {name: {"type": ["string", "null"]} for name in ("dish", "ingredients", "servings")},
        }
    )
    router = Router(Routing((recipe,), 0.5))
    log = "2024-05-01 10:00:01 sshd[311]: Accepted publickey for root from 10.0.0.4 port 5122"
    assert router.route_page(page_vectors(log)).schema is None
    cake = "Lemon cake. Servings: 8. Ingredients: 200 g flour, 150 g sugar, 3 eggs, one lemon. Bake for 40 minutes."
    assert router.route_page(page_vectors(cake)).schema == "recipe"


def test_examples_of_a_kind_raise_what_is_like_them_and_lower_what_is_not() -> None:
    rng = np.random.default_rng(0)
    centre = rng.normal(size=384)
    rows = np.stack([centre + 0.3 * rng.normal(size=384) for _ in range(6)]).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    blank = np.zeros((1, 64), np.float32)
    like, own = example_features(PageVectors(rows[:1], blank, blank, 99), rows[1:])
    assert like > 0.8 and abs(own) < 0.1
    unlike, below = example_features(PageVectors(rng.normal(size=(1, 384)).astype(np.float32), blank, blank, 99), rows)
    assert unlike < 0.3 and below < -0.5


def test_a_route_says_how_probable_each_schema_is() -> None:
    route = Route(None, {"bill": 0.1, "letter": 0.25})
    assert str(route) == "letter 0.25, bill 0.10, another kind 0.65"
    assert (route.nearest, route.none) == ("letter", pytest.approx(0.65))


def test_examples_of_a_model_come_back_and_a_broken_file_is_told(tmp_path: Path) -> None:
    rows = np.eye(5, 384, dtype=np.float32)
    save_examples(tmp_path, {"many": rows, "few": rows[:2]})
    found = load_examples(tmp_path)
    assert found.keys() == {"many"} and np.array_equal(found["many"], rows)
    assert not load_examples(tmp_path / "nowhere")
    (tmp_path / EXAMPLES_FILE).write_bytes(b"x")
    with pytest.raises(ModelError, match="expected the vectors"):
        load_examples(tmp_path)
