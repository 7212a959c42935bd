"""Forced text is spelled as the tokenizer spells it, and no record is lost by that."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from tests.engine.language.test_record_graph import walked
from tests.support.effort import first
from tests.support.random_schemas import forms
from tests.support.tiny_models import END, TEXTS, TOKENIZER, VOCABULARY, TinyTokenizer

from cinnabar.engine.language.forced import ForcedText, spelled_graph
from cinnabar.engine.language.record_graph import RecordGraph, graph_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.operations import literals
from cinnabar.schemas.form.record_language import one_line, record_language

TOKENS = {text: token for token, text in enumerate(TEXTS) if text is not None}


def spelled(*records: bytes) -> RecordGraph:
    return spelled_graph(graph_of(literals([*records]), VOCABULARY), TOKENIZER)


def spellings(graph: RecordGraph, text: bytes) -> list[list[int]]:
    """All ways in which a graph spells a whole text, at most a thousand."""
    found, open_ = [], [(0, 0, list[int]())]
    while open_ and len(found) < 1000:
        at, state, tokens = open_.pop()
        if at == len(text):
            found += [tokens] if graph.run([END], state) == graph.done else []
            continue
        for size in range(1, min(VOCABULARY.longest, len(text) - at) + 1):
            token = TOKENS.get(text[at : at + size])
            ahead = -1 if token is None else graph.run([token], state)
            if token is not None and ahead >= 0:
                open_.append((at + size, ahead, [*tokens, token]))
    return found


def spelled_somehow(graph: RecordGraph, text: bytes) -> bool:
    """Whether a graph spells this whole text."""
    states: list[set[int]] = [{0}, *(set[int]() for _ in text)]
    for at in range(len(text)):
        for size in range(1, min(VOCABULARY.longest, len(text) - at) + 1):
            token = TOKENS.get(text[at : at + size])
            if token is not None:
                states[at + size] |= {graph.run([token], state) for state in states[at]} - {-1}
    return any(graph.run([END], state) == graph.done for state in states[-1])


def test_forced_text_is_spelled_in_one_way() -> None:
    text = b'{"name": "ab", "total": 20}'
    assert len(spellings(graph_of(literals([text]), VOCABULARY), text)) > 100
    assert spellings(spelled(text), text) == [TOKENIZER.encode(text.decode())]


def test_where_texts_part_a_token_may_still_reach_over_the_border() -> None:
    first, second = b'{"name": "20"}', b'{"name": "ab"}'
    graph = spelled(first, second)
    for text in (first, second):
        # `"` ends the forced text; there the model may go on in any way.
        ways = spellings(graph, text)
        assert TOKENIZER.encode(text.decode()) in ways
        assert all(way[:3] == TOKENIZER.encode('{"name'[:6]) + TOKENIZER.encode('": "') for way in ways)


class Cutter(TinyTokenizer):
    """Takes the first letter of a word alone, as tokenizers do that cut a text into words first."""

    def encode(self, text: str) -> list[int]:
        found, word = list[int](), False
        for size in range(len(text)):
            letter = text[size]
            if letter.isalpha() and word:
                continue
            rest = text[size:]
            word = letter.isalpha()
            stop = next((at for at, sign in enumerate(rest) if at and not (word and sign.isalpha())), len(rest))
            found += super().encode(rest[:1]) + (super().encode(rest[1:stop]) if stop > 1 else [])
        return found


def test_the_middle_of_forced_text_goes_on_with_the_same_tokens() -> None:
    tokenizer = Cutter()
    text = b'{"xname": 1, "xtotal": 2}'
    graph = spelled_graph(graph_of(literals([text]), VOCABULARY), tokenizer)
    whole = tokenizer.encode(text.decode())
    assert tokenizer.encode("name") != tokenizer.encode("xname")[1:], "alone it is cut in another way"
    forced = ForcedText(graph)
    for count in range(len(whole)):
        assert forced.after(graph.run(whole[:count])).tokens == (*whole[count:], END)


def test_text_behind_a_value_is_spelled_as_behind_its_end() -> None:
    tokenizer = Cutter()
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 3}, "xname": {"const": "7"}},
        "required": ["a", "xname"],
        "additionalProperties": False,
    }
    graph = spelled_graph(graph_of(record_language(compile_schema(schema).form), VOCABULARY), tokenizer)
    state = graph.automaton.run(b'{"a": "the"')
    assert ForcedText(graph).after(state).tokens == (*tokenizer.encode(', "xname": "7"}'), END)
    within = graph.automaton.run(b'{"a": "the", "x')
    assert TOKENS[b"name"] == ForcedText(graph).after(within).tokens[0]


@pytest.mark.parametrize("kind", [{"type": "integer"}, {"type": "number", "maximum": 200, "multipleOf": 0.01}])
def test_a_number_with_zeros_at_its_end_is_spelled_as_the_tokenizer_does(kind: dict[str, Any]) -> None:
    form = compile_schema({"type": "object", "properties": {"a": kind}, "required": ["a"]}).form
    graph = spelled_graph(graph_of(record_language(form), VOCABULARY), TOKENIZER)
    for text in ('{"a": 190}', '{"a": 190.0}', '{"a": 190.00}', '{"a": 5.000}', '{"a": -0.0}'):
        assert graph.run([*TOKENIZER.encode(text), END]) == graph.done, text


@pytest.mark.parametrize("seed", first(4, range(12)))
def test_every_record_can_still_be_spelled_and_every_state_still_ends(seed: int) -> None:
    draw = random.Random(seed)
    for compiled in forms(seed, 3):
        whole = graph_of(record_language(compiled.form), VOCABULARY)
        graph = spelled_graph(whole, TOKENIZER)
        assert spellings(graph, one_line(compiled.form.instance).encode()), "the smallest record"
        assert graph.end_class == graph.classes - 1
        assert set(graph.tokens.tolist()) == set(np.flatnonzero(graph.token_class >= 0).tolist())
        assert (graph.distance[graph.source] >= 0).all() and (graph.distance[graph.target] >= 0).all()
        ends = graph.distance >= 0
        assert (graph.distance[ends] >= whole.distance[ends]).all()
        assert whole.run(walked(graph, draw)) == whole.done
        for _ in range(5):
            # Any text of the whole graph is a text of this one, in other tokens.
            text = b"".join(TEXTS[token] or b"" for token in walked(whole, draw)[:-1])
            assert spelled_somehow(graph, text)


@pytest.mark.parametrize("record", [{"é": 1}, {"ü": "é", "naïve": None}, {"名": 2}])
def test_names_of_any_letters_are_spelled(record: Any) -> None:
    text = json.dumps(record, ensure_ascii=False).encode()
    assert spellings(spelled(text), text) == [TOKENIZER.encode(text.decode())]
    # The first byte is shared by both, so that forced text ends within a letter.
    both = spelled(text, text.replace("é".encode(), "è".encode()))
    assert spellings(both, text)


def test_what_the_tokenizer_does_not_spell_as_it_stands_can_be_spelled_all_the_same() -> None:
    class Lower(TinyTokenizer):
        def encode(self, text: str) -> list[int]:
            return super().encode(text.lower())

    text = b'{"NAME": 1}'
    graph = spelled_graph(graph_of(literals([text]), VOCABULARY), Lower())
    assert spellings(graph, text) == [TOKENIZER.encode(text.decode())]
