"""The form without its frozen places, and its answers joined with the frozen values."""

from __future__ import annotations

from typing import Any

from tests.support.remote_forms import form_of, request

from cinnabar.engine.asking.prompt import outline
from cinnabar.engine.language.remaining_form import Remaining
from cinnabar.engine.request import Request
from cinnabar.schemas.form.fitting import fit

LINE = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "price": {"type": "number"}},
    "required": ["what", "price"],
}
NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "seller": {
            "type": ["object", "null"],
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
        },
        "kind": {"oneOf": [{"type": "string"}, LINE]},
        "lines": {"type": "array", "maxItems": 3, "items": LINE},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "lines"],
}


def remaining(known: dict[str, str | None], counted: frozenset[int] = frozenset()) -> Remaining:
    asked = request(form_of(NOTE), "text", known)
    return Remaining(Request("r", asked.form, asked.passage, known, counted))


def told(part: Remaining) -> list[str]:
    assert part.form is not None
    return outline(part.form).split("\n")


def test_a_form_without_frozen_values_remains_itself() -> None:
    form = form_of(NOTE)
    part = Remaining(request(form, "text"))
    assert part.form is form
    assert part.add_frozen({"name": "x"}) == {"name": "x"}


def test_frozen_places_are_not_asked_and_come_back_in_their_places() -> None:
    part = remaining({"/name": '"Ada"', "/kind": None, "/seller/zip": '"08"', "/tags/0": '"t"'})
    assert told(part) == [
        "seller: object",
        "  city: string",
        "lines: list of",
        "  what: string",
        "  price: number",
    ]
    record = part.add_frozen({"seller": {"city": "Ulm"}, "lines": []})
    assert record == {"name": "Ada", "seller": {"city": "Ulm", "zip": "08"}, "lines": [], "tags": ["t"]}


def test_an_object_with_a_frozen_value_may_be_neither_null_nor_left_out() -> None:
    part = remaining({"/seller/zip": '"08"'})
    assert "seller: object" in told(part)
    absent = remaining({"/seller/zip": None})
    assert "seller: object or null, optional" in told(absent)
    assert absent.add_frozen({"name": "x", "seller": None, "lines": []})["seller"] is None


def test_a_list_with_frozen_items_asks_for_the_rest_of_each_and_for_no_more() -> None:
    known: dict[str, str | None] = {"/lines/0/what": '"pears"', "/lines/1/what": '"figs"'}
    part = remaining(known)
    assert part.form is not None
    (lines,) = [place.node for place in part.form.root.properties if place.name == "lines"]  # type: ignore[union-attr]
    assert (lines.min_items, lines.max_items) == (2, 2)  # type: ignore[union-attr]
    asked = {"name": "x", "lines": [{"price": 1}, {"price": 2}, {"price": 3}]}
    rows = [{"what": "pears", "price": 1}, {"what": "figs", "price": 2}]
    assert part.add_frozen(asked)["lines"] == rows


def test_items_with_nothing_to_ask_keep_their_index() -> None:
    part = remaining({"/lines/0/what": '"pears"', "/lines/0/price": "1", "/lines/1/what": '"figs"'})
    joined = part.add_frozen({"name": "x", "lines": [{}, {"price": 2}]})
    assert joined["lines"] == [{"what": "pears", "price": 1}, {"what": "figs", "price": 2}]


def test_counted_lists_without_frozen_items_are_not_asked() -> None:
    form = form_of(NOTE)
    tags = next(array.index for array in form.arrays if array.path == "/tags")
    assert not any(line.startswith("tags") for line in told(remaining({}, frozenset({tags}))))


def test_a_demanded_place_that_nobody_asks_for_has_its_smallest_value() -> None:
    form = form_of(NOTE)
    lines = next(array.index for array in form.arrays if array.path == "/lines")
    part = remaining({"/name": '"x"'}, frozenset({lines}))
    assert part.add_frozen({"tags": []}) == {"name": "x", "lines": [], "tags": []}
    seller = {"type": "object", "properties": {"city": {"type": "string"}}}
    inner = form_of({"type": "object", "properties": {"seller": seller}, "required": ["seller"]})
    assert Remaining(request(inner, "text", {"/seller/city": None})).add_frozen(None) == {"seller": {}}


def test_the_frozen_branch_of_a_choice_comes_back() -> None:
    part = remaining({"/kind/what": '"x"', "/kind/price": "2"})
    assert part.add_frozen({"name": "n", "lines": []})["kind"] == {"what": "x", "price": 2}
    assert not any(line.startswith("kind") for line in told(part))


def test_nothing_remains_of_a_form_whose_values_are_all_frozen() -> None:
    form = form_of({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    part = Remaining(request(form, "text", {"/a": '"x"'}))
    assert part.form is None and part.add_frozen(None) == {"a": "x"}
    assert fit(form, part.add_frozen(None)) == '{"a":"x"}'


def test_what_is_asked_elsewhere_is_not_asked_and_has_its_smallest_value_if_it_is_demanded() -> None:
    asked = request(form_of(NOTE), "text", {"/tags/0": '"t"'})
    elsewhere = frozenset({"/name", "/seller/city", "/kind", "/lines", "/tags"})
    part = Remaining(Request("r", asked.form, asked.passage, asked.known, elsewhere=elsewhere))
    # What is known stays known.
    assert told(part) == ["seller: object or null, optional", "  zip: string, optional"]
    assert part.add_frozen({"seller": {"zip": "1"}}) == {
        "name": "", "seller": {"city": "", "zip": "1"}, "lines": [], "tags": ["t"],
    }  # fmt: skip
    assert part.add_frozen({"seller": None}) == {"name": "", "seller": None, "lines": [], "tags": ["t"]}
