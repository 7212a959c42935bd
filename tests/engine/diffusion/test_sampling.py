"""Tokens that are drawn: the shares of a softmax, the likeliest part of it, and answers that a seed decides."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.engine.diffusion.test_denoiser import (
    INVOICE,
    RECORD,
    accepted,
    answering,
    certain_of,
    form_of,
    scripted,
    task,
)
from tests.support.effort import first, some
from tests.support.tiny_models import FEW_KINDS, KINDS, TOKENIZER, decoder

from cinnabar.engine.diffusion.class_scores import Sampling, draw, gumbel
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.settings import EFFORTS

LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, -9.0])


def shares(sampling: Sampling, many: int = 4000) -> np.ndarray:
    """How often each token is the best one."""
    found = Counter(int(replace(sampling, seed=seed).drawn(LOGITS, 7).argmax()) for seed in range(many))
    return np.array([found[token] / many for token in range(len(LOGITS))])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_by_the_softmax_at_the_temperature(temperature: float) -> None:
    expected = (LOGITS / temperature).softmax(-1).numpy()
    assert shares(Sampling(temperature)) == pytest.approx(expected, abs=0.03)


def test_only_the_likeliest_tokens_are_drawn() -> None:
    # At 1 the first has .64, the second .24.
    assert shares(Sampling(1.0, 0.0), 50).tolist() == [1, 0, 0, 0, 0]
    assert shares(Sampling(1.0, 0.6), 50).tolist() == [1, 0, 0, 0, 0]
    found = shares(Sampling(1.0, 0.7))
    assert found[:2] == pytest.approx([0.73, 0.27], abs=0.03) and not found[2:].any()


@pytest.mark.parametrize("precision", first(1, [torch.bfloat16, torch.float32]))
def test_equal_tokens_are_drawn_equally_often_in_any_precision(precision: torch.dtype) -> None:
    logits = torch.full((32,), 40.0, dtype=precision)
    found = Counter(int(Sampling(1.0, seed=seed).drawn(logits, 7).argmax()) for seed in range(8000))
    # Chi-square of 31 degrees of freedom: above 61 with a probability of .001.
    assert sum((found[token] - 250) ** 2 / 250 for token in range(32)) < 61


#: Values of a choice, each of one token, and the model's probabilities of them.
CHOICES = {"ab": 0.4, "the": 0.25, "null": 0.2, "total": 0.1, "kind": 0.05}


@pytest.mark.parametrize(
    ("temperature", "top_p"),
    [(0.5, 0.9), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((1.0, 1.0), (2.0, 1.0), (1.0, 0.5)))],
)
@pytest.mark.parametrize("kind", first(1, ["block", "revising"]))
def test_a_choice_follows_the_models_probabilities(kind: str, temperature: float, top_p: float) -> None:
    one = task(form_of({"kind": {"enum": [*CHOICES]}}))
    begin = len(one.prompt)
    certain, place = answering('{"kind": "ab"}', begin), begin + 3

    def script(position: int, held: dict[int, int]) -> torch.Tensor:
        logits = certain(position, held)
        if position == place:
            logits = torch.full_like(logits, -30.0)
            for text, share in CHOICES.items():
                logits[TOKENIZER.encode(text)] = math.log(share)
        return logits

    tasks = [replace(one, sampling=Sampling(temperature, top_p, seed)) for seed in range(500)]
    results = Denoiser(scripted(KINDS[kind], script), TOKENIZER).decode(tasks)
    found = Counter(str(json.loads(one.text)["kind"]) for one in results if isinstance(one, Decoded))
    shares = np.array([*CHOICES.values()]) ** (1 / temperature)
    shares /= shares.sum()
    expected = np.where(np.cumsum(shares) - shares < top_p - 1e-6, shares, 0)
    expected *= 500 / expected.sum()
    likely = {text: wanted for text, wanted in zip(CHOICES, expected.tolist(), strict=True) if wanted}
    assert sum(found.values()) == 500 and {*found} <= {*likely}
    # Chi-square of 4 degrees of freedom: above 18.5 with a probability of .001.
    assert sum((found[text] - wanted) ** 2 / wanted for text, wanted in likely.items()) < 18.5


def test_the_noise_is_of_the_seed_and_the_place_alone() -> None:
    one = Sampling(1.0, seed=-3)
    rows = draw(LOGITS.repeat(4, 1), 10, {11: (one, 5), 13: (one, 6), 2: (one, 5), 14: (one, 5)})
    assert torch.equal(rows[0], LOGITS) and torch.equal(rows[2], LOGITS)
    assert torch.equal(rows[1], one.drawn(LOGITS, 5)) and torch.equal(rows[3], one.drawn(LOGITS, 6))
    assert not torch.equal(rows[1], rows[3]) and not torch.equal(rows[1], Sampling(1.0, seed=2).drawn(LOGITS, 5))


@pytest.mark.slow
@pytest.mark.parametrize("effort", some(("low",), EFFORTS))
@pytest.mark.parametrize("kind", some(FEW_KINDS, KINDS))
def test_drawn_answers_are_records_that_depend_on_no_other_request(kind: str, effort: str) -> None:
    form = form_of(INVOICE)
    tasks = [replace(task(form), sampling=Sampling(1.0, 0.95, seed)) for seed in range(3)]
    tasks.insert(1, task(form))

    def decode(*asked: object) -> list[Decoded]:
        found = Denoiser(decoder(KINDS[kind], 5), TOKENIZER, effort).decode(asked)  # type: ignore[arg-type]
        assert all(isinstance(one, Decoded) for one in found), found
        return found  # type: ignore[return-value]

    together = decode(*tasks)
    assert all(accepted(form, one.text) for one in together)
    assert [one.text for one in together] == [decode(one)[0].text for one in tasks]
    assert len({one.text for one in together}) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_certain_model_writes_the_same_at_a_temperature(kind: str) -> None:
    one = replace(task(form_of(INVOICE)), sampling=Sampling(0.3, seed=4))
    (found,) = Denoiser(certain_of(RECORD, len(one.prompt), KINDS[kind]), TOKENIZER).decode([one])
    assert isinstance(found, Decoded) and found.text.decode() == RECORD


def test_noise_is_a_number_at_all_places_of_a_large_vocabulary() -> None:
    # One of 2^24 hashes rounded up to a share of 1, and its noise to infinity: in 3 of 300 places of this vocabulary.
    assert all(bool(torch.isfinite(gumbel(151_936, 1, place, torch.device("cpu"))).all()) for place in range(300))
    assert torch.equal(gumbel(9, 1, 2, torch.device("cpu")), gumbel(12, 1, 2, torch.device("cpu"))[:9])
