"""Lifting: the automaton over tokens accepts the token sequences that spell the texts of the automaton over bytes."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples

from cinnabar.engine.models.language import lifting
from cinnabar.engine.models.language.lifting import Lifted, Vocabulary, lift
from cinnabar.errors import ModelError
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.automaton import Automaton, empty

SCHEMAS = (
    {"type": "string", "pattern": "^[a-c]{1,3}-\\d+$"},
    {"type": ["string", "null"], "maxLength": 3},
    {"type": "integer", "minimum": -20, "maximum": 120},
    {"enum": ["nun", "null", "no", None, True]},
    {"type": ["number", "boolean", "null"]},
    {"type": "string", "format": "date"},
)
TEXTS = [
    b'"', b"a", b"b", b"ab", b'"a', b"-", b"-1", b"1", b"12", b"20", b"0", b"n", b"nu", b"null", b"ll", b"u",
    b"l", b"true", b"t", b"rue", b"no", b'o"', b'"n', b"\xc3", b"\xa4", b"\xc3\xa4", b".", b"1.5", b"e",
    b"-0", b"2024-0", b"2-29",
]  # fmt: skip
TOKENS = Vocabulary([*TEXTS, None, None, None], len(TEXTS))
BYTES = Vocabulary([*(bytes([byte]) for byte in range(256)), None], 256)


def automaton_of(schema: dict[str, object]) -> Automaton:
    (slot,) = compile_schema(schema).form.slots
    return slot.automaton


def accepts(lifted: Lifted, tokens: list[int], ends: int = 1) -> bool:
    """Whether the tokens and so many end tokens lead from the start to the end."""
    states = {0}
    for token in [*tokens, *[TOKENS.end] * ends]:
        kind = lifted.token_class[token]
        edges = (lifted.label == kind) & np.isin(lifted.source, list(states))
        states = set(lifted.target[edges].tolist()) if kind >= 0 else set()
    return len(lifted.states) in states


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@examples(60)
@given(data=st.data())
def test_tokens_are_accepted_where_the_bytes_that_they_spell_are(
    schema: dict[str, object], data: st.DataObject
) -> None:
    automaton = automaton_of(schema)
    lifted = lift(automaton, TOKENS)
    tokens = data.draw(st.lists(st.sampled_from(TOKENS.tokens.tolist()), max_size=6))
    if data.draw(st.booleans()):
        # A text that the automaton holds, cut into tokens at random where the vocabulary allows it.
        left = data.draw(st.sampled_from(automaton.shortest_texts(12)))
        tokens = []
        while left and (fits := [t for t, text in enumerate(TEXTS) if left.startswith(text)]):
            tokens.append(data.draw(st.sampled_from(fits)))
            left = left[len(TEXTS[tokens[-1]]) :]
    text = b"".join(TEXTS[token] for token in tokens)
    assert accepts(lifted, tokens, data.draw(st.integers(1, 3))) == automaton.accepts(text)
    assert not accepts(lifted, tokens, 0), "a text ends with the end token"


def test_tokens_that_no_state_tells_apart_are_one_class() -> None:
    automaton = automaton_of({"type": "string"})
    lifted = lift(automaton, TOKENS)
    kinds = [lifted.token_class[TEXTS.index(text)] for text in (b"-", b"l", b".", b"ll", b"-1")]
    assert len(set(kinds)) == 1 and kinds[0] >= 0
    assert lifted.token_class[TEXTS.index(b'"')] != kinds[0]
    assert lifted.token_class[TOKENS.size - 2] == -1, "what spells nothing is never allowed"


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_lift_in_small_pieces_is_the_same(
    schema: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    automaton = automaton_of(schema)
    at_once = lift(automaton, TOKENS)
    monkeypatch.setattr(lifting, "CELLS", 1)
    in_pieces = lift(automaton, TOKENS)
    for field in fields(Lifted):
        assert np.array_equal(getattr(in_pieces, field.name), getattr(at_once, field.name)), field.name


def test_states_without_an_end_in_tokens_are_left_out() -> None:
    automaton = automaton_of({"enum": ["ab", "zz"]})
    lifted = lift(automaton, TOKENS)
    assert not accepts(lifted, [0])
    # No token has "z", so only the states of "ab" are left, and the one after its end.
    assert len(lifted.states) == 5 and set(lifted.source.tolist()) == set(range(6))
    allowed = {TEXTS.index(text) for text in (b'"', b"a", b"b", b"ab", b'"a')} | {TOKENS.end}
    assert set(lifted.tokens.tolist()) == allowed
    assert [token for token in range(TOKENS.size) if lifted.token_class[token] == -1] == sorted(
        set(range(TOKENS.size)) - allowed
    )
    assert set(lifted.label.tolist()) == set(range(lifted.classes))


@pytest.mark.parametrize("schema", [*SCHEMAS, {"enum": ["ab", "zb", "az", "bza", "zab"]}], ids=str)
def test_every_state_is_reached_and_can_end(schema: dict[str, object]) -> None:
    lifted = lift(automaton_of(schema), TOKENS)
    edges = list(zip(lifted.source.tolist(), lifted.target.tolist(), strict=True))
    end = len(lifted.states)
    every = set(range(end + 1))
    for begin, pairs in (({0}, edges), ({end}, [(t, s) for s, t in edges])):
        found = set(begin)
        while more := {t for s, t in pairs if s in found} - found:
            found |= more
        assert found == every


def test_an_empty_language_has_no_text() -> None:
    lifted = lift(empty(), TOKENS)
    assert not accepts(lifted, []) and not accepts(lifted, [1])


def test_columns_of_one_hash_are_told_apart() -> None:
    # The generator draws the same weights for as many states; each column takes the other's weight once.
    one, other = (np.random.default_rng(0).integers(1, 2**63, 2, dtype=np.uint64) | np.uint64(1)).tolist()
    begin, source = np.array([0, 1, 2, 3]), np.array([0, 1, 0])
    columns = lifting._Columns(begin, source, np.array([other - 1, one - 1, other - 1]))
    first, kind = columns.distinct()
    assert first.tolist() == [0, 1] and kind.tolist() == [0, 1, 0]


def test_a_vocabulary_needs_an_end_token_without_a_text() -> None:
    assert Vocabulary([b"a", None, None], 2).end == 2
    with pytest.raises(ModelError, match="token 0: expected an end token"):
        Vocabulary([b"a", None], 0)
    with pytest.raises(ModelError, match="token 0: expected a text"):
        Vocabulary([b"", None], 1)
    assert BYTES.size == 257 and BYTES.longest == 1
