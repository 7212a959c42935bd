"""One denoising step by itself: the meaning of scores for each slot, the commits, and the notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tests.support.random_model import request

from cinnabar.engine.fill.batch_state import BatchState
from cinnabar.engine.fill.repair import Alternatives
from cinnabar.engine.fill.step import commit
from cinnabar.engine.fill.writing import WrittenValue
from cinnabar.engine.model import Candidate, Scores
from cinnabar.engine.settings import effort_of
from cinnabar.errors import EngineFailure
from cinnabar.schemas import compile_schema

CPU, INF = torch.device("cpu"), float("inf")
TEXT = {"type": "string"}
SPAN = ((2, 5),)
#: The choices of a slot, each with its logit; "" stands for absent.
Offer = dict[str, float]


def state_of(required: Sequence[str] = (), **properties: Any) -> BatchState:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return BatchState([request(compile_schema(schema).form)], ["m"], [[]], CPU)


def scores_of(state: BatchState, *offers: Offer, refused: float = -INF) -> Scores:
    """Candidates by their logits."""
    size = len(state.canvas.instances)
    texts = [[text for text in offer if text] for offer in offers]
    logits = torch.full((size, max(map(len, texts))), -INF)
    for row, (offer, own) in enumerate(zip(offers, texts, strict=True)):
        logits[row, : len(own)] = torch.tensor([offer[text] for text in own])
    return Scores(
        candidates=[[Candidate(text.encode(), SPAN) for text in own] for own in texts],
        candidate_logits=logits,
        absent_logit=torch.tensor([float(offer.get("", -INF)) for offer in offers]),
        refused_logit=torch.full((size,), refused),
    )


def step(state: BatchState, scores: Scores, effort: str = "medium", **more: Any) -> Alternatives:
    return commit(state, scores, effort_of(effort, **more))


def test_the_surest_value_is_committed_and_all_are_noted() -> None:
    state = state_of(["a"], a=TEXT, b={"type": "integer"})
    step(state, scores_of(state, {"": 0, '"A"': 2, '"B"': 1}, {"": math.log(1.2), "5": 0}))
    assert state.values == [
        WrittenValue(b'"A"', False, 0.6652, 0.09, SPAN, "copied", demanded=True, rival=0.2447),
        WrittenValue(b"5", True, 0.4545, 0.5455, SPAN, "copied"),
    ]
    assert state.closed.tolist() == [True, False] and state.steps == [1]
    assert state.canvas.values == [b'"A"', None] and state.canvas.spans == [SPAN, ()]
    step(state, scores_of(state, {'"A"': 9}, {"": 0, "5": math.log(2)}), "low")
    assert state.closed.tolist() == [True, True] and state.canvas.values[1] == b"5" and state.steps == [2]


@pytest.mark.parametrize(("share", "given"), [(0.29, False), (0.54, False), (0.55, True)])
def test_an_optional_value_is_given_from_a_little_above_one_half(share: float, given: bool) -> None:
    state = state_of(a=TEXT)
    step(state, scores_of(state, {"": math.log(1 - share), '"A"': math.log(share)}), "instant")
    assert state.values[0].absent == (not given) and not state.values[0].missing
    found = (state.values[0].confidence, state.values[0].absent_confidence)
    assert found == pytest.approx((share, 1 - share))
    assert state.canvas.values == [b'"A"' if given else b""] and state.canvas.left_out == [not given]


@pytest.mark.parametrize(
    ("absent", "first", "given"),
    [(0.3, 0.3, True), (0.5, 0.3, False), (0.3, 0.24, False), (0.1, 0.26, True)],
)
def test_a_class_is_given_if_all_together_and_the_likeliest_alone_are_likely(
    absent: float, first: float, given: bool
) -> None:
    state = state_of(a=TEXT, b=TEXT)
    rest = math.log((1 - absent - first) / 4)
    offer = {"": math.log(absent), '"A"': math.log(first)} | {f'"{name}"': rest for name in "BCDE"}
    scores = scores_of(state, offer, offer)
    scores.classes = frozenset({0})
    step(state, scores, "instant")
    assert [value.absent for value in state.values] == [not given, True]


@pytest.mark.parametrize(("share", "missing"), [(0.51, False), (0.5, False), (0.49, True)])
def test_a_required_value_is_missing_where_absence_is_likelier_than_not(share: float, missing: bool) -> None:
    state = state_of(["a"], a=TEXT)
    step(state, scores_of(state, {"": math.log(1 - share), '"A"': math.log(share)}), "instant")
    assert state.values == [WrittenValue(b'"A"', False, share, 1 - share, SPAN, "copied", missing, demanded=True)]


@pytest.mark.parametrize(("best", "missing"), [(0.3, False), (0.2, True)])
def test_a_required_choice_is_missing_if_absence_is_likelier_than_every_option(best: float, missing: bool) -> None:
    state = state_of(["a"], a={"enum": ["x", "y", "z"]})
    rest = (1 - best - 0.25) / 2
    offer = {"": 0.25, '"x"': best, '"y"': min(rest, 0.2), '"z"': 0.05}
    step(state, scores_of(state, {text: math.log(share) for text, share in offer.items()}), "instant")
    assert (state.values[0].demanded, state.values[0].missing) == (True, missing)


def test_a_slot_without_offers_keeps_its_noted_value() -> None:
    state = state_of(["a"], a=TEXT, b=TEXT)
    step(state, scores_of(state, {"": -INF}, {"": -INF}), "instant")
    assert [(v.text, v.absent, v.missing, v.confidence) for v in state.values] == [
        (b'""', False, True, 0.0),
        (b'""', True, False, 0.0),
    ]


def test_the_allowed_mass_is_that_of_the_texts_that_the_automata_accept() -> None:
    state = state_of(["a", "b"], a=TEXT, b={"type": "integer"})
    step(state, scores_of(state, {'"A"': 0}, {"7": 0}, refused=0.0))
    assert [value.allowed_mass for value in state.values] == [-0.6931, -0.6931]
    assert state.values[0].confidence == 1.0


def test_the_alternatives_are_absence_the_candidates_and_the_least() -> None:
    state = state_of(["a"], a={**TEXT, "minLength": 1}, b={"type": "integer"})
    offers = {"": 0.0, '"A"': 2.0, '"B"': 1.0, '""': 0.5}, {"": 3.0, "5": 0.0}
    others = step(state, scores_of(state, *offers))
    shares = torch.tensor([0.0, 2.0, 1.0, 0.5]).softmax(0).tolist()
    found = others(0)
    assert [(value.text, value.absent, value.origin) for _, value in found] == [
        (b'"A"', True, "copied"),
        (b'"A"', False, "copied"),
        (b'"B"', False, "copied"),
        (b'" "', False, "minimal"),
    ]
    assert [chance for chance, _ in found] == pytest.approx([shares[0], shares[1], shares[2], 0.0], abs=1e-4)
    assert [value.confidence for _, value in found][1:] == [chance for chance, _ in found][1:]
    assert found[0][1].absent_confidence == found[0][0] and found[-1][1].spans == ()
    assert all(not value.missing for _, value in found[1:3])
    # A value noted as absent keeps its best guess among the alternatives.
    assert [(round(chance, 3), value.text, value.absent) for chance, value in others(1)] == [
        (0.953, b"5", True), (0.047, b"5", False), (0.047, b"5", False), (0.0, b"0", False),
    ]  # fmt: skip


def test_a_candidate_that_is_not_allowed_fails_the_request_only_as_the_best_choice() -> None:
    state = state_of(["a"], a=TEXT)
    step(state, scores_of(state, {"12": 0.0, '"A"': 1.0}))
    with pytest.raises(EngineFailure, match="/a: the candidate 12"):
        step(state_of(["a"], a=TEXT), scores_of(state, {"12": 1.0, '"A"': 0.0}))


def test_the_last_step_commits_everything_and_earlier_steps_a_share() -> None:
    for steps, closed in ((1, 4), (2, 2), (3, 2), (4, 1)):
        state = state_of(**dict.fromkeys("abcd", TEXT))
        step(state, scores_of(state, *[{'"A"': 0.0, '"B"': 0.0}] * 4), "medium", steps=steps)
        assert int(state.closed.sum()) == closed


def committed(effort: str = "medium") -> BatchState:
    """A state after two steps' work, with a committed value in the first slot."""
    state = state_of(["a", "b"], a=TEXT, b=TEXT)
    step(state, scores_of(state, {'"A"': 5, '"B"': 0}, {'"A"': 0, '"B"': 0}), effort)
    assert state.closed.tolist() == [True, False]
    return state


