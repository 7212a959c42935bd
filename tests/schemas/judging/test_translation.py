"""Translation: patterns reach jsonschema-rs with the meaning that ECMA-262 gives them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import each

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas.judging import judge_of
from cinnabar.schemas.judging.translation import ECMA_PATTERN, name_pattern, rewritten, rust_pattern, translate
from cinnabar.schemas.regex.patterns import pattern_matches

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
    direct, denied = judge_of({"pattern": pattern}), judge_of({"not": {"pattern": pattern}})
    for text, wanted in ((text, text in found) for text in (*found, *missed)):
        assert direct.accepts(text) is wanted, text
        assert denied.accepts(text) is not wanted, text
        assert pattern_matches(pattern, text) is wanted
    assert direct.accepts(1)


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
def test_a_translated_pattern_is_one_under_the_meta_schemas_of_older_drafts(draft: str) -> None:
    schema = {"$schema": f"http://json-schema.org/{draft}/schema#", "pattern": r"^\d.[^]\u{1f600}$"}
    assert judge_of(schema).accepts("1ab😀") and not judge_of(schema).accepts("1a\r")


def test_names_by_pattern_are_found_as_ecma_262_says() -> None:
    number = {"type": "number"}
    schema = {
        "patternProperties": {r"^a\b": number, r"^a(?:\b)": {"maximum": 3}, "^[^]{2}$": {"type": "null"}},
        "additionalProperties": False,
    }
    judge = judge_of(schema)
    assert not judge.accepts({"a": 1, "aé": None, "\n\n": None})
    assert judge.accepts({"a": 1, "\n\n": None})
    assert [one.pointer for one in judge.violations({"a": 4})] == ["/a"]
    assert not judge.accepts({"ab": 1}) and not judge.accepts({"abc": None})


def test_two_patterns_with_one_translation_both_hold() -> None:
    one, other = r"^\x61\b", r"^a\b"
    assert rust_pattern(one) == rust_pattern(other)
    schema = {"patternProperties": {one: {"type": "number"}, other: {"maximum": 3}}}
    judge = judge_of(schema)
    assert [judge.accepts({"a": value}) for value in ("x", 4, 3)] == [False, False, True]


def test_a_reference_may_lead_through_a_pattern() -> None:
    name = r"^a\b".replace("^", "%5E").replace("\\", "%5C")
    schema = {
        "patternProperties": {r"^a\b": {"type": "number"}, r"^\x61\b": {"maximum": 3}},
        "properties": {"x": {"$ref": f"#/patternProperties/{name}"}},
    }
    judge = judge_of(schema)
    assert not judge.accepts({"x": "no"}) and judge.accepts({"x": 4}) and not judge.accepts({"a": 4})
    assert judge.accepts({"aé": 3}) and not judge.accepts({"aé": 4})


def test_only_keywords_are_translated() -> None:
    schema = {
        "properties": {"pattern": {"const": {"pattern": r"\b"}}, "p": {"pattern": r"\b"}},
        "enum": [{"pattern": r"\b"}],
        "default": {"pattern": r"\b"},
    }
    found, patterns = translate(schema, looks=False)
    part = found["properties"].pop("p")
    assert part == {ECMA_PATTERN: r"\b"} and patterns[ECMA_PATTERN] == "pattern"
    assert found == {**schema, "properties": {"pattern": schema["properties"]["pattern"]}}


def test_violations_show_the_schemas_own_pattern() -> None:
    (wrong,) = judge_of({"properties": {"a": {"pattern": r"^\bx"}}}).violations({"a": "y"})
    assert (wrong.pointer, wrong.message) == ("/a", r'"y" does not match "^\bx"')
    (wrong,) = judge_of({"patternProperties": {r"^a\b": {"maximum": 3}}}).violations({"a": 4})
    assert (wrong.pointer, wrong.schema_pointer) == ("/a", r"/patternProperties/^a\b/maximum")
    (wrong,) = judge_of({"pattern": r"(?:(?=x))*x"}).violations("y")
    assert (wrong.message, wrong.schema_pointer) == ('"y" does not match "(?:(?=x))*x"', "/pattern")


@pytest.mark.parametrize("pattern", ["(", "[b-a]", ")", r"(?i)\b", "(a)\\1"])
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_an_unreadable_pattern_is_refused_by_its_pointer(pattern: str, keyword: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        judge_of({"items": {keyword: pattern if keyword == "pattern" else {pattern: {}}}})
    assert caught.value.pointer.startswith(f"/items/{keyword}") and caught.value.keyword == keyword


def test_names_by_a_pattern_that_jsonschema_rs_cannot_run_are_refused() -> None:
    with pytest.raises(UnsupportedSchema, match="has no such pattern"):
        judge_of({"patternProperties": {r"^(?:(?=a)){0,2}[ab]$": {}}})


def test_only_patterns_that_the_validator_refuses_use_our_engine() -> None:
    own = [pattern for pattern, _, _ in READ_IN_TWO_WAYS if rust_pattern(pattern) is None]
    assert len(own) == 5 and all("(?" in pattern or "\\b" in pattern.lower() for pattern in own)
    for pattern in own:
        assert translate({"pattern": pattern}, looks=False)[0] == {ECMA_PATTERN: pattern}
    assert [name_pattern(pattern) is None for pattern in own] == [False, False, False, True, True]


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
    rust, _ = translate(schema, looks=False)
    assert rust[keyword]["const"] == rust[keyword]["pattern"] != {"pattern": r"^\cJ"}
