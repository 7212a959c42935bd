"""Forced text: the bytes that all continuations share, in the tokenizer's own segmentation."""

from __future__ import annotations

import pytest
from tests.support.tiny_models import END, TOKENIZER, VOCABULARY, record

from cinnabar.engine.language.forced import ForcedText, TokenTexts, spelled_graph
from cinnabar.engine.language.record_graph import RecordGraph, graph_of
from cinnabar.schemas.automata.operations import literals

TEXTS = TokenTexts(VOCABULARY)


def forced(graph: RecordGraph, before: bytes) -> bytes:
    """The forced text behind a beginning; `$` stands for the end token."""
    state = graph.automaton.run(before)
    spelled = spelled_graph(graph, TOKENIZER)
    found = ForcedText(spelled).after(state)
    assert len(found.tokens) == len(found.states)
    for count in range(len(found.tokens)):
        assert spelled.run(found.tokens[: count + 1], state) == found.states[count]
    return TEXTS.text(found.tokens) + (b"$" if END in found.tokens else b"")


FIELDS = {"name": {"type": "string"}, "date": {"enum": ["no", "2024"]}, "kind": {"const": 7}}
GRAPH = graph_of(record(FIELDS)[0], VOCABULARY)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # A token `"x...` could follow, but no piece of this vocabulary goes on behind `: "`, so all of it is written.
        (b"", b'{"name": "'),
        (b'{"name": "An', b""),
        (b'{"name": "An"', b', "date": "'),
        (b'{"name": "An", "date": "2', b'024", "kind": 7}$'),
        (b'{"name": "An", "date": "no', b'", "kind": 7}$'),
        (b'{"name": "An", "date": "no", "kind": 7}', b"$"),
    ],
)
def test_forced_text_ends_where_there_is_a_choice(before: bytes, expected: bytes) -> None:
    assert forced(GRAPH, before) == expected


def test_the_last_token_is_held_back_where_a_longer_one_could_bridge() -> None:
    # `"na` is forced, and then `m` or `t`: the piece `na` may be the beginning of `name`.
    graph = graph_of(literals([b'"name"', b'"nate"']), VOCABULARY)
    assert forced(graph, b"") == b'"'
    # No piece goes on with `nat` or `nax`.
    assert forced(graph_of(literals([b'"nate"', b'"naxe"']), VOCABULARY), b"") == b'"na'


def test_the_end_is_forced_only_where_nothing_else_may_follow() -> None:
    graph = graph_of(literals([b"12", b"123"]), VOCABULARY)
    assert forced(graph, b"") == b"12"
    assert forced(graph, b"12") == b""
    assert forced(graph, b"123") == b"$"


def test_forced_bytes_within_a_character_are_left_to_the_model() -> None:
    graph = graph_of(literals(["é!".encode(), "è!".encode()]), VOCABULARY)
    assert forced(graph, b"") == b""
    assert forced(graph, "é".encode()) == b"!$"
    # What is forced behind half of a character cannot be spelled as text.
    assert forced(graph, "é".encode()[:1]) == b""


def test_bytes_are_spelled_by_the_longest_tokens() -> None:
    text = '{"name": "é", "date"'.encode()
    assert TEXTS.text(TEXTS.spell(text)) == text
    assert TEXTS.spell(b'", "') == TOKENIZER.encode('", "')
