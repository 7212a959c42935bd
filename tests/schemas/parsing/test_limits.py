"""Limits of schemas: depth, non-JSON values, broken Unicode and endless numbers are refused by their place."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.schemas import SchemaError, UnsupportedSchema, compile_schema, load_schema
from cinnabar.schemas.parsing.limits import MAX_DIGITS, MAX_LEVELS
from cinnabar.schemas.parsing.texts import read_schema, schema_text

#: A schema around another one, and the number of objects and lists that it adds.
WRAPS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "properties": (lambda below: {"properties": {"a": below}, "required": ["a"]}, 2),
    "$defs": (lambda below: {"$defs": {"a": below}}, 2),
    "patternProperties": (lambda below: {"patternProperties": {"a": below}}, 2),
    "dependentSchemas": (lambda below: {"dependentSchemas": {"a": below}}, 2),
    "additionalProperties": (lambda below: {"additionalProperties": below}, 1),
    "unevaluatedProperties": (lambda below: {"unevaluatedProperties": below}, 1),
    "items": (lambda below: {"items": below, "minItems": 1}, 1),
    "contains": (lambda below: {"contains": below}, 1),
    "prefixItems": (lambda below: {"prefixItems": [below], "minItems": 1}, 2),
    "allOf": (lambda below: {"allOf": [below]}, 2),
    "anyOf": (lambda below: {"anyOf": [{"type": "null"}, below]}, 2),
    "oneOf": (lambda below: {"oneOf": [below, {"type": "object"}]}, 2),
    "not": (lambda below: {"not": below}, 1),
    "else": (lambda below: {"if": {"type": "null"}, "else": below}, 1),
    "unknown": (lambda below: {"x-unknown": below}, 1),
}


def nested(keyword: str, levels: int) -> dict[str, Any]:
    """A schema with this many nested objects and lists, or one fewer."""
    wrap, each = WRAPS[keyword]
    schema: dict[str, Any] = {"type": "string"}
    for _ in range((levels - 1) // each):
        schema = wrap(schema)
    return schema


def further_down(frames: int, work: Callable[[], Any]) -> Any:
    """Call `work` with this many stack frames already in use."""
    return work() if frames == 0 else further_down(frames - 1, work)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("keyword", WRAPS)
def test_a_schema_at_the_limit_compiles_or_is_refused_by_its_place(keyword: str) -> None:
    schema = nested(keyword, MAX_LEVELS)

    def use() -> None:
        compiled = compile_schema(schema)
        compiled.accepts("[[[]]]")
        try:
            compiled.canonical(json.loads(compiled.minimal()))
        except UnsupportedSchema as refused:
            assert refused.pointer
        assert Validator(load_schema(schema)).check("[[[]]]") is not None

    try:
        further_down(150, use)
    except UnsupportedSchema as refused:
        assert "nested at one value" in refused.reason


@pytest.mark.timeout(20)
@pytest.mark.parametrize("levels", [MAX_LEVELS + 1, 10_000])
@pytest.mark.parametrize("keyword", WRAPS)
def test_one_level_more_is_refused_by_its_place(keyword: str, levels: int) -> None:
    _, each = WRAPS[keyword]
    for read in (compile_schema, load_schema):
        with pytest.raises(UnsupportedSchema, match=f"more than {MAX_LEVELS} objects and lists") as caught:
            read(nested(keyword, levels + each))
        assert caught.value.pointer.count("/") == MAX_LEVELS
        assert caught.value.keyword in (keyword, "a", "x-unknown")
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize("levels", [MAX_LEVELS, 10_000])
def test_a_file_that_is_too_deep_is_refused(levels: int, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"const": ' + '{"a/b":[2, ' * levels + "1" + "]}" * levels + "}")
    with pytest.raises(UnsupportedSchema, match="objects and lists within one another") as caught:
        load_schema(path)
    wanted = ["const", *(["a~1b", "1"] * MAX_LEVELS)][:MAX_LEVELS]
    # What is too deep for Python's parser is refused as a whole.
    assert caught.value.pointer in ("", "".join(f"/{step}" for step in wanted))


def test_data_as_deep_as_a_schema_may_be_is_held() -> None:
    inner: Any = 1
    for _ in range(MAX_LEVELS - 1):
        inner = [inner]
    source = load_schema({"const": inner})
    assert compile_schema(source.schema).minimal() == "[" * (MAX_LEVELS - 1) + "1" + "]" * (MAX_LEVELS - 1)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("levels", [190, 260, 900, 10_000])
def test_a_record_deeper_than_its_schema_is_judged_or_refused(levels: int) -> None:
    source = load_schema({"items": {"$ref": "#"}, "maxItems": 1})
    compiled, text = compile_schema(source.schema), "[" * levels + "]" * levels
    assert compiled.accepts(text) or levels > MAX_LEVELS
    assert (Validator(source).check(text) == []) is (levels < 1_000)
    value: Any = []
    for _ in range(levels):
        value = [value]
    with pytest.raises(ValueError, match="expected"):
        compiled.canonical(value)


NUMBERS = {
    "const": ("0.1000000000000000000001", "0.1"),
    "maximum": ("12345678901234567890.5", "12345678901234567890.6"),
    "multipleOf": ("0.1000000000000000000001", "0.1"),
    "minimum": ("1e400", "1e308"),
    "enum": ("[1e-400]", "0"),
}


@pytest.mark.parametrize("keyword", NUMBERS)
def test_a_number_in_a_file_keeps_its_exact_value(keyword: str, tmp_path: Path) -> None:
    path, (said, other) = tmp_path / "s.json", NUMBERS[keyword]
    path.write_text(f'{{"type": "number", "{keyword}": {said}}}')
    source, text = load_schema(path), said.strip("[]")
    judge = compile_schema(source.schema)
    assert judge.accepts(text) and not judge.accepts(other)
    last = Validator(source)
    assert not last.check(text) and last.check(other)
    path.write_text(path.read_text().replace(text, other))
    assert source.fingerprint != load_schema(path).fingerprint
    assert read_schema(schema_text(source.schema)) == source.schema


def test_a_schema_is_the_same_from_a_file_and_from_python(tmp_path: Path) -> None:
    schema = {"minimum": 0.01, "maximum": 1e300, "multipleOf": 0.5, "enum": [1.50, 2, 10**30, -0.0, 1e-7]}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    assert load_schema(tmp_path / "s.json").fingerprint == load_schema(schema).fingerprint


def test_decimals_are_written_as_numbers_beside_any_texts() -> None:
    schema = {"a": Decimal("1E+400"), "decimal 0:0": "decimal 0:0", "b": ["decimal 1:0", Decimal("0.10")]}
    text = schema_text(schema)
    assert text == '{"a": 1E+400, "decimal 0:0": "decimal 0:0", "b": ["decimal 1:0", 0.10]}'
    with pytest.raises(TypeError, match="expected JSON, got set"):
        schema_text({"a": {1}})


@pytest.mark.parametrize(
    ("number", "allowed"),
    [
        ("9" * MAX_DIGITS, True),
        ("9" * 5_000, False),
        ("-1" + "0" * 4_000, False),
        ("1e3999", True),
        ("1e4000", False),
        ("1e-4000", True),
        ("1e-4001", False),
        ("1e99999999999999999999", False),
        ("0." + "1" * 4_001, False),
    ],
)
def test_a_number_of_thousands_of_digits_is_refused_by_its_place(
    number: str, allowed: bool, tmp_path: Path
) -> None:
    path = tmp_path / "s.json"
    path.write_text(f'{{"items": {{"minimum": {number}}}}}')
    if allowed:
        assert compile_schema(load_schema(path).schema).accepts("[]")
        return
    with pytest.raises(UnsupportedSchema, match="more than 4,000 digits") as caught:
        load_schema(path)
    assert (caught.value.pointer, caught.value.keyword) == ("/items/minimum", "minimum")


def test_an_integer_of_python_has_the_same_limit() -> None:
    assert compile_schema({"maximum": 10**MAX_DIGITS - 1}).accepts("7")
    with pytest.raises(UnsupportedSchema, match=r"^/maximum: maximum: a number of more than 4,000 digits"):
        compile_schema({"maximum": 10**MAX_DIGITS})


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_that_only_python_reads_is_refused_by_its_place(word: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(f'{{"default": {{"a/b": [{word}]}}}}')
    with pytest.raises(SchemaError, match=rf"s\.json: /default/a~1b/0: expected JSON, got {word}$"):
        load_schema(path)
    for number in (float(word), Decimal(word)):
        with pytest.raises(SchemaError, match=f"/enum/1: expected JSON, got {word}$"):
            compile_schema({"enum": [1, number]})


@pytest.mark.parametrize(
    ("text", "pointer", "keyword"),
    [
        (r'{"enum": ["\ud800"]}', "/enum/0", "enum"),
        (r'{"title": "a \udfff"}', "/title", "title"),
        (r'{"properties": {"\ud800": {"type": "string"}}}', "/properties", "properties"),
        (r'{"default": [{"a": "\ud800"}]}', "/default/0/a", "a"),
    ],
)
def test_a_lone_surrogate_is_refused_by_its_place_and_shown_escaped(
    text: str, pointer: str, keyword: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(UnsupportedSchema, match="lone surrogate in ") as caught:
        load_schema(path)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
    assert str(caught.value).isascii()


def test_a_pair_of_surrogates_is_a_code_point(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(r'{"const": "\ud83d\ude00"}')
    assert compile_schema(load_schema(tmp_path / "s.json").schema).accepts('"😀"')


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"items": {"enum": [f"{n:03}" + "a" * 900 for n in range(500)]}}, "/items/enum"),
        ({"enum": [f"{n:02}" + f"{n:02}" * 500 for n in range(25)]}, "/enum"),
        ({"properties": {"a": {"const": {"b": ["a" * 20_000]}}}, "required": ["a"]}, "/properties/a/const"),
    ],
)
def test_choices_that_no_automaton_holds_are_refused_by_their_place(schema: Any, pointer: str) -> None:
    compiled = compile_schema(schema)
    with pytest.raises(UnsupportedSchema, match=r"at most [24]0*0 \(name fewer or shorter values") as caught:
        _ = compiled.form
    assert caught.value.pointer == pointer
