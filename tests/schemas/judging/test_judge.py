"""The judge: a value meets a schema exactly as a second judge says, and its violations are named."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples
from tests.support.second_judge import independent

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.judging import Judge, judge_of
from cinnabar.schemas.judging.ways import MAX_BESIDE

NAMES = st.sampled_from(["a", "b", "ab", "c"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from(["", "a", "ab", "b😀", "2024-02-29"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)
SMALL = st.integers(0, 3)
KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A schema of a few keywords, of all kinds, over these subschemas."""
    some = st.lists(inner, min_size=1, max_size=3)
    each: dict[str, st.SearchStrategy[Any]] = {
        "type": st.one_of(KINDS, st.lists(KINDS, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minimum": st.sampled_from([-1, 0, 0.5, 2]),
        "exclusiveMaximum": st.sampled_from([1, 2.5]),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": SMALL,
        "maxLength": SMALL,
        "pattern": st.sampled_from(["a", "^a", "b$", "^$"]),
        "format": st.sampled_from(["date", "unheard-of"]),
        "minItems": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "minProperties": SMALL,
        "maxProperties": SMALL,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "^b", "c$"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "prefixItems": some,
        "items": inner,
        "contains": inner,
        "minContains": SMALL,
        "maxContains": SMALL,
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "dependentSchemas": st.dictionaries(NAMES, inner, max_size=2),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
    }
    chosen = st.lists(st.sampled_from(sorted(each)), min_size=1, max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: each[name] for name in names}))


SCHEMAS = st.recursive(
    st.one_of(st.booleans(), keywords(st.booleans())), lambda inner: keywords(inner), max_leaves=10
)
WITH_REFERENCES = st.builds(
    lambda schema, one, two: {"$defs": {"one": one, "two": two}, **schema},
    keywords(st.one_of(SCHEMAS, st.sampled_from([{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}]))),
    SCHEMAS,
    keywords(st.one_of(SCHEMAS, st.just({"$ref": "#/$defs/one"}))),
)


@examples(400)
@given(st.one_of(SCHEMAS, WITH_REFERENCES), st.lists(VALUES, min_size=1, max_size=6))
def test_a_value_is_accepted_if_a_second_judge_accepts_it(schema: Any, values: list[Any]) -> None:
    judge, other = judge_of(schema), independent(schema)
    assert other is not None
    for value in values:
        allowed = other(json.dumps(value))
        assert judge.accepts(value) == allowed
        assert judge.accepts(parse(json.dumps(value))) == allowed
        assert (judge.violation(value) is None) == allowed == (not judge.violations(value))


@examples(300)
@given(st.data())
def test_the_unevaluated_parts_are_those_of_a_second_judge(data: st.DataObject) -> None:
    parts = keywords(st.one_of(st.booleans(), st.just({"minLength": 1})))
    inner = st.recursive(parts, lambda below: keywords(st.one_of(st.just(True), below)), max_leaves=6)
    keyword = data.draw(st.sampled_from(["unevaluatedProperties", "unevaluatedItems"]))
    schema = {
        data.draw(st.sampled_from(["allOf", "anyOf", "oneOf"])): data.draw(
            st.lists(inner, min_size=1, max_size=3)
        ),
        "if": data.draw(inner),
        "dependentSchemas": {"a": data.draw(inner)},
        keyword: data.draw(st.sampled_from([False, {"type": "integer"}])),
    }
    judge, other = judge_of(schema), independent(schema)
    assert other is not None
    for value in data.draw(st.lists(VALUES, min_size=1, max_size=6)):
        assert judge.accepts(value) == other(json.dumps(value))


NAMED = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}
MIXED = [{"type": "number", "minimum": 0}, {"const": "free"}, {"type": "string", "pattern": "^[A-Z]{3}$"}, NAMED]
DEEPER = {"anyOf": [{"type": "null"}, {"type": "array", "items": {"oneOf": MIXED}}]}
CLOSED = {"properties": {"b": True}, "additionalProperties": False}
#: A reference leads through an alternative, so places within alternatives are not sought.
THROUGH = {"$ref": "#/$defs/a/anyOf/0/properties/b", "$defs": {"a": {"anyOf": [{"properties": {"b": DEEPER}}]}}}


