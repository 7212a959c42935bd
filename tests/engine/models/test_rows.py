"""Places that begin items, and the items that lie in others."""

from cinnabar.engine.models.default.rows import chosen_places, nested
from cinnabar.schemas import compile_schema


def test_clear_beginnings_are_all_taken() -> None:
    assert chosen_places([(30, 0.9), (10, 0.8), (20, 0.95)]) == [(10, 0.8), (20, 0.95), (30, 0.9)]


def test_many_places_of_little_probability_are_no_items() -> None:
    assert chosen_places([(i * 5, 0.05) for i in range(1000)]) == []


def test_neighbouring_places_begin_one_item() -> None:
    assert chosen_places([(10, 0.9), (11, 0.8)]) == [(10, 0.9)]


def test_an_inner_item_lies_in_the_last_outer_one_before_it() -> None:
    inner = {"type": "array", "items": {"type": "string"}}
    item = {"type": "object", "properties": {"name": {"type": "string"}, "tags": inner}}
    schema = {"type": "object", "properties": {"people": {"type": "array", "items": item}}}
    form = compile_schema(schema).form
    outer = next(a.index for a in form.arrays if a.path == "/people")
    places = [[], []]
    places[outer] = [(10, 0.9), (50, 0.9)]
    places[1 - outer] = [(5, 0.9), (20, 0.9), (60, 0.9)]
    rows = nested(form, places)
    assert [(r.array == outer, r.parent, r.anchor) for r in rows] == [
        (True, -1, 10),
        (True, -1, 50),
        (False, 0, 20),
        (False, 1, 60),
    ]
