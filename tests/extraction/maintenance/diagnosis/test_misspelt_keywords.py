"""Keywords that look misspelt are named; names of fields, data and keywords of others are not."""

from __future__ import annotations

from typing import Any

import pytest

from cinnabar.extraction.maintenance.diagnosis.misspelt_keywords import misspelt_keywords


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"proprties": {"a": {}}}, [("/proprties", "properties")]),
        ({"properties": {"requird": {"descripton": "x"}}}, [("/properties/requird/descripton", "description")]),
        ({"anyOf": [{"typ": "null"}]}, [("/anyOf/0/typ", "type")]),
        ({"items": {"x-cinnabar-decimal": 2}}, [("/items/x-cinnabar-decimal", "x-cinnabar-decimals")]),
        ({"const": {"requird": 1}, "enum": [{"typ": 1}], "default": {"formt": 1}}, []),
        ({"nullable": True, "x-order": 1, "id": "a", "$comment": "typ"}, []),
        (True, []),
    ],
)
def test_a_keyword_that_is_like_a_known_one_is_named(schema: Any, told: list[tuple[str, str]]) -> None:
    assert list(misspelt_keywords(schema)) == told