@each(
    "schema, value, sentence",
    [
        ({"multipleOf": 0.01}, 1.005, "/: 1.005 is not a multiple of 0.01"),
        ({"enum": ["x", "y"]}, "z", '/: "z" is not one of "x" or "y"'),
        (CLOSED, {"a": 1}, "/a: Additional properties are not allowed ('a' was unexpected)"),
        ({"anyOf": MIXED[:1] + MIXED[2:]}, -5, "/: -5 is less than the minimum of 0"),
        ({"oneOf": MIXED}, "dear", '/: fits none of 4 alternatives: "free" was expected; "dear" does not match "^[A-Z'),
        ({"oneOf": MIXED[2:]}, {"name": ""}, '/name: "" is shorter than 1 character'),
        ({"anyOf": [MIXED[0], NAMED]}, True, '/: fits none of 2 alternatives: true is not of type "number"; '),
        ({"properties": {"a": DEEPER}}, {"a": [1, -1]}, "/a/1: fits none of 4 alternatives: -1 is less than the min"),
        ({"properties": {"a": DEEPER}}, {"a": 1}, '/a: fits none of 2 alternatives: 1 is not of type "null"; '),
        (THROUGH, 1, '/: fits none of 2 alternatives: 1 is not of type "null"; '),
    ],
)
def test_a_violation_is_a_sentence_at_the_deepest_place_that_is_certain(schema: Any, value: Any, sentence: str) -> None:
    judge = judge_of(schema)
    assert str(judge.violation(value)).startswith(sentence)
    assert [str(one) for one in judge.violations(value)] == [str(judge.violation(value))]


#: For each keyword: its value, a record that fails by it, the place of the failure, and the failing path below the
#: keyword.
FAILING: list[tuple[str, Any, Any, str, str]] = [
    ("type", "string", 1, "", ""),
    ("type", ["string", "null"], 1, "", ""),
    ("enum", [1], 2, "", ""),
    ("const", 1, 2, "", ""),
    ("minimum", 3, 2, "", ""),
    ("maximum", 1, 2, "", ""),
    ("exclusiveMinimum", 2, 2, "", ""),
    ("exclusiveMaximum", 2, 2, "", ""),
    ("multipleOf", 3, 2, "", ""),
    ("x-cinnabar-decimals", 1, 2.25, "", ""),
    ("minLength", 2, "a", "", ""),
    ("maxLength", 0, "a", "", ""),
    ("minItems", 2, [1], "", ""),
    ("maxItems", 0, [1], "", ""),
    ("minProperties", 2, {"a": 1}, "", ""),
    ("maxProperties", 0, {"a": 1}, "", ""),
    ("required", ["b"], {"a": 1}, "", ""),
    ("dependentRequired", {"a": ["b"]}, {"a": 1}, "", ""),
    ("pattern", "^b", "a", "", ""),
    ("format", "date", "a", "", ""),
    ("propertyNames", {"maxLength": 1}, {"a": 1, "a/": 2}, "", ""),
    ("properties", {"a": {"minimum": 2}}, {"a": 1}, "/a", "/a/minimum"),
    ("properties", {"a": False}, {"a": 1}, "/a", "/a"),
    ("patternProperties", {"^/": {"minimum": 2}}, {"a": 1, "/b": 1}, "/~1b", "/^~1/minimum"),
    ("additionalProperties", {"minimum": 2}, {"a": 1}, "/a", "/minimum"),
    ("additionalProperties", False, {"a": 1}, "", ""),
    ("prefixItems", [True, {"minimum": 2}], [1, 1, 1], "/1", "/1/minimum"),
    ("items", {"minimum": 2}, [2, 1], "/1", "/minimum"),
    ("items", False, [2], "/0", ""),
    ("contains", {"minimum": 2}, [1], "", ""),
    ("uniqueItems", True, [1, 1], "", ""),
    ("$ref", "#/$defs/few", 1, "", ""),
    ("$dynamicRef", "#/$defs/few", 1, "", ""),
    ("allOf", [True, {"minimum": 2}], 1, "", "/1/minimum"),
    ("anyOf", [{"minimum": 2}, {"minimum": 3}], 1, "", ""),
    ("oneOf", [{"minimum": 1}, {"minimum": 0}], 1, "", ""),
    ("not", {"minimum": 1}, 1, "", ""),
    ("dependentSchemas", {"a": {"required": ["b"]}}, {"a": 1}, "", "/a/required"),
    ("unevaluatedProperties", False, {"a": 1}, "/a", ""),
    ("unevaluatedProperties", {"minimum": 2}, {"a": 1}, "/a", ""),
    ("unevaluatedItems", False, [1], "", ""),
    ("unevaluatedItems", {"minimum": 2}, [2, 1], "", ""),
]


