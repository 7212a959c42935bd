"""Canonical spellings of strings: every string has exactly one."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.strings import (
    any_escaped_string,
    any_string,
    bounded_length,
    canonical_string,
    content_of,
    parse,
    string,
)
from cinnabar.schemas.regex.patterns import fullmatch

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(text)
def test_every_string_is_accepted_in_its_canonical_spelling(value: str) -> None:
    spelled = canonical_string(value)
    assert spelled == json.dumps(value, ensure_ascii=False).encode()
    assert any_string().accepts(spelled)
    assert json.loads(spelled) == value


def test_every_code_point_has_its_spelling() -> None:
    one = bounded_length(1, 1)
    for code in (*range(0xD800), *range(0xE000, 0x110000, 37), *range(0x10FF00, 0x110000)):
        assert one.accepts(content_of(chr(code))), hex(code)


@given(text)
def test_no_other_spelling_is_accepted(value: str) -> None:
    escaped = json.dumps(value).encode()
    assert any_string().accepts(escaped) == (escaped == canonical_string(value))


@given(st.binary(max_size=6))
def test_only_text_that_decodes_and_respells_the_same_is_accepted(raw: bytes) -> None:
    spelled = b'"' + raw + b'"'
    try:
        same = canonical_string(json.loads(spelled.decode())) == spelled
    except ValueError:
        same = False
    assert any_string().accepts(spelled) == same


@given(text, st.data())
def test_a_free_string_may_be_escaped_in_any_way(value: str, data: st.DataObject) -> None:
    ways: list[str] = []
    for letter in value:
        units = letter.encode("utf-16-be").hex()
        long = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        upper = long.upper().replace("U", "u")
        ways.append(data.draw(st.sampled_from([json.dumps(letter, ensure_ascii=False)[1:-1], long, upper])))
    spelled = f'"{"".join(ways)}"'.replace("/", data.draw(st.sampled_from(["/", "\\/"])))
    assert json.loads(spelled) == value
    assert any_escaped_string().accepts(spelled.encode())


@given(st.text('\\"/abdu0DdEe8Ff', max_size=14))
def test_only_escapes_of_json_without_lone_surrogates_are_strings(content: str) -> None:
    spelled = f'"{content}"'
    try:
        allowed = isinstance(parse(spelled), str)
    except ValueError:
        allowed = False
    assert any_escaped_string().accepts(spelled.encode()) == allowed


def test_string_bytes_are_valid_utf8_at_any_cut() -> None:
    language, edges = any_string(), (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    for lead in range(0x80, 0x100):
        tails = [
            (),
            *product(edges),
            *product(edges, edges),
            *product(edges, (0x7F, 0x80, 0xBF, 0xC0), edges),
        ]
        for raw in (bytes((lead, *tail)) for tail in tails):
            try:
                allowed = canonical_string(raw.decode())[1:-1] == raw
            except ValueError:
                allowed = False
            assert language.accepts(b'"' + raw + b'"') == allowed, raw


@given(text, st.integers(0, 6), st.integers(0, 8) | st.none())
def test_length_counts_code_points(value: str, least: int, most: int | None) -> None:
    fits = least <= len(value) and (most is None or len(value) <= most)
    assert bounded_length(least, most).accepts(content_of(value)) == fits


def test_contradictory_bounds_leave_nothing() -> None:
    assert bounded_length(3, 2).is_empty


def test_a_bound_too_long_for_states_is_refused() -> None:
    with pytest.raises(TooLarge):
        bounded_length(0, 20_000)


def test_a_lone_surrogate_has_no_spelling() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        canonical_string("a\ud800")


def test_string_puts_content_between_quotes() -> None:
    assert string(fullmatch('a"b')).accepts(b'"a\\"b"')
    assert string(bounded_length(0, None)).fingerprint == any_string().fingerprint
