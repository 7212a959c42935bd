"""A keyword that looks misspelt is refused wherever a schema is given; names, data and keywords of others are taken."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import each

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas import load_schema
from cinnabar.schemas.compiling.loading import stored_schema
from cinnabar.schemas.compiling.misspelt_keywords import misspelt_keywords

MISSPELT: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"propertys": {"a": {}}}, [("/propertys", "properties")]),
    ({"properties": {"requird": {"descripton": "x"}}}, [("/properties/requird/descripton", "description")]),
    ({"anyOf": [{"typ": "null"}]}, [("/anyOf/0/typ", "type")]),
    ({"anyOf": [{"tpye": "null"}, {"any_of": []}]}, [("/anyOf/0/tpye", "type"), ("/anyOf/1/any_of", "anyOf")]),
    ({"items": {"x-cinnabar-decimal": 2}}, [("/items/x-cinnabar-decimal", "x-cinnabar-decimals")]),
    ({"x-cinnabar-check": {"a": "net = 1"}}, [("/x-cinnabar-check", "x-cinnabar-checks")]),
    ({"minLenght": 2, "max_length": 3}, [("/minLenght", "minLength"), ("/max_length", "maxLength")]),
    ({"additionalproperties": False}, [("/additionalproperties", "additionalProperties")]),
    ({"defs": {"typ": {"formt": "date"}}}, [("/defs", "$defs")]),
]
#: Data, keywords of others and of OpenAPI, annotations, words that only look alike, places of definitions.
TAKEN: list[Any] = [
    {"const": {"requird": 1}, "enum": [{"typ": 1}], "default": {"formt": 1}},
    {"nullable": True, "x-order": 1, "$comment": "typ", "comment": "typ", "example": {"typ": 1}, "discriminator": {}},
    {"note": "x", "notes": "x", "unit": "kg", "label": "a", "name": "b", "when": "x", "tags": [], "ui:order": []},
    {"_format": "x", "@type": "Person", "$default": 1, "$type": "text", "x-format": "date", "x-cinnabar-note": 1},
    {"properties": {"typ": {}, "item": {}, "propertys": {"type": "string"}}, "required": ["typ"]},
    {"defs": {"a": {"type": "string"}}, "properties": {"b": {"$ref": "#/defs/a"}}},
    {"x-vendor": {"typ": 1, "formt": 2}, "errorMessage": {"requird": "x"}},
    True,
]  # fmt: skip


@each("schema, told", MISSPELT)
def test_a_keyword_that_is_like_a_known_one_is_refused_with_it(schema: Any, told: list[tuple[str, str]]) -> None:
    assert [(pointer, near) for pointer, _, near in misspelt_keywords(schema)] == told
    with pytest.raises(UnsupportedSchema, match=f'did you mean "{told[0][1].replace("$", ".")}"') as caught:
        load_schema(schema)
    assert caught.value.pointer == told[0][0]


@each("schema", TAKEN)
def test_what_is_unknown_and_like_no_keyword_is_taken(schema: Any) -> None:
    assert load_schema(schema).schema == schema


def test_a_schema_that_a_folder_holds_still_opens() -> None:
    assert stored_schema("a", {"propertys": {}}, "0").schema == {"propertys": {}}