@each("around", [False, True])
@each("keyword, value, record, at, below", FAILING)
def test_every_keyword_is_named_with_the_place_of_its_violation(
    keyword: str, value: Any, record: Any, at: str, below: str, around: bool
) -> None:
    few = {"few": {"minimum": 2}}
    schema: dict[str, Any] = {keyword: value}
    schema_at, value_at = f"/{keyword}{below}", at
    if keyword.endswith("Ref") or keyword == "$ref":
        schema_at = "/$defs/few/minimum"
    elif around:
        schema_at = f"/items/properties/p~0q{schema_at}"
    if around:
        schema = {"items": {"properties": {"p~q": schema}}}
        record, value_at = [{}, {"p~q": record}], f"/1/p~0q{at}"
    problem = judge_of({**schema, "$defs": few}).violation(record)
    assert problem is not None
    assert (problem.schema_pointer, problem.pointer) == (schema_at, value_at)
    refused = (value is False or value == {"a": False}) and not keyword.startswith("unevaluated")
    assert problem.keyword == ("false" if refused else schema_at.rsplit("/", 1)[1])
    if not schema_at.startswith("/$defs"):
        others = judge_of(json.loads(json.dumps(schema).replace(f'"{keyword}"', '"x-unknown"', 1)))
        assert others.violation(record) is None, "by no other keyword"


def test_a_schema_without_values_is_no_error() -> None:
    assert not judge_of(False).accepts(None)
    assert not judge_of({"type": "integer", "minimum": 2, "maximum": 1}).accepts(1)


def nested(wrap: Any, inner: Any, levels: int = 10_000) -> Any:
    """A value or a schema wrapped into itself this many times."""
    for _ in range(levels):
        inner = wrap(inner)
    return inner


@pytest.mark.timeout(20)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_properties_behind_a_reference_count_as_evaluated(keyword: str) -> None:
    part = {"$dynamicAnchor": "n", "$anchor": "m", "properties": {"a": {"type": "integer"}}}
    schema = {
        "$defs": {"n": part},
        keyword: "#m" if keyword == "$ref" else "#n",
        "unevaluatedProperties": False,
    }
    assert judge_of(schema).accepts({"a": 1}) and not judge_of(schema).accepts({"b": 1})
    items = {**schema, "$defs": {"n": {**part, "prefixItems": [True]}}, "unevaluatedItems": False}
    assert judge_of(items).accepts([1]) and not judge_of(items).accepts([1, 2])


def test_a_hundred_schemas_may_be_nested_at_one_value_and_no_more() -> None:
    def nested(count: int) -> Any:
        schema: Any = {"type": "integer"}
        for at in range(count - 1):
            schema = {"allOf": [schema]} if at % 2 else {"anyOf": [{"type": "null"}, schema]}
        return schema

    assert judge_of(nested(MAX_BESIDE)).accepts(3) and not judge_of(nested(MAX_BESIDE)).accepts("x")
    with pytest.raises(UnsupportedSchema, match=f"got {MAX_BESIDE + 1}") as caught:
        judge_of(nested(MAX_BESIDE + 1))
    assert caught.value.pointer == "/allOf"
    # A keyword that goes into the value starts the count anew.
    deeper = {"properties": {"a": nested(MAX_BESIDE)}}
    assert judge_of({"allOf": [deeper]}).accepts({"a": 3})


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "judge",
    [
        pytest.param(judge_of({"items": {"$ref": "#"}}), id="items"),
        pytest.param(judge_of({"not": {"contains": {"$ref": "#"}}}), id="not"),
        pytest.param(judge_of({"uniqueItems": True}), id="unique"),
        pytest.param(judge_of({"const": 1}), id="const"),
    ],
)
def test_a_value_of_ten_thousand_levels_is_answered(judge: Judge) -> None:
    value = nested(lambda below: [below], [])
    for every in (value, [value, value]):
        assert judge.accepts(every) in (True, False)
        problem = judge.violation(every)
        assert (problem is None) == judge.accepts(every)


@pytest.mark.slow
@pytest.mark.timeout(20)
def test_a_hundred_thousand_properties_are_ready() -> None:
    judge = judge_of({"properties": {f"p{i}": {"type": "integer"} for i in range(100_000)}})
    assert judge.accepts({"p99999": 1})
    assert not judge.accepts({"p99999": "1"})


def two_ways(last: Any, beside: dict[str, Any], steps: int = 30) -> dict[str, Any]:
    """A schema with two ways to it at each step, so 2 ** steps ways from the root in all."""
    defs: dict[str, Any] = {}
    for i in range(steps):
        further = {"$ref": f"#/$defs/d{i + 1}"}
        defs[f"d{i}"] = {"anyOf": [further, {"allOf": [further]}], **beside}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{steps}": last}}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("beside", [{}, {"unevaluatedProperties": False}, {"unevaluatedItems": False}])
