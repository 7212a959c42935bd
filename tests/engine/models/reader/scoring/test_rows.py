"""Row search: the places where items begin, and the items that lie within others."""

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.scoring.rows import (
    Beginning,
    doubtful_beginnings,
    fields_within,
    nest_rows,
    sure_beginnings,
)
from cinnabar.schemas import compile_schema


def sure(places: list[Beginning]) -> list[Beginning]:
    return sure_beginnings(places, DEFAULT_PRIORS.rows)


def doubtful(places: list[Beginning], fields: int = 1, pieces: int = 0) -> list[Beginning]:
    return doubtful_beginnings(places, fields, pieces, DEFAULT_PRIORS)


def test_all_clear_beginnings_are_taken() -> None:
    assert sure([(30, 0.9), (10, 0.8), (20, 0.95)]) == [(10, 0.8), (20, 0.95), (30, 0.9)]


def test_improbable_places_are_no_items_beside_clear_ones() -> None:
    unlikely = [(i * 5, 0.15) for i in range(1000)]
    assert sure([*unlikely, (7000, 0.3)]) == [(7000, 0.3)]


def test_only_the_likeliest_doubtful_places_are_taken() -> None:
    assert doubtful([(10, 0.1), (20, 0.04), (40, 0.02)]) == [(10, 0.1), (20, 0.04)]
    assert doubtful([(10, 0.19), (20, 0.05)]) == [(10, 0.19)]
    assert len(doubtful([(i * 5, 0.05) for i in range(1000)])) == DEFAULT_PRIORS.doubtful_rows.most
    assert doubtful([(10, 0.02)]) == doubtful([]) == []


def test_doubtful_places_as_near_as_one_items_fields_begin_one_item() -> None:
    places = [(10, 0.1), (60, 0.09), (400, 0.08)]
    assert doubtful(places, fields=9, pieces=1000) == [(10, 0.1), (400, 0.08)]
    assert doubtful(places, fields=2, pieces=1000) == places
    assert doubtful([(10, 0.1), (30, 0.09)], fields=9, pieces=120) == [(10, 0.1), (30, 0.09)]
    clear = [(place, chance * 5) for place, chance in places]
    assert sure(clear) == clear


def test_the_fields_of_an_item_are_counted_with_those_of_lists_within_it() -> None:
    tags = {"type": "array", "items": {"type": "string"}}
    item = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}, "tags": tags}}
    lists = {"people": {"type": "array", "items": item}, "notes": tags}
    form = compile_schema({"type": "object", "properties": {"title": {"type": "string"}, **lists}}).form
    counted = fields_within(form)
    assert {a.path: counted[a.index] for a in form.arrays} == {"/people": 3, "/people/*/tags": 1, "/notes": 1}


def test_neighbouring_places_begin_one_item() -> None:
    assert sure([(10, 0.9), (11, 0.8)]) == [(10, 0.9)]


def test_an_inner_item_lies_in_the_last_outer_one_before_it() -> None:
    inner = {"type": "array", "items": {"type": "string"}}
    item = {"type": "object", "properties": {"name": {"type": "string"}, "tags": inner}}
    schema = {"type": "object", "properties": {"people": {"type": "array", "items": item}}}
    form = compile_schema(schema).form
    outer = next(a.index for a in form.arrays if a.path == "/people")
    places = [[], []]
    places[outer] = [(10, 0.9), (50, 0.9)]
    places[1 - outer] = [(5, 0.9), (20, 0.9), (60, 0.9)]
    rows = nest_rows(form, places)
    assert [(r.array == outer, r.parent, r.anchor) for r in rows] == [
        (True, -1, 10),
        (True, -1, 50),
        (False, 0, 20),
        (False, 1, 60),
    ]
