"""The record's graph: tokens lead where their bytes lead, parts hold what a block reaches."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples
from tests.support.left_to_judge import left_to_judge
from tests.support.random_schemas import forms
from tests.support.remote_forms import form_of
from tests.support.tiny_models import TOKENIZER

from cinnabar.engine.language.graph_cache import cached_graph
from cinnabar.engine.language.record_graph import RecordGraph, graph_of
from cinnabar.engine.models.language.lifting import Vocabulary
from cinnabar.errors import NotAccepted, TooLarge
from cinnabar.schemas.automata.operations import literals
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.form.fitting import fit
from cinnabar.schemas.form.record_language import one_line, record_language

BRIDGES = [
    b'{"', b'": "', b'", "', b'"}', b'"}]}', b'": [', b"}, {", b'}, {"', b'": {"', b", ", b": ", b'": ', b"[]", b"null",
    b'null, "', b"name", b'", "name": "', b"date", b"20", b"total", b'x"', b"true", b"ab", b"\xc3\xbc", b'\\"', b"k0",
]  # fmt: skip
TEXTS = [*(bytes([byte]) for byte in range(256)), *BRIDGES, None]
END = len(TEXTS) - 1
VOCABULARY = Vocabulary(TEXTS, END)
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "date": {"type": ["string", "null"], "format": "date"},
        "lines": {"type": "array", "items": {
            "type": "object", "properties": {"name": {"type": "string"}, "total": {"type": "number"}},
            "required": ["name"], "additionalProperties": False}},
    },
    "required": ["name", "date"],
    "additionalProperties": False,
}  # fmt: skip


def graph(schema: Any = SCHEMA) -> RecordGraph:
    return graph_of(record_language(form_of(schema)), VOCABULARY)


def members(found: RecordGraph) -> dict[int, list[int]]:
    by_class: dict[int, list[int]] = {}
    for token in found.tokens.tolist():
        by_class.setdefault(int(found.token_class[token]), []).append(token)
    return by_class


def walked(found: RecordGraph, draw: random.Random, budget: int = 60) -> list[int]:
    """Tokens of a random walk to the end, which takes a shortest way when the budget is spent."""
    tokens: list[int] = []
    by_class, state = members(found), 0
    while state != found.done:
        edges = np.flatnonzero(found.source == state)
        behind = found.distance[found.target[edges]]
        assert (behind >= 0).all(), "an edge into a state without an end"
        fits = edges[behind < max(found.distance[state], budget - len(tokens))]
        edge = draw.choice(fits.tolist())
        tokens.append(draw.choice(by_class[int(found.label[edge])]))
        state = int(found.target[edge])
    return tokens


@each("seed", range(12))
def test_every_text_that_a_walk_spells_is_a_record_of_the_form(seed: int) -> None:
    draw = random.Random(seed)
    for compiled in forms(seed, 3):
        form = compiled.form
        found = graph_of(record_language(form), VOCABULARY)
        for _ in range(5):
            tokens = walked(found, draw)
            assert found.run(tokens) == found.done and tokens[-1] == END
            text = b"".join(TEXTS[token] or b"" for token in tokens)
            assert found.automaton.accepts(text)
            json.loads(text)
            try:
                fit(form, parse(text.decode()))
            except ValueError as problem:
                left = left_to_judge(form) or any(len(node.rest) > 1 for node in form.objects)
                assert left if isinstance(problem, NotAccepted) else "different names" in str(problem)


def test_tokens_cross_the_borders_of_values() -> None:
    found = graph()
    tokens = [b'{"', b"name", b'": "', b'x"', b", ", b'"', b"date", b'": ', b'null, "', b"l", b"i", b"n", b"e", b"s",
              b'": [', b'{"', b"name", b'": "', b"ab", b'"}]}', None]  # fmt: skip
    ids = [TEXTS.index(text) for text in tokens]
    assert found.run(ids) == found.done
    assert found.run(ids[:-1]) != found.done and found.run([*ids, END]) == found.done, "the end token repeats"
    assert found.run([*ids, TEXTS.index(b"x")]) == -1 and found.run([*ids[:4], END]) == -1


def test_distance_counts_the_fewest_tokens_with_the_end_token() -> None:
    found = graph_of(literals([b'{"name": "x"}', b"{}"]), VOCABULARY)
    behind = found.run([TEXTS.index(b'{"')])
    # name, `": "`, `x"`, `}`, end
    assert found.distance[behind] == 5 and found.distance[0] == 3
    assert found.distance[found.done] == 0 and found.distance[found.automaton.run(b"{}")] == 1
    assert ((found.label == found.end_class) == (found.target == found.done)).all()
    assert found.token_class[END] == found.end_class == found.classes - 1


def test_a_token_that_is_never_allowed_leads_nowhere() -> None:
    found = graph_of(literals([b"{}"]), VOCABULARY)
    assert found.token_class[0] == -1
    # The number of no class, -1, must not be taken for that of the last class of the state before.
    assert [found.run([0], state) for state in range(-1, found.states)] == [-1] * (found.states + 1)


def test_a_state_that_no_token_reaches_has_no_edges_into_it() -> None:
    vocabulary = Vocabulary([b"ab", b"c", b"z", None], 3)
    found = graph_of(literals([b"abc", b"zq"]), vocabulary)
    assert found.states == found.automaton.states + 1
    assert found.run([0, 1, 3]) == found.done and found.run([2]) == -1
    inside, beyond = found.automaton.run(b"a"), found.automaton.run(b"z")
    assert not np.isin(found.target, [inside, beyond]).any() and found.distance[beyond] == -1


@examples(60)
@given(st.integers(0, 10**9), st.integers(1, 9))
def test_a_part_is_what_so_many_tokens_reach(at: int, positions: int) -> None:
    found = graph()
    state = at % found.states
    if found.distance[state] < 0:
        return
    edges: set[tuple[int, int, int]] = set()
    reached = {state}
    for _ in range(positions):
        fresh = np.isin(found.source, list(reached))
        edges |= set(zip(*(x[fresh].tolist() for x in (found.source, found.label, found.target)), strict=True))
        reached |= set(found.target[fresh].tolist())
    part = found.cut(state, positions)
    assert part.states[0] == state and set(part.states.tolist()) == reached
    named = zip(*(x.tolist() for x in (
        part.states[part.source], part.classes[part.label], part.states[part.target])), strict=True)  # fmt: skip
    assert set(named) == edges and len(part.source) == len(edges)
    assert (np.diff(part.source) >= 0).all()
    assert part.distance.tolist() == found.distance[part.states].tolist()
    assert len(part.classes) == len({label for _, label, _ in edges})


def test_the_smallest_record_is_in_the_graph() -> None:
    form = form_of(SCHEMA)
    text = one_line(form.instance).encode()
    assert graph().run([*text, END]) == graph().done


def test_a_graph_is_kept_and_a_form_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of(SCHEMA)
    assert cached_graph(form, TOKENIZER) is cached_graph(form, TOKENIZER)
    monkeypatch.setattr("cinnabar.schemas.automata.automaton.MAX_STATES", 20)
    with pytest.raises(TooLarge, match="the largest are"):
        cached_graph(form_of({**SCHEMA, "title": "refused in this test"}), TOKENIZER)
