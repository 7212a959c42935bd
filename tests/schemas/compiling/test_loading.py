"""Loading schemas from names, files, classes, dicts and Outlines types."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from cinnabar.schemas import SchemaError, compile_schema, load_schema
from cinnabar.schemas.library import LIBRARY, Receipt

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


class Priced(BaseModel):
    exact: Annotated[Decimal, Field(decimal_places=2, ge=0)]
    bare: Decimal | None = None


def test_a_library_name_gives_its_class_and_keeps_its_name() -> None:
    source = load_schema("insurance_mail")
    assert (source.name, source.model) == ("insurance_mail", LIBRARY["insurance_mail"])


def test_a_file_is_named_by_its_title_or_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "order.schema.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8-sig")
    assert load_schema(str(path)).name == "order"
    path.write_text(json.dumps({**SCHEMA, "title": "Order"}))
    assert load_schema(path).name == "Order"


def test_a_class_is_found_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_fields.py").write_text(
        "from pydantic import BaseModel\nclass Note(BaseModel):\n    text: str\nPLAIN = {'type': 'string'}\n"
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    source = load_schema("my_own_fields:Note")
    assert source.model is not None and source.model.__name__ == "Note"
    assert source.schema["properties"]["text"]["type"] == "string"
    assert load_schema("my_own_fields:PLAIN").schema == {"type": "string"}
    assert sys.path == before
    with pytest.raises(SchemaError, match="Missing"):
        load_schema("my_own_fields:Missing")
    with pytest.raises(SchemaError, match="no_such_module"):
        load_schema("no_such_module:Note")


def test_a_dict_and_a_class_are_taken_as_they_are() -> None:
    assert load_schema(SCHEMA).schema == SCHEMA
    assert load_schema(Receipt).name == "Receipt"
    assert load_schema(Receipt).fingerprint == load_schema("receipt").fingerprint


@pytest.mark.parametrize("text", ["true", "false"])
def test_a_boolean_is_a_schema(text: str, tmp_path: Path) -> None:
    (tmp_path / "any.json").write_text(text)
    source = load_schema(tmp_path / "any.json")
    assert (source.name, source.schema) == ("any", text == "true")
    assert load_schema(text == "true").fingerprint == source.fingerprint
    assert compile_schema(source.schema).accepts("[1]") == (text == "true")


def test_decimals_of_a_class_become_numbers_with_fixed_places() -> None:
    properties = load_schema(Priced).schema["properties"]
    assert properties["exact"] == {"type": "number", "x-cinnabar-decimals": 2, "minimum": 0, "title": "Exact"}
    assert properties["bare"]["anyOf"][0] == {"type": "number", "x-cinnabar-decimals": 9}
    compiled = compile_schema(load_schema(Priced).schema)
    assert compiled.accepts('{"exact":19.99}')
    assert not compiled.accepts('{"exact":"19.99"}')
    assert not compiled.accepts('{"exact":0.001}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", r"s\.json: expected JSON"),
        ("[]", "expected a JSON object, true or false, got an array"),
        ('{"type":"string","type":"null"}', "twice"),
        ('{"type":"strin"}', r's\.json: /type: expected array, .*, got "strin" \(did you mean "string"\?\)'),
        ('{"properties":{"a/b":{"type":"Date"}}}', r'/properties/a~1b/type: .*"format": "date"'),
        ('{"type":["null","null"]}', "name each type once"),
        ('{"type":"any"}', "leave `type` out"),
        ('{"type":"list"}', 'did you mean "array"'),
        ('{"minLength":-1}', "/minLength: expected 0 or more, got -1"),
        ('{"maxLength":"5"}', 'expected a whole number, got "5"'),
        ('{"multipleOf":0}', "expected more than 0"),
        ('{"anyOf":[]}', "expected a list of one or more"),
        ('{"required":["a","a"]}', "expected a list without repetitions"),
        ('{"properties":{"a":{"required":true}}}', "a list of names beside `properties`"),
        ('{"additionalProperties":"no"}', "expected a schema, which is an object, true or false"),
        ('{"items":[{}]}', "`prefixItems`"),
        ('{"$id":"a#b"}', "expected a text that matches"),
        ('{"minimum":1,"exclusiveMinimum":true}', "true and false belong to draft 4"),
        ('{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true}', "'minimum' beside"),
        ('{"$schema":"https://example.org/own","type":"string"}', "example.org"),
    ],
)
def test_a_broken_file_is_refused_with_a_clear_message(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(SchemaError, match=said):
        load_schema(str(path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"s\.yaml: expected a JSON object, true or false, got nothing"),
        ("only words", "true or false, got 'only words'"),
    ],
)
def test_a_file_in_yaml_that_is_no_schema_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError, match=said):
        load_schema(path)


def test_a_folder_is_no_schema(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").mkdir()
    for spec in (tmp_path / "s.yaml", str(tmp_path / "s.yaml")):
        with pytest.raises(SchemaError, match=r"s\.yaml: expected a JSON Schema file"):
            load_schema(spec)


@pytest.mark.parametrize("spec", ["recipt", "", "a:", ":b", "missing.json", "{}" * 5000])
def test_an_unknown_name_says_what_was_expected(spec: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load_schema(spec)
    assert "expected" in str(caught.value)
    if not spec.endswith(".json"):
        assert all(name in str(caught.value) for name in LIBRARY)


@pytest.mark.parametrize("spec", [None, 3, ["invoice"]])
def test_anything_else_is_refused(spec: Any) -> None:
    with pytest.raises(SchemaError, match="expected a name"):
        load_schema(spec)


def test_the_fingerprint_changes_with_the_description_and_not_with_key_order() -> None:
    one = load_schema({"type": "string", "description": "x"})
    assert one.fingerprint == load_schema({"description": "x", "type": "string"}).fingerprint
    assert one.fingerprint != load_schema({"type": "string", "description": "y"}).fingerprint
    assert len(one.fingerprint) == 64