def test_a_schema_with_more_ways_through_it_than_can_be_gone_is_refused_by_its_place(beside: dict[str, Any]) -> None:
    last = {"type": ["object", "array"], "properties": {"a": {}}}
    with pytest.raises(UnsupportedSchema, match="65,536 ways") as caught:
        judge_of(two_ways(last, beside))
    assert (caught.value.pointer, caught.value.keyword) == ("/$defs/d16/anyOf", "anyOf")
    judge = judge_of(two_ways(last, beside, 6))
    assert judge.accepts({"a": 1}) and judge.accepts([])
    assert judge.accepts({"b": 1}) == ("unevaluatedProperties" not in beside)
    assert judge.accepts([1]) == ("unevaluatedItems" not in beside)
    assert not judge.accepts("a") and judge.violation("a") is not None


def test_ways_that_multiply_over_the_levels_of_a_schema_are_refused_by_their_place() -> None:
    def nested(levels: int) -> dict[str, Any]:
        parts = [{"properties": {"a": {"$ref": f"#/$defs/d{at}"}}} for at in range(levels)]
        levelled = {f"d{at + 1}": {"allOf": [part, part]} for at, part in enumerate(parts)}
        return {"$defs": {"d0": {"type": "object"}, **levelled}, "$ref": f"#/$defs/d{levels}"}

    assert judge_of(nested(10)).accepts({"a": {"a": {}}})
    with pytest.raises(UnsupportedSchema, match="1,048,576 ways") as caught:
        judge_of(nested(30))
    assert caught.value.keyword == "allOf" and caught.value.pointer.startswith("/$defs/d")


@pytest.mark.parametrize("pattern", [r"^\d+\.?\d+$", r"^\w+-?\w+$", r"^(?!x-)[a1]+-?[a1]+$"])
def test_one_sign_is_no_match_of_two_repeats_around_an_optional_one(pattern: str) -> None:
    for schema in ({"pattern": pattern}, {"propertyNames": {"pattern": pattern}, "patternProperties": {"(?=1)z": {}}}):
        judge = judge_of(schema)
        named = "propertyNames" in schema
        assert [judge.accepts({text: 1} if named else text) for text in ("1", "11")] == [False, True]
    names = judge_of({"patternProperties": {pattern: False}})
    assert names.accepts({"1": 1}) and not names.accepts({"11": 1})


@pytest.mark.parametrize(
    ("schema", "number"),
    [
        ({"multipleOf": 1}, "1.0000000000000000000001"), ({"multipleOf": 10.0}, "1000000000000000.01"),
        ({"maximum": 9007199254740991.0}, "9007199254740991.01"), ({"exclusiveMinimum": 10**20}, "1" + 20 * "0"),
    ],
)  # fmt: skip
def test_numbers_of_many_digits_are_judged_exactly_and_told_once(schema: dict[str, Any], number: str) -> None:
    (violation,) = judge_of(schema).violations(Decimal(number))
    assert violation.keyword in schema


def test_a_schema_with_an_address_of_its_own_tells_places_in_alternatives() -> None:
    part = {"properties": {"z": {"type": "string", "minLength": 2}}, "type": "object"}
    for address in ("invoice.schema.json", "/abs/schema.json", "https://example.org/a.json"):
        judge = judge_of({"$id": address, "properties": {"a": {"anyOf": [part, {"type": "null"}]}}})
        assert str(judge.violation({"a": {"z": "b"}})).startswith("/a/z: "), address


@pytest.mark.timeout(20)
@pytest.mark.parametrize("more", [{}, {"unevaluatedProperties": False}])
def test_alternatives_within_alternatives_are_told_in_no_time(more: dict[str, Any]) -> None:
    ways = [{"properties": {"a": {"$ref": "#/$defs/n"}}, "required": [name]} for name in ("a", "b")]
    node = {"description": "unevaluated", "type": "object", "anyOf": ways} | more
    value: Any = {}
    for _ in range(40):
        value = {"a": value}
    assert judge_of({"$defs": {"n": node}, "$ref": "#/$defs/n"}).violation(value) is not None


@pytest.mark.timeout(20)
def test_levels_of_a_value_do_not_multiply_the_ways_to_a_schema() -> None:
    again: dict[str, list[Any]] = {"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]}
    judge = judge_of({"type": ["object", "integer"], "properties": {"a": again}})
    value: Any = "no integer"
    for _ in range(40):
        value = {"a": value}
    assert not judge.accepts(value)
    assert str(judge.violation(value)).startswith("/a: fits none of 2 alternatives: ")
    again["anyOf"][1] = {"type": "null"}
    one_way = judge_of({"type": ["object", "integer"], "properties": {"a": again}})
    assert str(one_way.violation(value)).startswith("/a" * 40 + ": fits none of 2 alternatives: ")
