"""A document in the form that a model writes, and the tokens that go on with it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.engine.branches.constraint import Grounded, OptionTexts, WrittenText
from cinnabar.engine.branches.grounds import Grounds
from cinnabar.engine.branches.stretches import Stretches, ValueTokens
from cinnabar.engine.lifting import Vocabulary
from cinnabar.engine.request import text_passage
from cinnabar.schemas import compile_schema

PIECES = [bytes([byte]) for byte in range(256)]
PIECES += [b"in", b"Inv", b'."', b'",', b'"}', b' "', b"12", b" 3", b'\\"', b"ab", b'b"', b" null", b'"]', "é".encode()]
TOKENS = ValueTokens(Vocabulary([*PIECES, None], len(PIECES)))
TEXTS = st.text(alphabet='ab1 2.é日"\\\n\t-', max_size=24)


def shares(rng: np.random.Generator) -> np.ndarray:
    """Random shares of all tokens, the end among them."""
    drawn = rng.random(len(PIECES) + 1).astype(np.float32) ** 8
    return drawn / drawn.sum()


def written(constraint: Grounded | WrittenText, seed: int) -> object | None:
    """What a model with random shares writes, None if it does not end."""
    rng = np.random.default_rng(seed)
    state = constraint.first()
    for _ in range(200):
        settled = constraint.only_end(state)
        if settled is not None:
            return settled
        move = constraint.move(state, shares(rng))
        if move is None:
            return None
        assert 0 <= move.share <= 1
        assert move.mass <= 1.001
        if move.token is None:
            return move.state
        state = move.state
    return None


@given(TEXTS)
def test_the_written_form_is_the_text_with_single_blanks_inside_of_json(text: str) -> None:
    stretches = Stretches(text, TOKENS)
    plain = " ".join(text.split())
    assert json.loads(b'"%s"' % stretches.written.rstrip(b" ")) == plain
    assert len(stretches.character) == len(stretches.written) + 1


@given(TEXTS, st.integers(0, 1000))
def test_any_text_that_is_written_is_a_stretch_at_borders_of_words(text: str, seed: int) -> None:
    final = written(Grounded(stretches := Stretches(text, TOKENS), TOKENS), seed)
    for begin, end in final if isinstance(final, tuple) else ():
        start, stop = stretches.span(begin, end)
        said = text[start:stop]
        assert " ".join(said.split()) == json.loads(b'"%s"' % stretches.written[begin:end])
        assert said == said.strip()
        around = [text[start - 1 : start] + said[:1], said[-1:] + text[stop : stop + 1]]
        assert not any(re.fullmatch(r"[abé]{2}|[12]{2}", pair) for pair in around)


@given(TEXTS, st.data())
def test_every_stretch_can_be_written_in_every_tokenisation(text: str, data: st.DataObject) -> None:
    stretches = Stretches(text, TOKENS)
    if not stretches.begins:
        return
    begin = data.draw(st.sampled_from(stretches.begins))
    end = data.draw(st.sampled_from(sorted(end for end in stretches.ends if end > begin)))
    at = begin
    while at < end:
        edges = [edge for edge in stretches.edges(at) if edge[1] <= end]
        token, at_next = data.draw(st.sampled_from(edges))
        assert stretches.written[at:at_next] == PIECES[token]
        at = at_next
    assert Grounded(stretches, TOKENS).ends(begin, end)


@given(st.integers(0, 300))
def test_a_given_stretch_ends_where_it_may(seed: int) -> None:
    stretches = Stretches("due 12.12.2024 or 12.12.2025 and 12", TOKENS)
    given_ends = {4: frozenset({14}), 18: frozenset({28}), 33: frozenset({35})}
    final = written(Grounded(stretches, TOKENS, given_ends), seed)
    assert isinstance(final, tuple)
    assert set(final) <= {(begin, end) for begin, ends in given_ends.items() for end in ends}


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True), st.integers(0, 300))
def test_of_options_one_is_written(options: list[str], seed: int) -> None:
    texts = [json.dumps(option, ensure_ascii=False)[1:-1].encode("utf-8", "replace") for option in options]
    grounded = OptionTexts(texts, TOKENS)
    number = grounded.number
    final = written(grounded, seed)
    assert isinstance(final, tuple)
    begin, end = final[0]
    assert sum(len(text) + 1 for text in texts[: number(begin)]) == begin
    assert end - begin == len(texts[number(begin)])


@pytest.mark.parametrize("schema", [{"pattern": "^[a-c]{2,4}$"}, {"enum": ["ab", 'a"b']}, {"maxLength": 3}])
def test_what_is_composed_is_accepted(schema: dict[str, object]) -> None:
    slot = compile_schema({"type": "object", "properties": {"x": {"type": "string", **schema}}}).form.slots[0]
    ended = 0
    for seed in range(40):
        final = written(WrittenText(slot.automaton, TOKENS), seed)
        if final is not None:
            assert isinstance(final, tuple)
            assert slot.accepts(b'"%s"' % final[1])
            ended += 1
    assert ended > 20


def test_a_state_of_one_rest_is_settled() -> None:
    stretches = Stretches("1,250.00 and 99 and 1,250.00", TOKENS)
    grounded = Grounded(stretches, TOKENS, {0: frozenset({8}), 13: frozenset({15}), 20: frozenset({28})})
    assert grounded.only_end(grounded.first()) is None
    after_one = ((0, 1), (20, 21))
    assert grounded.only_end(after_one) == ((0, 8), (20, 28))


@pytest.mark.parametrize(
    ("kind", "text", "offered"),
    [
        ("integer", "Three of the crew of twenty-five", {"Three": 3, "twenty-five": 25}),
        ("integer", "Drei der zwölf Leute", {"Drei": 3, "zwölf": 12}),
        ("number", "$ 1,200.50 due, once", {"1,200.50": 1200.5, "200.50": 200.5}),
        ("number", "1.2 million", {"1.2": 1200000, "1.2 million": 1200000}),
        ("number", "12 TEUR", {"12 TEUR": 12000}),
        ("number", "Loss\t(1,200.00)", {"1,200.00": -1200, "200.00": 200}),
        ("number", "Loss -1,200", {"-1,200": -1200}),
        ("number", "VAT 12 %", {"12": 12}),
    ],
)
def test_a_number_is_offered_with_the_scale_and_sign_around_it(
    kind: str, text: str, offered: dict[str, float]
) -> None:
    form = compile_schema({"type": "object", "properties": {"n": {"type": [kind, "null"]}}}).form
    grounds = Grounds(text_passage(text), TOKENS)
    constraint = grounds.constraint(form.slots[0])
    assert constraint is not None
    found = {}
    for begin, _ in constraint.first():
        for end in range(begin + 1, len(grounds.stretches.written) + 1):
            if constraint.ends(begin, end):
                value = grounds.value(form.slots[0], [(begin, end)])
                assert value is not None
                found[text[slice(*value[1])]] = json.loads(value[0])
    assert found == offered
