"""Schemas in YAML: the value that a text stands for, its lines, and what is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each

from cinnabar.errors import SchemaError
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.parsing.yaml_texts import YamlError, read_yaml, yaml_text

TRAPS = ["1e5", "0o17", "0x1F", "no", "", "<<", "~", "012", ".5", "1.", "a: b", "2024-01-31"]
TEXTS = st.text() | st.sampled_from(TRAPS)
WRITTEN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=12,
)


@given(WRITTEN)
def test_written_yaml_is_read_as_the_same_value(value: Any) -> None:
    found = read_yaml(yaml_text(value)).value
    assert (found, json.dumps(found)) == (value, json.dumps(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("[yes, on, Off, y]", ["yes", "on", "Off", "y"]),
        ("a: 2024-01-31", {"a": "2024-01-31"}),
        ("[12:30, 1_000, 010, 0o10, 0x1F]", ["12:30", "1_000", 10, 8, 31]),
        ("[true, False, NULL, ~, ]", [True, False, None, None]),
        ("{1: a, on: b, null: c, 1.5: d}", {"1": "a", "on": "b", "null": "c", "1.5": "d"}),
        ("['1', \"true\", !!str 7]", ["1", "true", "7"]),
        ("a: 12345678901234567890.123456789", {"a": Decimal("12345678901234567890.123456789")}),
        ("- &one {a: 1}\n- *one", [{"a": 1}, {"a": 1}]),
        ("a: |\n  two\n  lines\nb: >-\n  one\n  line\n", {"a": "two\nlines\n", "b": "one line"}),
        ("", None),
    ],
)
def test_plain_scalars_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    assert read_yaml(text).value == value


@each(
    "text, line, said",
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "the key 'c' twice"),
        ("a: 1\n*a : 2", 2, "undefined alias"),
        ("a: &x [1, *x]", 1, "recursive"),
        ("a: 1\nb: !!python/object:os.system x", 2, "not determine a constructor for the tag"),
        ("a: 1\n<<: {}", 2, "merge key"),
        ("a: 1\n---\nb: 1\n", 2, "another document"),
        ("a:\n\t- b", 2, "a tab; indent with blanks"),
        ("a: 1\nb: @x", 2, "put the text in quotes"),
        ("a: 1\n? [1]\n: 2", 2, "expected a text as a key"),
        ("a: 1\nb: \x07", 2, "is not allowed"),
        ("a: !!int yes", 1, "of the type int"),
        ("a: [1\nb: 2", 2, "expected"),
    ],
)
def test_a_refusal_names_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(YamlError, match=said) as caught:
        read_yaml(text)
    assert caught.value.line == line


def test_aliases_of_aliases_are_bounded() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 12))
    with pytest.raises(YamlError, match="values with all aliases written out"):
        read_yaml(bomb)


def test_a_text_that_is_too_deep_is_refused_with_its_line() -> None:
    with pytest.raises(YamlError, match="line 2: more than 200 objects and lists"):
        read_yaml("b: 1\na: " + "[" * 100_000)
    assert read_yaml("[" * 200 + "]" * 200).value


def test_a_schema_in_yaml_is_the_schema_in_json(tmp_path: Path) -> None:
    text = "# parcels\ntitle: parcel\ntype: object\nproperties:\n  weight: {type: [number, 'null'], minimum: 0.5}\n"
    (tmp_path / "parcel.schema.yaml").write_text(text, "utf-8-sig")
    (tmp_path / "parcel.json").write_text(json.dumps(read_yaml(text).value))
    source = load_schema(tmp_path / "parcel.schema.yaml")
    assert source == load_schema(str(tmp_path / "parcel.json"))
    assert compile_schema(source.schema).accepts('{"weight": 2}')


def test_a_mistake_in_a_schema_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.yml").write_text("title: wrong\nproperties:\n  a:\n    description: x\n    type: text\n")
    with pytest.raises(SchemaError, match=r"wrong\.yml, line 5: /properties/a/type: expected .*string"):
        load_schema(tmp_path / "wrong.yml")
    (tmp_path / "twice.yml").write_text("title: a\ntitle: b\n")
    with pytest.raises(SchemaError, match=r"twice\.yml: expected YAML, got line 2: the key 'title' twice"):
        load_schema(tmp_path / "twice.yml")


def test_a_misspelt_file_in_yaml_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "parcels.yaml").write_text("title: a\n")
    with pytest.raises(SchemaError, match=r"is it .*parcels\.yaml\?"):
        load_schema(str(tmp_path / "parcel.yaml"))
