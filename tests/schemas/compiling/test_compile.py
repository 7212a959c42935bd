"""Compiled schemas: they accept exactly the values that a validator allows, and written texts always validate."""

from __future__ import annotations

import importlib
import json
from decimal import Decimal
from time import process_time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.schema_strategies import hard_schemas, hard_values, near, schemas

from cinnabar.errors import NotAccepted, NoValue, SchemaError
from cinnabar.schemas import UnsupportedSchema, compile_schema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.parsing.language import UNROLLED_LENGTH
from cinnabar.schemas.regex import machine, patterns


def field(schema: dict[str, Any]) -> Slot:
    """The slot of a record's only field."""
    compiled = compile_schema({"type": "object", "properties": {"f": schema}, "required": ["f"]})
    (slot,) = compiled.form.slots
    return slot


def test_forms_of_one_schema_are_equal_and_caches_know_them() -> None:
    def form(*names: str, longest: int = 5) -> Form:
        fields = {name: {"type": "string"} for name in names}
        return compile_schema({"type": "object", "properties": fields, "not": {"required": ["x" * longest]}}).form

    first = form("a", "b")
    assert first == form("a", "b") and {first: True}[form("a", "b")]
    # The order of properties is that of the record, and of `not` only the judge knows.
    assert first != form("b", "a") and first != form("a", "b", longest=6)


@examples(70)
@given(st.data())
def test_a_canonical_text_spells_the_same_value_and_is_its_own_canonical_text(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    compiled = compile_schema(schema)
    value = data.draw(near(schema))
    try:
        text = compiled.canonical(value)
    except NotAccepted:
        return
    assert jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(json.loads(text))
    assert json.loads(text) == value
    assert compiled.canonical(json.loads(text)) == text


def test_properties_are_written_in_schema_order_and_undeclared_ones_never() -> None:
    compiled = compile_schema(
        {
            "type": "object",
            "properties": {"b": {"type": "number"}, "a": {"type": "string"}},
            "required": ["a"],
        }
    )
    assert compiled.canonical({"a": "é", "b": Decimal("2.50")}) == '{"b":2.5,"a":"é"}'
    assert compiled.accepts('{"a":"x","more":[1]}')
    with pytest.raises(NotAccepted, match="/more"):
        compiled.canonical({"a": "x", "more": 1})
    with pytest.raises(NotAccepted, match=r"/a: .*required"):
        compiled.canonical({"b": 1})


def test_a_refused_value_is_named_by_its_place() -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    compiled = compile_schema({"type": "object", "properties": {"a/b": rows}})
    with pytest.raises(NotAccepted) as caught:
        compiled.canonical({"a/b": [{"n": 1}, {"n": "x"}]})
    assert caught.value.pointer == "/a~1b/1/n"


def test_slots_of_one_language_share_one_automaton() -> None:
    compiled = compile_schema(
        {
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "format": "date"},
                "b": {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
                "c": {"type": "string"},
                "d": {"type": "string", "pattern": ""},
            },
        }
    )
    a, b, c, d = compiled.form.slots
    assert a.automaton is b.automaton
    assert c.automaton is d.automaton


def test_kinds_and_traits_of_slots() -> None:
    slot = field({"type": ["string", "null"], "format": "date", "title": "Day", "description": "When."})
    assert (slot.kind, slot.nullable, slot.format, slot.free, slot.minimal) == (
        "string",
        True,
        "date",
        False,
        "null",
    )
    assert (slot.path, slot.title, slot.description) == ("/f", "Day", "When.")
    assert field({"type": "string"}).free
    assert not field({"type": "string", "pattern": "x"}).free
    assert field({"type": "boolean"}).options == ("true", "false")
    assert field({"enum": ["a", 1, None]}).options == ('"a"', "1")
    assert field({"enum": ["a", 1, None]}).kind == "enum"
    assert field({"type": ["integer", "string"]}).kind == "string"
    assert field({"anyOf": [{"type": "integer"}, {"type": "number"}]}).kind == "number"
    assert field({"const": None}).kind == "null"
    assert field({"type": "integer", "minimum": 7}).minimal == "7"


def test_examples_are_kept_where_they_are_allowed() -> None:
    assert field({"type": "integer", "examples": [3, "x", 4.0, {}]}).examples == ("3", "4")


@pytest.mark.parametrize("bound", [UNROLLED_LENGTH, UNROLLED_LENGTH + 1, 100_000])
def test_a_bound_on_length_holds_however_it_is_enforced(bound: int) -> None:
    slot = field({"type": "string", "maxLength": bound})
    assert slot.max_length == (None if bound == UNROLLED_LENGTH else bound)
    assert slot.automaton.states < 15 * UNROLLED_LENGTH + 30
    assert slot.accepts(json.dumps("é" * bound, ensure_ascii=False).encode())
    assert not slot.accepts(json.dumps("é" * (bound + 1), ensure_ascii=False).encode())


def test_a_pattern_of_fewest_bytes_need_not_be_of_fewest_characters() -> None:
    slot = field({"type": "string", "pattern": "^(a{150}|é{140})$", "maxLength": 145})
    assert slot.minimal == '"' + "é" * 140 + '"'


