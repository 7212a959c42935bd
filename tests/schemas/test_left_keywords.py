"""A keyword of ours that is gone is refused in a schema that is given, and opens in one that a folder holds."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas import compile_schema, load_schema, stored_schema
from cinnabar.schemas.left_keywords import LEFT_KEYWORDS


@pytest.mark.parametrize("keyword", LEFT_KEYWORDS)
def test_a_keyword_that_is_gone_is_refused_where_it_is_given_alone(keyword: str) -> None:
    field: dict[str, Any] = {"type": ["string", "null"], keyword: {"table": "vendors.csv", "key": "name"}}
    at_items = {"type": "object", "properties": {"lines": {"type": "array", "items": field}}}
    for schema, at in (({"properties": {"a": field}}, "/properties/a"), (at_items, "/properties/lines/items")):
        with pytest.raises(UnsupportedSchema, match="is gone") as refused:
            load_schema(schema)
        assert refused.value.pointer == f"{at}/{keyword}" and "docs/recipes.md" in str(refused.value)
        stored = stored_schema("bill", schema, "f" * 64)
        assert stored.schema == schema and compile_schema(stored.schema).form
    named = {"type": "object", "properties": {keyword: {"type": "string"}, "b": {"const": {keyword: 1}}}}
    assert load_schema(named).schema == named, "a property of that name, and a value, are none"
