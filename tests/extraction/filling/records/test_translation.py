"""Translation: patterns reach the independent validator with the meaning that ECMA-262 gives them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from tests.support.cases import each

from cinnabar.errors import SchemaError
from cinnabar.extraction.filling.records.validation import ECMA_PATTERN, Validator, rewritten, rust_pattern, translate
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.regex.patterns import pattern_matches


def gate(schema: Any) -> Validator:
    return Validator(SchemaSource("mine", schema, None, "0"))


#: Pattern, strings that have a match, strings that have none.
READ_IN_TWO_WAYS = [
    (r"a\b", ["a", "aé", "a b"], ["ab", "a_"]),
    (r"^a\B", ["ab"], ["aé", "a", "a b"]),
    (r"^.$", ["a", "\x85", "😀"], ["\n", "\r", "\u2028", "\u2029", ""]),
    (r"^[^]$", ["a", "\n", "😀"], ["", "ab"]),
    (r"^[]?$", [""], ["a"]),
    (r"^\cJ$", ["\n"], ["J"]),
    (r"^\0$", ["\0"], ["0", ""]),
    (r"^[^\ud800-\udfff]$", ["a", "😀"], ["", "aa"]),
    (r"^(?:\ud83d\ude00|\ud800)$", ["😀"], ["a", ""]),
    (r"^a{,3}$", ["a{,3}"], ["a", "aaa"]),
    (r"^{$", ["{"], [""]),
    (r"^[[a]$", ["[", "a"], ["[a", ""]),
    (r"^[a&&b]$", ["&", "a", "b"], ["", "&&"]),
    (r"^[\w~~~]$", ["~", "a"], ["é", ""]),
    (r"^\S\s$", ["a\ufeff", "a\u2003"], ["a\x85", "a"]),
    (r"^\p{L}\d\W$", ["é1ü"], ["é١-", "11-"]),
    (r"(?<=a+)b(?!c)", ["aab"], ["b", "abc"]),
    (r"^(?:a|bc){2,}$", ["abc", "bcbca"], ["a", "abcb"]),
    # The validator's engine has no such pattern.
    (r"^(?:(?=a)){0,2}[ab]$", ["a", "b"], ["c", ""]),
    (r"^(?:(?:a|b){2000}){200}", [], ["ab", ""]),
]  # fmt: skip


@each("pattern, found, missed", READ_IN_TWO_WAYS)
def test_a_pattern_means_what_ecma_262_says(pattern: str, found: list[str], missed: list[str]) -> None:
    direct, denied = gate({"pattern": pattern}), gate({"not": {"pattern": pattern}})
    for text, wanted in ((text, text in found) for text in (*found, *missed)):
        assert (direct.check(json.dumps(text)) == []) is wanted, text
        assert (denied.check(json.dumps(text)) == []) is not wanted, text
        assert pattern_matches(pattern, text) is wanted
    assert direct.check("1") == []


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
def test_a_translated_pattern_is_one_under_the_meta_schemas_of_older_drafts(draft: str) -> None:
    schema = {"$schema": f"http://json-schema.org/{draft}/schema#", "pattern": r"^\d.[^]\u{1f600}$"}
    assert gate(schema).check('"1ab😀"') == [] and gate(schema).check('"1a\\r"')


def test_names_by_pattern_are_found_as_ecma_262_says() -> None:
    number = {"type": "number"}
    schema = {
        "patternProperties": {r"^a\b": number, r"^a(?:\b)": {"maximum": 3}, "^[^]{2}$": {"type": "null"}},
        "additionalProperties": False,
    }
    assert gate(schema).check('{"a":1,"aé":null,"\\n\\n":null}')
    assert gate(schema).check('{"a":1,"\\n\\n":null}') == []
    assert [v.pointer for v in gate(schema).check('{"a":4}')] == ["/a"]
    assert gate(schema).check('{"ab":1}') and gate(schema).check('{"abc":null}')


def test_two_patterns_with_one_translation_both_hold() -> None:
    one, other = r"^\x61\b", r"^a\b"
    assert rust_pattern(one) == rust_pattern(other)
    schema = {"patternProperties": {one: {"type": "number"}, other: {"maximum": 3}}}
    assert gate(schema).check('{"a":"x"}') and gate(schema).check('{"a":4}')
    assert gate(schema).check('{"a":3}') == []


def test_a_pattern_that_a_reference_names_keeps_its_name() -> None:
    name = r"^a\b".replace("^", "%5E").replace("\\", "%5C")
    schema = {
        "patternProperties": {r"^a\b": {"type": "number"}},
        "properties": {"x": {"$ref": f"#/patternProperties/{name}"}},
    }
    assert gate(schema).check('{"x":"no"}') and gate(schema).check('{"x":1}') == []


def test_only_keywords_are_translated() -> None:
    schema = {
        "properties": {"pattern": {"const": {"pattern": r"\b"}}, "p": {"pattern": r"\b"}},
        "enum": [{"pattern": r"\b"}],
        "default": {"pattern": r"\b"},
    }
    found, patterns = translate(schema, nullable=False)
    assert list(patterns.values()) == [r"\b"]
    part = found["properties"].pop("p")
    assert part["pattern"] in patterns
    assert found == {**schema, "properties": {"pattern": schema["properties"]["pattern"]}}


def test_violations_show_the_schemas_own_pattern() -> None:
    (wrong,) = gate({"properties": {"a": {"pattern": r"^\bx"}}}).check('{"a":"y"}')
    assert (wrong.pointer, wrong.message) == ("/a", r'"y" does not match "^\bx"')
    (wrong,) = gate({"pattern": r"(?:(?=x))*x"}).check('"y"')
    assert wrong.message == "'y' does not match '(?:(?=x))*x'"


def test_an_unreadable_pattern_is_left_to_the_validator() -> None:
    assert rust_pattern(r"(?i)\b") == r"(?i)\b"
    for pattern in ("(", "[b-a]", ")"):
        assert rust_pattern(pattern) == pattern
        with pytest.raises(SchemaError, match="refused by the validator of records"):
            gate({"pattern": pattern})


def test_only_patterns_that_the_validator_refuses_use_our_engine() -> None:
    own = [pattern for pattern, _, _ in READ_IN_TWO_WAYS if rust_pattern(pattern) is None]
    assert own == [pattern for pattern, _, _ in READ_IN_TWO_WAYS[-2:]]
    for pattern in own:
        assert translate({"pattern": pattern}, nullable=False)[0] == {ECMA_PATTERN: pattern}
        with pytest.raises(ValueError, match="regex"):
            jsonschema_rs.validator_for({"pattern": pattern})


def test_each_subschema_is_translated_once_at_any_depth() -> None:
    seen: list[object] = []
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(15):
        schema = {"properties": {"a": schema}}
    assert rewritten(schema, seen.append) == schema
    assert len(seen) == 16


@pytest.mark.parametrize("keyword", ["properties", "$defs", "dependencies", "dependentSchemas"])
def test_a_property_named_like_a_keyword_is_a_schema(keyword: str) -> None:
    schema = {keyword: {"const": {"pattern": r"^\cJ"}, "pattern": {"pattern": r"^\cJ"}}}
    rust, _ = translate(schema, nullable=False)
    assert rust[keyword]["const"] == rust[keyword]["pattern"] != {"pattern": r"^\cJ"}