@pytest.mark.parametrize(
    ("now", "opened"), [((0.2, 0.8), True), ((0.31, 0.69), False), ((0.4, 0.6), False), ((0.2, 0.2), False)]
)
def test_a_value_is_doubted_where_another_is_clearly_likelier(now: tuple[float, float], opened: bool) -> None:
    state = committed()
    rest = {'"C"': math.log(0.3), '"D"': math.log(0.3)} if sum(now) < 0.9 else {}
    logits = {'"A"': math.log(now[0]), '"B"': math.log(now[1]), **rest}
    step(state, scores_of(state, logits, {'"A"': 0, '"B"': 0}))
    assert sum(state.reopened) == int(opened)
    # A step does not take the value that it gave up.
    assert state.values[0].text == (b'"B"' if opened else b'"A"')


def test_no_slot_is_reopened_too_often() -> None:
    other = {'"A"': 0, '"B"': 5}, {'"A"': 0, '"B"': 0}
    often = committed()
    often.reopened_times[0] = 2
    step(often, scores_of(often, *other))
    assert sum(often.reopened) == 0
    once = committed()
    once.reopened_times[0] = 1
    step(once, scores_of(once, *other))
    assert sum(once.reopened) == 1


def test_a_found_value_is_not_lost_to_an_absence_that_is_less_sure_than_it_was() -> None:
    state = state_of(["b"], a=TEXT, b=TEXT)
    rest = {'"B"': 0, '"C"': 0}
    step(state, scores_of(state, {"": math.log(0.44), '"A"': math.log(0.56)}, {'"B"': 5, '"C"': 0}))
    assert state.closed.tolist() == [False, True] and not state.values[0].absent
    # Two readings share what one had; absence has next to nothing.
    doubt = {"": math.log(0.02), '"A"': math.log(0.5), '"D"': math.log(0.48)}
    step(state, scores_of(state, doubt, rest), steps=2)
    assert (state.canvas.values[0], state.values[0].confidence) == (b'"A"', 0.5)


