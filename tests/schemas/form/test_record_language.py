"""The language of a form holds the texts of exactly the records that the form can write, one line each."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.effort import examples
from tests.support.left_to_judge import left_to_judge
from tests.support.remote_forms import form_of
from tests.support.schema_strategies import hard_schemas, hard_values, near, schemas

from cinnabar.errors import NotAccepted, TooLarge, UnsupportedSchema
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.strings import canonical_string, json_text, parse, scalar_text
from cinnabar.schemas.form.fitting import accept, fit
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import one_line, record_language
from cinnabar.schemas.form.record_walk import RecordLeaf, walk_record
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.pointers import MISSING, escape

TEXT = {"type": "string"}
DIGIT = {"type": "integer", "minimum": 0, "maximum": 9}


def closed(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required),
            "additionalProperties": False, **more}  # fmt: skip


def accepts(schema: Any, text: str) -> bool:
    return record_language(form_of(schema)).accepts(text.encode())


def spelled(automaton: Automaton, draw: random.Random, length: int = 120) -> bytes:
    """A text of the language by a random walk, which takes the shortest way to the end after some bytes."""
    text, state = bytearray(), 0
    while not automaton.accepting[state]:
        ways = [
            byte
            for byte in range(256)
            if (target := int(automaton.transitions[state, automaton.byte_class[byte]])) >= 0
            and (len(text) < length or automaton.distance[target] < automaton.distance[state])
        ]
        plain = [byte for byte in ways if 0x20 <= byte < 0x7F and byte != 0x5C]
        byte = draw.choice(plain if plain and draw.random() < 0.9 else ways)
        text.append(byte)
        state = int(automaton.transitions[state, automaton.byte_class[byte]])
    return bytes(text)


def is_record(form: Form, text: bytes) -> bool:
    """Whether the form holds the record of this text; what two readers may read differently is none."""
    try:
        fit(form, parse(text.decode()))
    except (ValueError, NotAccepted):
        return False
    return True


def has_repeats(text: bytes) -> bool:
    """Whether a name comes twice in one object, which is left to the judge."""
    try:
        parse(text.decode())
    except ValueError as problem:
        return "different names" in str(problem)
    return False


@pytest.mark.parametrize("name", LIBRARY)
def test_a_record_of_the_library_is_one_line_of_json(name: str) -> None:
    form = form_of(LIBRARY[name].model_json_schema())
    text = json.dumps(json.loads(form.instance), ensure_ascii=False)
    automaton = record_language(form)
    assert automaton.accepts(text.encode())
    assert all(left.endswith(": no item twice") for left in left_to_judge(form))
    assert form.instance == "{}" or not automaton.accepts(form.instance.encode()), "without spaces"
    assert not automaton.accepts(text.encode() + b" ")


PAIRS = st.one_of(
    hard_schemas().map(lambda schema: (schema, hard_values)),
    schemas().map(lambda schema: (schema, near(schema))),
)


@examples(400)
@given(PAIRS, st.data())
def test_the_language_holds_what_the_form_holds_and_nothing_else(pair: Any, data: st.DataObject) -> None:
    schema, values = pair
    try:
        form = form_of(schema)
    except UnsupportedSchema:
        return
    automaton = record_language(form)
    assert automaton.accepts(one_line(form.instance).encode())
    value = data.draw(values)
    try:
        text = json_text(value)
        fitted = fit(form, value)
    except NotAccepted:
        assert left_to_judge(form) or not automaton.accepts(one_line(text).encode())
    except ValueError:
        return
    else:
        # What the judge refuses the language may refuse, too: a list with repeats.
        refused = form.judge is not None and not form.judge.accepts(parse(fitted))
        assert refused or automaton.accepts(one_line(fitted).encode())


@examples(400)
@given(PAIRS, st.randoms(use_true_random=False))
def test_every_text_of_the_language_is_a_record_of_the_form(pair: Any, draw: random.Random) -> None:
    try:
        form = form_of(pair[0])
    except UnsupportedSchema:
        return
    automaton = record_language(form)
    text = spelled(automaton, draw)
    assert automaton.accepts(text)
    assume(not has_repeats(text))
    several_groups = any(len(node.rest) > 1 for node in form.objects)
    if not left_to_judge(form) and not several_groups:
        assert is_record(form, text), text
        assert automaton.accepts(one_line(fit(form, parse(text.decode()))).encode()), text
    changed = bytearray(text)
    at = draw.randrange(len(changed))
    if draw.random() < 0.5:
        del changed[at]
    else:
        changed.insert(at, draw.choice(b'",:{}[] n0'))
    if automaton.accepts(bytes(changed)) and not has_repeats(bytes(changed)):
        json.loads(changed)
        assert left_to_judge(form) or several_groups or is_record(form, bytes(changed)), bytes(changed)


def respelled(form: Form, record: Any, draw: st.DataObject) -> str:
    """The text of a record with its numbers and free strings spelled in drawn ways."""
    slots = {leaf.pointer: leaf.slot for leaf in walk_record(form, record) if isinstance(leaf, RecordLeaf)}
    zeros = st.integers(0, 3)

    def text(value: Any, pointer: str) -> str:
        if isinstance(value, dict):
            members = (f"{canonical_string(k).decode()}: {text(v, f'{pointer}/{escape(k)}')}" for k, v in value.items())
            return "{" + ", ".join(members) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(text(part, f"{pointer}/{at}") for at, part in enumerate(value)) + "]"
        plain = scalar_text(value)
        if isinstance(value, str):
            slot = slots.get(pointer)
            free = slot is not None and slot.automaton.accepts(any_string_of(70)) and slot.automaton.accepts(b'""')
            return json.dumps(value).replace("/", "\\/") if free and draw.draw(st.booleans()) else plain
        if value is None or isinstance(value, bool):
            return plain
        more = "0" * draw.draw(zeros)
        plain = "-0" if plain == "0" and draw.draw(st.booleans()) else plain
        return plain + ("." if more and "." not in plain else "") + more

    return text(record, "")


def any_string_of(length: int) -> bytes:
    """A string that no pattern, format or bound of the strategies allows."""
    return canonical_string("a~" * length)


@examples(400, few=60)
@given(PAIRS, st.data())
def test_a_record_may_be_spelled_in_any_way_and_keeps_its_values(pair: Any, data: st.DataObject) -> None:
    try:
        form = form_of(pair[0])
    except UnsupportedSchema:
        return
    automaton = record_language(form)
    value = data.draw(pair[1])
    try:
        canonical = json_text(value)
        canonical = fit(form, value)
    except NotAccepted:
        pass
    except ValueError:
        return
    text = respelled(form, parse(canonical), data)
    held = accept(form, value)
    assert automaton.accepts(text.encode()) == automaton.accepts(one_line(canonical).encode()), text
    assert accept(form, parse(text)) == held
    if held is not MISSING:
        assert automaton.accepts(text.encode()) and fit(form, parse(text)) == canonical


@pytest.mark.parametrize(
    ("schema", "text", "record"),
    [
        ({"type": "number", "minimum": 0, "maximum": 1000, "multipleOf": 0.01}, "190.00", "190"),
        ({"type": ["integer", "null"], "minimum": 1}, "5.0", "5"),
        ({"const": 1}, "1.00", "1"),
        ({"enum": [0, "0", 2.5]}, "-0.0", "0"),
        ({"type": "number"}, "1.5E+2", "150"),
        ({"type": ["number", "string"]}, '"a\\/\\u00e9"', '"a/é"'),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, "7.0", "7"),
    ],
)
def test_a_scalar_is_spelled_in_any_way(schema: Any, text: str, record: str) -> None:
    form = form_of(schema)
    assert accepts(schema, text) and json_text(accept(form, parse(text))) == fit(form, parse(text)) == record


@pytest.mark.parametrize("name", LIBRARY)
def test_spellings_add_few_states_to_a_record(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = LIBRARY[name].model_json_schema() | {"title": "counted"}
    spelled = record_language(form_of(schema)).states
    monkeypatch.setattr("cinnabar.schemas.form.record_language.spellings", lambda canonical, *_: canonical)
    canonical = record_language(form_of(schema | {"title": "counted anew"})).states
    assert canonical < spelled <= 1.1 * canonical


def test_a_record_that_its_spellings_make_too_large_keeps_the_canonical_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of(closed({"a": {"type": "number"}, "b": TEXT}, "a", "b", title="nearly too large"))
    whole = record_language(form).states
    monkeypatch.setattr("cinnabar.schemas.automata.automaton.MAX_STATES", whole - 1)
    form = form_of(closed({"a": {"type": "number"}, "b": TEXT}, "a", "b", title="just too large"))
    tight = record_language(form)
    assert tight.accepts(b'{"a": 1.5, "b": "x"}') and not tight.accepts(b'{"a": 1.50, "b": "x"}')


def test_commas_stand_between_the_properties_that_are_there() -> None:
    schema = closed({"a": DIGIT, "b": DIGIT, "ab": DIGIT}, "b")
    assert accepts(schema, '{"b": 1}') and accepts(schema, '{"a": 1, "b": 2}')
    assert accepts(schema, '{"a": 1, "b": 2, "ab": 3}') and accepts(schema, '{"b": 2, "ab": 3}')
    for wrong in ("{}", '{"a": 1}', '{"b": 1, "a": 2}', '{"b": 1,"ab": 2}', '{, "b": 1}', '{"b": 1, }', '{"b":1}'):
        assert not accepts(schema, wrong), wrong
    optional = closed({"a": DIGIT, "ab": DIGIT})
    assert all(accepts(optional, text) for text in ("{}", '{"a": 1}', '{"ab": 1}', '{"a": 1, "ab": 2}'))
    assert not accepts(optional, '{"ab": 1, "a": 2}') and not accepts(optional, '{"a": 1, "a": 2}')


def test_items_are_counted_with_the_first_ones_that_have_places_of_their_own() -> None:
    schema = {"type": "array", "prefixItems": [TEXT], "items": DIGIT, "minItems": 2, "maxItems": 3}
    assert accepts(schema, '["x", 1]') and accepts(schema, '["x", 1, 2]')
    for wrong in ("[]", '["x"]', '["x", 1, 2, 3]', '["x", "y"]', "[1, 2]", '["x",1]'):
        assert not accepts(schema, wrong), wrong
    free = {"type": "array", "items": DIGIT}
    assert all(accepts(free, str(list(range(n % 10)))) for n in range(10)) and not accepts(free, "[1, ]")
    tuple_of = {"type": "array", "prefixItems": [TEXT, DIGIT], "items": False}
    assert all(accepts(tuple_of, text) for text in ("[]", '["x"]', '["x", 1]'))
    assert not accepts(tuple_of, '["x", 1, 1]')


def test_open_names_are_no_declared_ones() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": DIGIT}
    assert accepts(schema, '{"a": "x"}') and accepts(schema, '{"a": "x", "b": 1, "aa": 2}')
    assert not accepts(schema, '{"a": "x", "a": 1}') and not accepts(schema, '{"a": "x", "b": "y"}')
    assert accepts(schema, '{"a": "x", "b": 1, "b": 2}'), "repeated names are left to the judge"


def test_branches_that_begin_alike_are_told_apart_later() -> None:
    one, other = (closed({"kind": TEXT, name: DIGIT}, "kind", name) for name in ("x", "y"))
    schema = {"anyOf": [one, other, {"type": "array", "items": TEXT}, {"type": "null"}]}
    for right in ('{"kind": "k", "x": 1}', '{"kind": "k", "y": 1}', '["x"]', "[]", "null"):
        assert accepts(schema, right), right
    for wrong in ('{"kind": "k"}', '{"kind": "k", "x": 1, "y": 2}', '{"y": 1}', "nul"):
        assert not accepts(schema, wrong), wrong


def test_a_count_that_takes_too_many_states_is_left_to_the_judge() -> None:
    row = closed({"name": {"type": "string", "maxLength": 40}}, "name")
    schema = closed({"rows": {"type": "array", "items": row, "minItems": 3, "maxItems": 200}}, "rows")
    form = form_of(schema)
    assert left_to_judge(form) == ("/rows: 3 to 200 items",)
    item = '{"name": "x"}'
    for items in (1, 2, 300):
        assert accepts(schema, f'{{"rows": [{", ".join([item] * items)}]}}')
    assert not accepts(schema, '{"rows": []}'), "one item is still demanded"
    long = f'{{"rows": [{{"name": "{"x" * 41}"}}]}}'
    assert not accepts(schema, long), "the length of a text is not left out"


def test_lengths_are_left_to_the_judge_after_counts() -> None:
    schema = closed({f"field {n}": {"type": ["string", "null"], "maxLength": 60} for n in range(20)})
    form = form_of(schema)
    assert len(left_to_judge(form)) == 20 and left_to_judge(form)[0] == "/field 0: at most 60 characters"
    assert accepts(schema, json.dumps({"field 0": "x" * 100, "field 19": None}))
    coded = closed({f"code {n}": {"type": "string", "pattern": "^[A-Z]", "maxLength": 60} for n in range(20)})
    assert accepts(coded, json.dumps({"code 0": "X" * 100})) and not accepts(coded, '{"code 0": "x"}')
    link = {"type": "string", "format": "uri", "maxLength": 60}
    assert accepts(link, f'"https://{"x" * 90}.org"') and not accepts(link, '"no link"')


def test_a_form_of_too_many_states_names_its_largest_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    plate = {"type": "string", "pattern": "^[A-Z]{1,3}-[A-Z]{1,2}[0-9]{1,4}$"}
    form = form_of(closed({"plate": plate, "too": DIGIT}, "plate", title="made here alone"))
    monkeypatch.setattr("cinnabar.schemas.automata.automaton.MAX_STATES", 20)
    with pytest.raises(TooLarge, match=r"2 fields, the largest are /plate \(\d+ states\)"):
        record_language(form)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_one_line_changes_no_value_and_adds_the_spaces_of_json_dumps(value: Any) -> None:
    text = json_text(value)
    plain = json.loads(text)
    assert json.loads(one_line(text)) == plain
    dumped, dense = (json.dumps(plain, ensure_ascii=False, separators=marks) for marks in ((", ", ": "), (",", ":")))
    assert len(one_line(text)) - len(text) == len(dumped) - len(dense)


@pytest.mark.parametrize(
    "denied",
    [{"multipleOf": 2}, {"minimum": 3}, {"exclusiveMaximum": 4, "minimum": 2}, {"multipleOf": 3, "maximum": 6}],
)
def test_numbers_that_a_schema_denies_are_not_in_the_language(denied: dict[str, int]) -> None:
    schema = {"type": "integer", "minimum": 0, "maximum": 9, "not": denied}
    form = form_of(schema)
    for number in range(10):
        allowed = form.judge is None or form.judge.accepts(number)
        assert record_language(form).accepts(json.dumps(number).encode()) == allowed, number


def test_denied_numbers_that_take_too_many_states_are_left_to_the_judge() -> None:
    for step in (1_000_003, 7919):
        form = form_of({"type": "integer", "not": {"multipleOf": step}})
        assert record_language(form).states < 50
    # A property that no number is left for is not written.
    schema = closed({"a": {"type": "integer", "minimum": 5, "not": {"minimum": 3}}, "b": DIGIT})
    assert not accepts(schema, '{"a": 7}') and accepts(schema, '{"b": 7}')


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (closed({"a": DIGIT, "b": DIGIT}, minProperties=1), "{}"),
        (closed({"a": DIGIT, "b": DIGIT}, maxProperties=1), '{"a": 1, "b": 2}'),
        (closed({"a": DIGIT, "b": DIGIT}, dependentRequired={"a": ["b"]}), '{"a": 1}'),
        ({"type": "array", "items": DIGIT, "contains": {"const": 3}}, "[1]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, '["a", "a"]'),
    ],
)
def test_which_members_and_items_stand_beside_others_is_left_to_the_judge(schema: Any, text: str) -> None:
    form = form_of(schema)
    assert accepts(schema, text) and left_to_judge(form) and accept(form, parse(text)) is MISSING