def test_choices_are_explained_by_their_own_words_or_by_the_description() -> None:
    consts = [{"const": "a", "title": "Alpha"}, {"const": "b", "description": "the second"}, {"const": "c"}]
    assert field({"oneOf": consts, "title": "Letter"}).option_notes == ("Alpha", "the second", "")
    assert field({"oneOf": consts, "title": "Letter"}).title == "Letter"
    told = {"enum": ["in", "in_full", None], "description": "How. in = a part; in_full: all of it. More."}
    assert field(told).option_notes == ("a part", "all of it")
    assert field({"enum": ["x"], "description": "Nothing is said."}).option_notes == ()


def test_the_description_of_a_list_explains_its_options() -> None:
    items = {"enum": ["damage", "price"]}
    told = {"type": "array", "items": items, "description": "About. damage = it arrived broken; price = cost."}
    (slot,) = compile_schema({"type": "object", "properties": {"about": told}}).form.slots
    assert slot.option_notes == ("it arrived broken", "cost")
    own = {"type": "array", "items": items | {"description": "damage = a; price = b"}, "description": "damage = c"}
    (slot,) = compile_schema({"type": "object", "properties": {"about": own}}).form.slots
    assert slot.option_notes == ("a", "b")


def test_nullable_containers_are_flagged() -> None:
    part = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    compiled = compile_schema(
        {
            "type": "object",
            "properties": {
                "o": {"anyOf": [part, {"type": "null"}]},
                "r": {"type": ["array", "null"], "items": part, "minItems": 1},
            },
            "required": ["o", "r"],
        }
    )
    assert [o.nullable for o in compiled.form.objects] == [False, True, False]
    assert compiled.form.arrays[0].nullable
    assert compiled.minimal() == '{"o":null,"r":null}'
    assert compiled.accepts('{"r":[{"n":1}],"o":{"n":2}}')
    assert not compiled.accepts('{"r":[],"o":null}')


PEOPLE = {
    "type": "object",
    "properties": {
        "who": {
            "oneOf": [
                {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            ]
        },
        "marks": {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 2},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}], "items": False},
    },
    "dependentRequired": {"marks": ["pair"]},
    "required": ["who"],
}


def test_alternatives_open_properties_and_first_items_have_one_canonical_text() -> None:
    compiled = compile_schema(PEOPLE)
    record = {"pair": ["x", True], "marks": {"z": 1.50, "a": 2}, "who": {"id": 7}}
    assert compiled.canonical(record) == '{"who":{"id":7},"marks":{"z":1.5,"a":2},"pair":["x",true]}'
    assert compiled.minimal() == '{"who":{"name":""}}'


@pytest.mark.parametrize(
    ("record", "pointer"),
    [
        ({"who": {"id": 7}, "marks": {}}, ""),
        ({"who": {"id": 7, "name": "x"}}, "/who/id"),
        ({"who": {}}, "/who/name"),
        ({"who": {"id": 7}, "pair": ["x", True, 1]}, "/pair"),
        ({"who": {"id": 7}, "pair": [], "marks": {"a": 1, "b": 2, "c": 3}}, "/marks"),
    ],
)
def test_a_record_that_breaks_a_rule_across_fields_is_not_accepted(record: dict[str, Any], pointer: str) -> None:
    compiled = compile_schema(PEOPLE)
    assert not compiled.accepts(json.dumps(record))
    with pytest.raises(NotAccepted) as caught:
        compiled.canonical(record)
    assert caught.value.pointer.startswith(pointer)


@examples(200)
@given(st.data())
def test_the_form_is_a_sublanguage_of_what_is_accepted(data: st.DataObject) -> None:
    schema, value = data.draw(hard_schemas()), data.draw(hard_values)
    try:
        compiled = compile_schema(schema)
        allowed = compiled.judge.accepts(value)
        text = compiled.canonical(value)
    except (UnsupportedSchema, NotAccepted):
        return
    assert allowed
    assert compiled.accepts(text) and parse(text) == value
    assert jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(json.loads(text))


def test_a_meta_schema_that_is_not_the_standards_is_refused_and_not_fetched() -> None:
    for named in ("https://127.0.0.1:9/own", "http://json-schema.org/draft-05/schema#"):
        with pytest.raises(SchemaError, match=r"/\$schema: expected the meta-schema of a draft"):
            compile_schema({"$schema": named, "type": "string"})
    assert compile_schema({"$schema": "https://spec.openapis.org/oas/3.1/dialect/base"}).accepts("1")


def test_a_bound_that_no_record_passes_is_named_where_no_record_is_found() -> None:
    with pytest.raises(NoValue) as caught:
        _ = compile_schema(
            {
                "properties": {"a": {"type": "object", "minProperties": 1, "additionalProperties": False}},
                "required": ["a"],
            }
        ).form
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a/minProperties", "minProperties")