def test_a_found_value_is_lost_to_an_absence_that_is_surer_than_it_was() -> None:
    state = state_of(["b"], a=TEXT, b=TEXT)
    step(state, scores_of(state, {"": math.log(0.44), '"A"': math.log(0.56)}, {'"B"': 5, '"C"': 0}))
    step(state, scores_of(state, {"": math.log(0.6), '"A"': math.log(0.4)}, {'"B"': 0, '"C"': 0}), steps=2)
    assert state.canvas.left_out[0] and state.values[0].absent


@pytest.mark.parametrize(("absent", "opened"), [(0.7, False), (0.98, True)])
def test_a_committed_value_is_reopened_for_an_absence_that_is_surer_than_it_was(absent: float, opened: bool) -> None:
    state = state_of(["b"], a=TEXT, b=TEXT)
    # Committed with .9.
    step(state, scores_of(state, {"": math.log(0.1), '"A"': math.log(0.9)}, {'"B"': 0, '"C"': 0}))
    assert state.closed.tolist() == [True, False]
    share = (1 - absent) / 2
    offer = {"": math.log(absent), '"A"': math.log(share), '"D"': math.log(share)}
    step(state, scores_of(state, offer, {'"B"': 0, '"C"': 0}))
    assert sum(state.reopened) == int(opened) and state.values[0].absent is opened


def test_a_value_that_is_no_longer_offered_is_reopened() -> None:
    state = committed()
    step(state, scores_of(state, {'"B"': 1, '"C"': 0}, {'"A"': 0, '"B"': 0}))
    assert sum(state.reopened) == 1 and state.values[0].text == b'"B"'


def test_known_values_are_never_judged() -> None:
    schema = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]}
    state = BatchState([request(compile_schema(schema).form, known={"/a": '"A"'})], ["m"], [[]], CPU)
    scores = scores_of(state, {'"B"': 5}, {'"B"': 0, '"C"': 0})
    step(state, scores)
    assert sum(state.reopened) == 0 and state.canvas.values[0] == b'"A"'


@pytest.mark.parametrize("field", ["absent_logit", "candidate_logits", "refused_logit"])
def test_scores_that_are_no_numbers_are_refused(field: str) -> None:
    state = state_of(a=TEXT, b=TEXT)
    scores = scores_of(state, {"": 0, '"A"': 0}, {"": 0, '"A"': 0})
    getattr(scores, field)[1] = float("nan")
    with pytest.raises(EngineFailure, match="expected numbers as scores"):
        step(state, scores)
    assert state.steps == [0] and not bool(state.closed.any())
