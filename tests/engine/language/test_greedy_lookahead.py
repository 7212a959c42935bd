"""Free texts: what their languages hold, and the choice of their tokens one by one."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_models import END, TEXTS, TOKENIZER, VOCABULARY

from cinnabar.engine.language.class_scores import ClassScores
from cinnabar.engine.language.lookahead import Constraint, GreedyConstraint, ScanSpan
from cinnabar.engine.language.record_graph import RecordGraph, graph_of
from cinnabar.engine.language.text_languages import any_text, text_until
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.kernels.score_limits import FLOOR

GRAPH = graph_of(any_text(), VOCABULARY)
WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.text("a`\n", max_size=8)


@given(WORDS)
def test_any_text_is_one_without_control_characters(said: str) -> None:
    allowed = not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", said)
    assert any_text().accepts(said.encode()) == allowed
    assert any_text(b"{[").accepts(said.encode()) == (allowed and not said.startswith(("{", "[")))


@given(WORDS, st.sampled_from(["\n```", "aab", "a"]))
def test_a_text_until_a_mark_holds_it_at_its_end_alone(said: str, mark: str) -> None:
    allowed = any_text().accepts(said.encode()) and (said + mark).index(mark) == len(said)
    assert text_until(mark.encode()).accepts((said + mark).encode()) == allowed
    assert not text_until(mark.encode()).accepts(said.encode()) or said.endswith(mark)


def test_broken_utf8_is_no_text() -> None:
    for said in (b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xc3"):
        assert not any_text().accepts(said)


def scores_of(graph: RecordGraph, logits: np.ndarray, held: Ints) -> ClassScores:
    """Scores by their definition; logits: [N, V]."""
    shares = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    kinds = [np.flatnonzero(graph.token_class == kind) for kind in range(graph.classes)]
    total = np.stack([np.log(np.exp(shares[:, kind]).sum(1)) for kind in kinds], 1).astype(np.float32)
    best = np.stack([shares[:, kind].max(1) for kind in kinds], 1).astype(np.float32)
    token = np.stack([kind[shares[:, kind].argmax(1)] for kind in kinds], 1)
    own = np.where(held < 0, FLOOR, shares[np.arange(len(held)), held]).astype(np.float32)
    return ClassScores(total, best, token, own, np.ones(len(held), np.bool_))


def drawn(seed: int, length: int) -> np.ndarray:
    return np.random.RandomState(seed).standard_normal((length, VOCABULARY.size)) * 2


def lookahead(graph: RecordGraph, tokens: Ints, logits: np.ndarray, left: int = 9):  # type: ignore[no-untyped-def]
    span = ScanSpan(0, tokens, np.arange(len(tokens)), left)
    return GreedyConstraint(graph).lookahead(span, scores_of(graph, logits, tokens))


def test_the_end_comes_where_it_is_the_likeliest_token_and_not_since_a_text_is_unlikely() -> None:
    empty, logits = np.full(8, -1, np.int64), np.zeros((8, VOCABULARY.size))
    letter = TOKENIZER.encode("x")[0]
    # All tokens are about as likely, but for the first three and the end behind them.
    logits[:3, letter], logits[3, END] = 2.0, 3.0
    found = lookahead(GRAPH, empty, logits)
    assert found.witness.tolist() == [letter] * 3 + [END] * 5
    assert found.choices[3] > 1
    whole = Constraint(GRAPH).lookahead(ScanSpan(0, empty, np.arange(8), 9), scores_of(GRAPH, logits, empty))
    assert whole.witness[0] == END


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(0, 3))
def test_the_witness_is_a_text_that_agrees_with_committed_tokens(seed: int, length: int, left: int) -> None:
    rng, graph = np.random.RandomState(seed), graph_of(text_until(b"\n```"), VOCABULARY)
    for one in (graph, GRAPH):
        tokens, logits = np.full(length, -1, np.int64), drawn(seed, length)
        while (tokens < 0).any():
            found = lookahead(one, tokens, logits, left)
            if not found.complete:
                # Only at the beginning there may be too little room.
                assert (tokens < 0).all() and one.distance[0] > length + left
                break
            state = one.run(found.witness.tolist())
            assert state >= 0 and 0 <= one.distance[state] <= left
            held = tokens >= 0
            assert (found.witness[held] == tokens[held]).all()
            assert ((found.posterior >= 0) & (found.posterior <= found.runner_up + 1e-6))[~held].all()
            opened = np.flatnonzero(~held)
            at = opened[rng.randint(len(opened))]
            # Whatever part of a witness is committed can go on.
            tokens[at] = found.witness[at]


def test_a_forced_token_behind_an_open_one_is_not_forced_yet() -> None:
    lead = next(token for token, text in enumerate(TEXTS) if text == b"\xc3")
    logits = np.zeros((3, VOCABULARY.size))
    logits[0, lead] = 9.0
    empty = np.full(3, -1, np.int64)
    found = lookahead(GRAPH, empty, logits)
    assert found.witness[0] == lead and found.choices[1] > 1 and found.posterior[1] < 0.1
    settled = np.array([lead, -1, -1])
    after = lookahead(GRAPH, settled, logits)
    assert after.posterior[1] > found.posterior[1] and 1 < after.choices[1] <= 64


def test_an_end_that_an_open_token_forces_is_not_forced_yet() -> None:
    graph = graph_of(text_until(b"a"), VOCABULARY)
    logits, letter = np.zeros((3, VOCABULARY.size)), TOKENIZER.encode("a")[0]
    logits[0, letter] = 9.0
    found = lookahead(graph, np.full(3, -1, np.int64), logits)
    assert found.witness.tolist() == [letter, END, END] and (found.choices > 1).all()
    assert lookahead(graph, np.array([letter, -1, -1]), logits).choices.tolist()[1:] == [1, 1]


def test_a_committed_token_is_judged_beside_the_others() -> None:
    letter, other = TOKENIZER.encode("x")[0], TOKENIZER.encode("y")[0]
    logits = np.zeros((2, VOCABULARY.size))
    logits[0, other] = 9.0
    found = lookahead(GRAPH, np.array([letter, -1]), logits)
    assert found.posterior[0] < 0.01 and found.runner_up[0] > 0.9
