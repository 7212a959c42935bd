"""The place of each value in the text that a language model wrote."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.language.answer import places_of
from cinnabar.schemas.pointers import escape

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_every_value_stands_at_its_place(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()

    def check(part: Any, pointer: str) -> int:
        start, end = found.values[pointer]
        assert json.loads(text[start:end]) == part
        below = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        return 1 + sum(check(value, f"{pointer}/{escape(str(name))}") for name, value in below)

    found = places_of(text)
    assert check(value, "") == len(found.values)


def test_a_lacking_property_was_decided_where_the_next_name_or_the_brace_stands() -> None:
    text = b'{"a": 1, "c": {"d": [2]}}'
    places = places_of(text)

    def gap(pointer: str, *later: str) -> bytes:
        span = places.gap(pointer, later)
        assert span is not None
        return text[slice(*span)]

    assert gap("", "c") == b', "c"'
    assert gap("") == b"}"
    assert gap("", "a", "c") == b'"a"'
    assert gap("/c") == b"}" and places.gap("/a", ()) is None
