"""Merging: the records of a document's chunks become the record of the document."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples, first
from tests.support.random_model import RandomModel, request
from tests.support.random_schemas import random_schema
from tests.support.reading_model import ReadingModel

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.request import Filled, Leaf, Request
from cinnabar.extraction.documents.chunking import Chunk, chunks
from cinnabar.extraction.documents.content.document import Document, Part, Words
from cinnabar.extraction.filling.merge.merging import _write, merge
from cinnabar.extraction.filling.merge.repeats import part_of, prefer_confident
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import json_text

TEXT = {"type": ["string", "null"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "title": TEXT,
        "total": {"type": "number"},
        "orders": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": TEXT,
                    "price": {"type": ["number", "null"]},
                    "parts": {"type": "array", "items": {"type": "object", "properties": {"code": TEXT}}},
                },
                "required": ["id", "price", "parts"],
            },
        },
    },
    "required": ["title", "total", "orders"],
}
FORM = compile_schema(SCHEMA).form


def document(text: str) -> Document:
    none = np.zeros(0, np.int32)
    words = Words(none, none, np.zeros((0, 4), np.float32), none)
    return Document("d", "d.txt", "text/plain", len(text), text, (Part("body", 0, len(text)),), words)


def fill(text: str, pieces: Sequence[Chunk], form: object = FORM) -> list[Filled]:
    whole = document(text)
    requests = [Request(str(i), form, passage_of(whole, c.start, c.end)) for i, c in enumerate(pieces)]  # type: ignore[arg-type]
    results = Engine(ReadingModel()).fill(requests)
    assert all(isinstance(result, Filled) for result in results), results
    return results  # type: ignore[return-value]


def listing(sizes: Sequence[int]) -> str:
    """A text of orders, each with this many parts."""
    lines = ["title=Orders of the week"]
    for number, size in enumerate(sizes):
        lines.append(f"- id=N{number} price={number}.5")
        lines += [f"  * code=C{number}-{part}" for part in range(size)]
    return "\n".join([*lines, "total=17.25", ""])


@examples(40)
@given(st.lists(st.integers(0, 4), min_size=40, max_size=70), st.integers(64, 120))
def test_a_list_that_is_cut_anywhere_comes_out_whole_once_in_order(sizes: list[int], limit: int) -> None:
    text = listing(sizes)
    pieces = chunks(document(text), limit, 16, ReadingModel().count_tokens)
    merged = merge(FORM, pieces, fill(text, pieces))
    (whole,) = fill(text, [Chunk(0, len(text))])
    assert len(pieces) > 1
    assert merged.record == whole.record
    assert list(merged.leaves) == list(whole.leaves)
    assert {p: leaf.spans for p, leaf in merged.leaves.items()} == {
        p: leaf.spans for p, leaf in whole.leaves.items()
    }
    assert merged.rows == whole.rows


@given(st.lists(st.integers(0, 4), max_size=8), st.booleans())
@examples(20)
def test_a_record_taken_apart_and_rewritten_stays_the_same(sizes: list[int], total: bool) -> None:
    text = listing(sizes) if total else listing(sizes).replace("total=", "sum=")
    (filled,) = fill(text, [Chunk(0, len(text))])
    leaves, rows, _, value = _write(FORM, part_of(FORM, filled))
    assert json_text(value) == filled.record
    assert rows == filled.rows
    assert {p: (leaf.text, leaf.spans, leaf.missing) for p, leaf in leaves.items()} == {
        p: (leaf.text, leaf.spans, leaf.missing) for p, leaf in filled.leaves.items()
    }


def test_one_chunk_is_its_own_record() -> None:
    text = listing([1, 2])
    (filled,) = fill(text, [Chunk(0, len(text))])
    assert merge(FORM, [Chunk(0, len(text))], [filled]) is filled


PAIR = compile_schema(
    {
        "type": "object",
        "properties": {"a": TEXT, "b": {"type": "string"}},
        "required": ["b"],
    }
).form


def pair(a: Leaf, b: Leaf) -> Filled:
    members = {name: json.loads(leaf.text) for name, leaf in (("a", a), ("b", b)) if leaf.text is not None}
    return Filled("0", members, {"/a": a, "/b": b}, {}, 2, 1)


ABSENT = Leaf("null", 0.97, origin="absent")
GUESS = Leaf('"?"', 0.05, missing=True)
TWO = [Chunk(0, 10), Chunk(8, 20)]


def test_a_found_value_counts_for_more_than_absence_in_another_chunk() -> None:
    found = Leaf('"x"', 0.6, ((12, 13),))
    merged = merge(PAIR, TWO, [pair(ABSENT, GUESS), pair(found, GUESS)])
    assert json.loads(merged.record) == {"a": "x", "b": "?"}
    assert merged.leaves["/a"].spans == ((12, 13),)


def test_a_default_gives_way_to_a_value_found_in_another_chunk() -> None:
    default, found = Leaf('"unknown"', 0.99, origin="default"), Leaf('"x"', 0.6, ((12, 13),))
    for two in ([default, found], [found, default]):
        assert merge(PAIR, TWO, [pair(one, GUESS) for one in two]).leaves["/a"].text == '"x"'
    doubt = replace(default, confidence=0.7)
    leaf = merge(PAIR, TWO, [pair(default, GUESS), pair(doubt, GUESS)]).leaves["/a"]
    assert (leaf.text, leaf.origin, leaf.confidence) == ('"unknown"', "default", 0.7)


def test_the_surer_of_two_values_is_kept_and_the_first_of_equals() -> None:
    one, other = Leaf('"one"', 0.7, ((1, 2),)), Leaf('"other"', 0.8, ((12, 13),))
    assert merge(PAIR, TWO, [pair(one, GUESS), pair(other, GUESS)]).leaves["/a"].text == '"other"'
    equal = Leaf('"other"', 0.7, ((12, 13),))
    assert merge(PAIR, TWO, [pair(one, GUESS), pair(equal, GUESS)]).leaves["/a"].text == '"one"'


def test_the_value_less_likely_to_be_absent_counts_as_surer() -> None:
    wavering = Leaf('"one"', 0.48, ((1, 2),), absence=0.02)
    faint = Leaf('"other"', 0.55, ((12, 13),), absence=0.45)
    merged = merge(PAIR, TWO, [pair(faint, GUESS), pair(wavering, GUESS)])
    assert (merged.leaves["/a"].text, merged.leaves["/a"].absence) == ('"one"', 0.02)


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        (("false", 0.9), ("true", 0.6), 1),
        (("true", 0.6), ("false", 0.9), 0),
        (("true", 0.6), ("true", 0.8), 1),
        (("false", 0.9), ("false", 0.7), 1),
        (("false", 0.7), ("false", 0.7), 0),
    ],
)
def test_one_yes_makes_a_yes_and_a_no_has_its_lowest_confidence(
    before: tuple[str, float], after: tuple[str, float], stands: int
) -> None:
    leaves = [Leaf(text, sure, origin="chosen") for text, sure in (before, after)]
    assert prefer_confident(*leaves) is leaves[stands]


def test_a_chosen_branch_is_as_sure_as_its_own_values() -> None:
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": kind}, name: {"type": "string"}},
            "required": ["kind", name],
            "additionalProperties": False,
        }
        for kind, name in (("person", "name"), ("firm", "seat"))
    ]
    properties = {"party": {"anyOf": branches}, "partyNote": TEXT}
    form = compile_schema(
        {"type": "object", "properties": properties, "required": ["party"], "additionalProperties": False}
    ).form

    def seen(kind: str, name: str, sure: float, note: Leaf) -> Filled:
        party = {"kind": kind, name: "x"}
        record = {"party": party} | ({"partyNote": "n"} if note.text != "null" else {})
        leaves = {f"/party/{name}": Leaf('"x"', sure, ((12, 13),)), "/partyNote": note}
        return Filled("0", record, leaves, {}, 1, 0)

    one = seen("person", "name", 0.3, Leaf('"n"', 0.99, ((1, 2),)))
    other = seen("firm", "seat", 0.8, ABSENT)
    assert json.loads(merge(form, TWO, [one, other]).record)["party"] == {"kind": "firm", "seat": "x"}


def test_thousands_of_rows_with_a_choice_each_are_taken_apart_quickly() -> None:
    def branch(kind: str, name: str) -> dict[str, Any]:
        properties = {"kind": {"const": kind}, name: {"type": "string"}}
        return {"type": "object", "properties": properties, "required": ["kind", name]}

    item = {"anyOf": [branch("person", "name"), branch("firm", "seat")]}
    form = compile_schema({"type": "array", "items": item}).form

    def seconds(count: int) -> float:
        record = [{"kind": "firm", "seat": "x"}] * count
        leaves = {f"/{at}/seat": Leaf('"x"', 0.8, ((at, at + 1),)) for at in range(count)}
        rows = {f"/{at}": (at, 0.9) for at in range(count)}
        begin = time.process_time()
        (found,) = part_of(form, Filled("0", record, leaves, rows, 1, 0)).rows.values()
        spent = time.process_time() - begin
        assert len(found) == count and all(len(row.part.leaves) == 2 for row in found[::500])
        return spent

    _, few, many = seconds(10), seconds(500), seconds(5000)
    # Ten times the rows; a hundred times as long if each choice visited all leaves.
    assert many < 40 * few


def test_absence_from_all_chunks_has_its_lowest_confidence() -> None:
    doubt = Leaf("null", 0.6, origin="absent")
    merged = merge(PAIR, TWO, [pair(ABSENT, GUESS), pair(doubt, GUESS)])
    assert (merged.leaves["/a"].text, merged.leaves["/a"].confidence) == ("null", 0.6)


def test_a_demanded_value_is_missing_only_where_no_chunk_found_it() -> None:
    found = Leaf('"there"', 0.4, ((12, 17),))
    sure_guess = Leaf('"?"', 0.45, missing=True)
    both = merge(PAIR, TWO, [pair(ABSENT, sure_guess), pair(ABSENT, found)])
    assert both.leaves["/b"] == replace(found, posterior=0.4, slot=1)
    better = Leaf('"maybe"', 0.2, missing=True)
    none = merge(PAIR, TWO, [pair(ABSENT, GUESS), pair(ABSENT, better)])
    assert (none.leaves["/b"].text, none.leaves["/b"].missing) == ('"maybe"', True)


def test_a_copy_gives_only_what_the_exact_data_lack() -> None:
    pieces = [Chunk(0, 10, copy=True), Chunk(12, 40)]
    printed, exact = Leaf('"p"', 0.99, ((1, 2),)), Leaf('"e"', 0.6, ((13, 14),))
    merged = merge(PAIR, pieces, [pair(printed, printed), pair(exact, GUESS)])
    assert json.loads(merged.record) == {"a": "e", "b": "p"}
    texts = [listing([1]), listing([2, 1])]
    whole = "".join(texts)
    cut = len(texts[0])
    first, second = Chunk(0, cut, copy=True), Chunk(cut, len(whole))
    merged = merge(FORM, [first, second], fill(whole, [first, second]))
    assert len(json.loads(merged.record)["orders"]) == 2
    empty = f"{texts[0]} "
    first, second = Chunk(0, cut, copy=True), Chunk(cut, len(empty))
    merged = merge(FORM, [first, second], fill(empty, [first, second]))
    assert len(json.loads(merged.record)["orders"]) == 1


def test_steps_and_reopenings_count_those_of_all_chunks() -> None:
    merged = merge(PAIR, TWO, [pair(ABSENT, GUESS), pair(ABSENT, GUESS)])
    assert (merged.steps, merged.reopened) == (2, 2)


FILLED_UP = compile_schema(
    {
        "type": "object",
        "properties": {
            "tags": {
                "type": "array",
                "minItems": 2,
                "maxItems": 3,
                "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            }
        },
        "required": ["tags"],
    }
).form


def test_filler_rows_give_way_to_real_rows() -> None:
    text = "- id=A\n" + "some words\n" * 3 + "- id=B\n"
    middle = text.index("some")
    pieces = [Chunk(0, middle), Chunk(middle, len(text))]
    filled = fill(text, pieces, FILLED_UP)
    assert all(len(json.loads(result.record)["tags"]) == 2 for result in filled)
    merged = merge(FILLED_UP, pieces, filled)
    assert json.loads(merged.record) == {"tags": [{"id": "A"}, {"id": "B"}]}
    assert not any(leaf.missing for leaf in merged.leaves.values())


def test_filler_rows_stay_where_rows_are_too_few() -> None:
    pieces = [Chunk(0, 7), Chunk(7, 17)]
    merged = merge(FILLED_UP, pieces, fill("- id=A\nsome words", pieces, FILLED_UP))
    assert json.loads(merged.record)["tags"][0] == {"id": "A"}
    assert [leaf.missing for leaf in merged.leaves.values()] == [False, True]


def test_no_more_rows_than_the_schema_allows() -> None:
    text = "".join(f"- id=R{i}\n" for i in range(4))
    pieces = [Chunk(0, 16), Chunk(16, len(text))]
    merged = merge(FILLED_UP, pieces, fill(text, pieces, FILLED_UP))
    assert [row["id"] for row in json.loads(merged.record)["tags"]] == ["R0", "R1", "R2"]


def row(anchor: int, *spans: tuple[int, int]) -> Filled:
    """One order with this anchor; its id and price were read at these places."""
    names = ("id", "price")
    leaves = {"/title": Leaf("null", 0.9, origin="absent"), "/total": Leaf("0", 0.1, missing=True)}
    for name, text, span in zip(names, ('"A"', "7"), spans, strict=False):
        leaves[f"/orders/0/{name}"] = Leaf(text, 0.9, (span,))
    for name in names[len(spans) :]:
        leaves[f"/orders/0/{name}"] = Leaf("null", 0.9, origin="absent")
    order = {name: json.loads(leaves[f"/orders/0/{name}"].text or "null") for name in names}
    record = {"title": None, "total": 0, "orders": [order | {"parts": []}]}
    return Filled("0", record, leaves, {"/orders/0": (anchor, 0.9)}, 1, 0)


@pytest.mark.parametrize(
    ("other", "orders"),
    [
        (row(12, (12, 14), (16, 18)), 1),  # the same anchor
        (row(14, (12, 14), (16, 18)), 1),  # another anchor, the same places
        (row(11, (12, 14), (16, 18)), 1),
        (row(15, (15, 16), (16, 18)), 1),  # half of the places
        (row(16, (21, 22), (23, 24)), 2),  # nothing in common
    ],
)
def test_rows_of_an_overlap_are_one_by_their_anchor_or_their_places(
    other: Filled, orders: int
) -> None:
    merged = merge(FORM, [Chunk(0, 20), Chunk(10, 40)], [row(12, (12, 14), (16, 18)), other])
    assert len(json.loads(merged.record)["orders"]) == orders
    anchors = [anchor for anchor, _ in merged.rows.values()]
    assert anchors == ([min(12, other.rows["/orders/0"][0])] if orders == 1 else [12, 16])


def test_rows_stand_in_the_order_of_their_anchors() -> None:
    one, two = row(18, (18, 19)), row(16, (16, 17))
    one = replace(one, leaves={**one.leaves, "/orders/0/id": Leaf('"B"', 0.9, ((18, 19),))})
    orders = [{"id": name, "price": None, "parts": []} for name in "AB"]
    both = Filled(
        "0",
        {"title": None, "total": 0, "orders": orders},
        {"/orders/1/id": one.leaves["/orders/0/id"], **two.leaves},
        {"/orders/0": (16, 0.9), "/orders/1": (18, 0.9)},
        1,
        0,
    )
    merged = merge(FORM, [Chunk(0, 20), Chunk(10, 40)], [one, both])
    assert [anchor for anchor, _ in merged.rows.values()] == [16, 18]


def test_a_row_of_one_chunk_counts_only_on_its_side_of_the_overlap() -> None:
    empty = Filled("0", {"title": None, "total": 0, "orders": []}, {}, {}, 1, 0)
    pieces = [Chunk(0, 20), Chunk(10, 40)]
    for anchor, of_the_first, of_the_second in ((12, 1, 0), (18, 0, 1)):
        found = row(anchor, (anchor, anchor + 1))
        assert len(json.loads(merge(FORM, pieces, [found, empty]).record)["orders"]) == of_the_first
        assert len(json.loads(merge(FORM, pieces, [empty, found]).record)["orders"]) == of_the_second


#: Keywords under which a record may differ from the values of its slots.
CUT = (
    "anyOf", "const", "contains", "dependentRequired", "dependentSchemas", "if", "maxProperties",
    "minProperties", "not", "oneOf", "patternProperties", "prefixItems", "propertyNames", "$ref",
    "uniqueItems", "allOf",
)  # fmt: skip


@pytest.mark.parametrize("seed", first(2, range(16)))
def test_records_of_random_chunks_of_random_schemas_merge_into_a_valid_record(seed: int) -> None:
    draw = random.Random(seed)
    for case in range(8):
        schema = random_schema(draw, draw.choice((1, 2, 3)))
        compiled = compile_schema(schema)
        names = [f"{seed} {case} {chunk}" for chunk in range(3)]
        filled = Engine(RandomModel(seed), "low").fill([request(compiled.form, name) for name in names])
        found = [result for result in filled if isinstance(result, Filled)]
        assert len(found) == 3, filled
        pieces = [Chunk(0, 25), Chunk(15, 35), Chunk(30, 50)]
        merged = merge(compiled.form, pieces, found)
        assert compiled.accepts(merged.record)
        jsonschema_rs.validator_for(schema, validate_formats=True).validate(json.loads(merged.record))
        for one in found:
            written = _write(compiled.form, part_of(compiled.form, one))
            text = json.dumps(schema)
            if '"additionalProperties": {' in text or any(f'"{keyword}"' in text for keyword in CUT):
                # The values of slots alone do not tell the places that a repair decided.
                assert written is None or compiled.judge.accepts(written[3])
                continue
            assert written is not None
            leaves, rows, _, value = written
            assert (json_text(value), rows, list(leaves)) == (one.record, one.rows, list(one.leaves))
            assert [leaf.text for leaf in leaves.values()] == [leaf.text for leaf in one.leaves.values()]
            missing = [leaf.missing for leaf in one.leaves.values()]
            assert [leaf.missing for leaf in leaves.values()] == missing


def test_a_list_is_complete_if_each_chunks_part_of_it_is() -> None:
    text = listing([2, 0, 1] * 12)
    pieces = chunks(document(text), 80, 20, lambda part: len(part.split()))
    assert len(pieces) > 1
    found = [
        replace(one, lists={"/orders": 0.9, "/orders/0/parts": 0.5 if at == 0 else 0.8})
        for at, one in enumerate(fill(text, pieces))
    ]
    lists = merge(FORM, pieces, found).lists
    assert lists["/orders"] == pytest.approx(0.9 ** len(pieces), abs=0.001)
    assert lists["/orders/0/parts"] == 0.5
    assert all(at == "/orders" or at.endswith("/parts") for at in lists)


def test_an_inner_list_of_two_rows_about_one_thing_is_as_sure_as_the_less_sure_one() -> None:
    text = "title=x\n- id=N0 price=1.5\n  * code=A\n- id=N0 price=1.5\n  * code=B\ntotal=1\n"
    (found,) = fill(text, [Chunk(0, len(text))])
    leaf = found.leaves["/orders/0/id"]
    leaves = {
        at: replace(one, spans=leaf.spans) if at.endswith(("/id", "/price")) else one
        for at, one in found.leaves.items()
    }
    lists = {"/orders": 0.7, "/orders/0/parts": 0.6, "/orders/1/parts": 0.4}
    merged = merge(FORM, [Chunk(0, len(text))], [replace(found, leaves=leaves, lists=lists)])
    assert len(json.loads(merged.record)["orders"]) == 1
    assert merged.lists == {"/orders": 0.7, "/orders/0/parts": 0.4}
