"""A list or an object that a person fixed, in another version of its schema."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from tests.support.corrected_folder import SCHEMA, digest_of, outcome_of, run, value_of

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.corrections.carrying import carry_over, match_items
from cinnabar.extraction.corrections.units import HUMAN, CorrectedPlace, scalars
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.records import LeafRow
from cinnabar.schemas import compile_schema

A = digest_of("a.txt")


def version(**columns):
    """The schema with these columns of its lines: a shape, or None for a column that is gone."""
    schema = copy.deepcopy(SCHEMA)
    row = schema["properties"]["lines"]["items"]
    row["properties"] |= columns
    for name in [name for name, shape in columns.items() if shape is None]:
        del row["properties"][name]
    row["required"] = [name for name in ("item", "tax") if name in row["properties"]]
    return schema


def place(value, pointer="/lines", origin=HUMAN, confidence=1.0):
    leaves = tuple(LeafRow(at, text, confidence, origin) for at, text in scalars(value, pointer))
    return CorrectedPlace(pointer, json.dumps(value), leaves)


def carry(value, made, schema, pointer="/lines"):
    old, new = compile_schema(SCHEMA).form, compile_schema(schema).form
    return carry_over(place(value, pointer), place(made, pointer, "copied", 0.5), new, old)


NUMBER = {"type": ["integer", "null"]}


@pytest.mark.parametrize(
    ("reason", "columns", "said", "made", "found", "lost"),
    [
        ("a column is gone", {"price": None}, [{"item": "z", "price": 3}], [], [{"item": "z"}], ("/lines/0/price",)),
        ("an empty column is gone", {"price": None}, [{"item": "z", "price": None}], [], [{"item": "z"}], ()),
        ("a column holds less", {"price": NUMBER | {"maximum": 2}}, [{"item": "z", "price": 3}],
         [{"item": "z", "price": 2}], [{"item": "z", "price": 2}], ("/lines/0/price",)),
        ("a new column", {"tax": NUMBER}, [{"item": "z"}], [{"item": "z", "tax": 7}], [{"item": "z", "tax": 7}], ()),
        ("what was left out stays so", {"tax": NUMBER}, [{"item": "z"}], [{"item": "z", "price": 1, "tax": 7}],
         [{"item": "z", "tax": 7}], ()),
        ("rows that moved", {"tax": NUMBER}, [{"item": "y", "price": 1}, {"item": "z", "price": 1}],
         [{"item": "z", "price": 1, "tax": 7}, {"item": "y", "price": 1, "tax": 8}],
         [{"item": "y", "price": 1, "tax": 8}, {"item": "z", "price": 1, "tax": 7}], ()),
        ("a row that the run does not have", {"tax": NUMBER}, [{"item": "y"}, {"item": "z"}], [{"item": "z", "tax": 7}],
         [{"item": "y", "tax": None}, {"item": "z", "tax": 7}], ()),
    ],
)  # fmt: skip
def test_a_list_is_carried_value_by_value(reason, columns, said, made, found, lost):
    del reason
    got = carry(said, made, version(**columns))
    assert json.loads(got.unit.text) == found and got.lost == lost


def test_the_leaves_tell_who_gave_each_value():
    got = carry([{"item": "y"}, {"item": "z"}], [{"item": "z", "tax": 7}], version(tax=NUMBER)).unit
    assert {leaf.pointer: (leaf.origin, leaf.confidence) for leaf in got.leaves} == {
        "/lines/0/item": ("human", 1.0),
        "/lines/0/tax": ("known", 0.0),
        "/lines/1/item": ("human", 1.0),
        "/lines/1/tax": ("copied", 0.5),
    }


def test_only_values_of_a_person_are_told_as_lost():
    unit = place([{"item": "z", "price": 3}])
    unit = CorrectedPlace(unit.pointer, unit.text, (unit.leaves[0], LeafRow("/lines/0/price", "3", 0.6, "copied")))
    form = compile_schema(version(price=None)).form
    assert carry_over(unit, place([]), form, None).lost == ()


def test_an_object_keeps_the_properties_that_are_left():
    schema = copy.deepcopy(SCHEMA)
    del schema["properties"]["seller"]["properties"]["city"]
    got = carry({"name": "Eva", "city": "Rome"}, None, schema, "/seller")
    assert json.loads(got.unit.text) == {"name": "Eva"} and got.lost == ("/seller/city",)


def test_a_place_that_is_gone_or_of_another_kind_stays_as_it_is():
    schema = version() | {"properties": version()["properties"] | {"lines": {"type": "string"}}}
    for unit in (place([{"item": "z"}]), place("x", "/nowhere")):
        assert carry_over(unit, place("made"), compile_schema(schema).form, None).unit == unit


def test_rows_are_matched_by_the_values_that_are_rare():
    same = [{"unit": "kg", "name": str(number)} for number in range(100)]
    assert match_items(same, same[::-1]) == {number: 99 - number for number in range(100)}
    assert match_items([{"unit": "kg"}], [{"unit": "t"}]) == {}


def test_a_corrected_list_survives_a_version_with_other_columns(tmp_path):
    out = tmp_path / "out"
    run(out, "e1e2")
    change = Change(Action.VALUE, "/lines/0/item", '"N"')
    Corrector(out).correct(A, "bill", [change], "eva")
    later = version(price=None, tax=NUMBER)
    rows = [{"item": f"e1e2 {number}", "tax": number + 5} for number in range(1)]
    made = outcome_of("a.txt", "e2", value_of("a.txt", "e2") | {"lines": rows}, schema=later)
    run(out, "e2", schema=later, outcomes=[made], paths=["a.txt"])
    assert record(out)["lines"] == [{"item": "N", "tax": None}]
    assert verify(out).problems == []
    Corrector(out).undo(A, "bill", None, "eva")
    assert record(out)["lines"] == rows


def test_a_backfill_fills_a_new_column_of_a_corrected_list_and_gives_the_rows_of_the_model_back(tmp_path):
    out = tmp_path / "out"
    run(out, "e1e2")
    changes = [Change(Action.VALUE, "/lines/0/item", '"N"'), Change(Action.VALUE, "/lines/0/price", "8")]
    changes.append(Change(Action.VALUE, "/number", '"M"'))
    Corrector(out).correct(A, "bill", changes, "eva")
    later = version(tax=NUMBER)
    value = json.loads(Corrector(out).state(A, "bill").record.text)
    value["lines"][0] |= {"tax": 5}
    made = outcome_of("a.txt", "e1e2", value, schema=later)
    human = {leaf.pointer: leaf for leaf in Corrector(out).state(A, "bill").record.leaves if leaf.origin == HUMAN}
    leaves = tuple(human.get(leaf.pointer, leaf) for leaf in made.record.leaves)
    made = replace(made, record=replace(made.record, leaves=leaves))
    run(out, "e1e2", schema=later, outcomes=[made], paths=["a.txt"], backfill={})
    assert record(out)["lines"] == [{"item": "N", "price": 8, "tax": 5}] and record(out)["number"] == "M"
    Corrector(out).undo(A, "bill", None, "eva")
    assert record(out)["lines"] == [{"item": "e1e2 0", "price": 0, "tax": None}]
    assert record(out)["number"] == "a-e1e2"
    assert verify(out).problems == []


def record(out):
    ((text,),) = query(out, f"SELECT record_json FROM bill WHERE document = '{A}'").rows
    return json.loads(text)