@pytest.mark.shared
def test_every_development_schema_compiles(shared: Any) -> None:
    files = sorted(shared.glob("data/*/schema.json"))
    assert files
    for path in files:
        compiled = compile_schema(json.loads(path.read_text()))
        assert compiled.accepts(compiled.minimal()), path
        assert not compiled.unenforced_demands, path


@pytest.mark.shared
def test_known_traps_of_constrained_decoders_are_judged_exactly(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(shared / "tools"))
    probes = importlib.import_module("schema_traps").P
    refused, wrong, unknown = [], [], []
    for name, schema, good, bad, spellings in probes:
        try:
            compiled = compile_schema(schema)
        except UnsupportedSchema:
            refused.append(name)
            continue
        accepts = compiled.accepts
        wrong += [text for text in good if not accepts(text)] + [text for text in bad if accepts(text)]
        unknown += [text for text in spellings if not accepts(text)]
    assert refused == ["ECMA backreference"]
    assert not wrong
    assert unknown == ['"\\ud800"']


def test_a_pattern_that_passes_too_many_states_without_reading_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "MAX_WORK", 20_000)
    compiled = compile_schema({"properties": {"a": {"pattern": "^(?:a?){300}a{300}$"}}})
    with pytest.raises(UnsupportedSchema, match="expected at most") as refused:
        compiled.minimal()
    assert refused.value.pointer == "/properties/a/pattern"


def test_patterns_are_refused_where_all_together_take_too_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MAX_SPENT", 5_000)
    of = [f"^(?:a|b)*a(?:a|b){{{n}}}$" for n in (5, 6, 7, 8)]
    compiled = compile_schema({"properties": {str(n): {"pattern": one} for n, one in enumerate(of)}})
    with pytest.raises(UnsupportedSchema, match="the 3 patterns") as refused:
        compiled.minimal()
    assert refused.value.pointer == "/properties/3/pattern"
    assert "fewer" in refused.value.advice
    # The other patterns are built by then, and the budget still counts them.
    again = compile_schema({"properties": {f"a{n}": {"pattern": one} for n, one in enumerate(of)}})
    with pytest.raises(UnsupportedSchema, match="the 3 patterns"):
        again.minimal()


def test_names_of_open_properties_that_take_too_much_work_are_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "MAX_SPENT", 5_000)
    of = {f"^(?:c|d)*c(?:c|d){{{n}}}$": {"type": "integer"} for n in range(6, 12)}
    compiled = compile_schema({"type": "object", "patternProperties": of})
    assert compiled.minimal() == "{}" and 1 <= len(compiled.form.arrays) < 6


@pytest.mark.parametrize(
    ("schema", "smallest"),
    [
        ({"const": None, "allOf": [{"properties": {}}]}, "null"),
        ({"$ref": "#/$defs/a", "enum": ["red"], "$defs": {"a": {"maxItems": 3}}}, '"red"'),
        ({"allOf": [{"properties": {"a": {}}}, {"type": ["null", "string"]}]}, "null"),
        ({"allOf": [{"properties": {"a": {}}}, {"anyOf": [{"const": 3}, {"type": "integer"}]}]}, "0"),
        (
            {"$schema": "http://json-schema.org/draft-06/schema#", "not": {"dependencies": {"ab": ["b"]}}},
            '{"ab":null}',
        ),
    ],
)
def test_a_schema_that_simple_values_meet_has_a_form(schema: dict[str, Any], smallest: str) -> None:
    compiled = compile_schema(schema)
    assert compiled.accepts(compiled.minimal())
    assert compiled.minimal() == smallest


def test_the_smallest_record_of_a_reference_of_dynamic_scope_is_canonical() -> None:
    own = {"$dynamicAnchor": "node", "minProperties": 3}
    compiled = compile_schema({
        "contains": {"dependentSchemas": {"": {}}},
        "$defs": {
            "n1": {"$dynamicAnchor": "node"},
            "res": {"$id": "http://h/res", "$defs": {"nn": own}, "items": {"$dynamicRef": "#node"}},
        },
        "allOf": [{"$ref": "http://h/res"}],
    })  # fmt: skip
    assert compiled.canonical(json.loads(compiled.minimal())) == compiled.minimal()


@pytest.mark.slow
def test_a_choice_of_thousands_of_objects_is_read_in_time() -> None:
    values = [{"a": n} for n in range(20_000)]
    started = process_time()
    assert compile_schema({"enum": values}).minimal() == '{"a":0}'
    assert process_time() - started < 5


def test_as_many_open_properties_are_found_as_rows_may_be_demanded() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 512}
    compiled = compile_schema(schema)
    assert len(json.loads(compiled.minimal())) == 512
    with pytest.raises(UnsupportedSchema, match="at most 512") as refused:
        compile_schema({**schema, "minProperties": 513}).minimal()
    assert refused.value.pointer == "/minProperties"


def test_a_schema_without_a_found_form_still_accepts_values() -> None:
    compiled = compile_schema({"oneOf": [True, {"patternProperties": {"^x-": {"enum": [None]}}}]})
    assert compiled.accepts('{"x-a":1}')
    with pytest.raises(NoValue, match="no record was found"):
        compiled.minimal()
