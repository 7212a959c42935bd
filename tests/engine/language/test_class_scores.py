"""Scores of token classes: sums and maxima over all tokens, in slices, with the first of equals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.support.scripted_decoder import Said
from tests.support.tiny_models import BLOCK, VOCABULARY, decoder

from cinnabar.engine.language import class_scores
from cinnabar.engine.language.class_scores import ClassScores, Reduced, TokenClasses
from cinnabar.kernels.score_limits import LEAST

SIZE = VOCABULARY.size


def drawn(seed: int, classes: int, without: float = 0.2) -> tuple[np.ndarray, torch.Tensor]:
    draw = np.random.default_rng(seed)
    kinds = draw.integers(0, classes, SIZE)
    kinds[:classes] = np.arange(classes)
    kinds[classes:][draw.random(SIZE - classes) < without] = -1
    return kinds, torch.from_numpy(draw.normal(0, 4, (7, SIZE)).astype(np.float32))


def scores(kinds: np.ndarray, logits: torch.Tensor, held: np.ndarray | None = None) -> ClassScores:
    none = np.full(len(logits), -1)
    return TokenClasses(kinds, int(kinds.max()) + 1).scores(Said(BLOCK), logits, none if held is None else held)


@pytest.mark.parametrize(("classes", "without"), [(1, 0.0), (1, 0.5), (9, 0.2), (200, 0.0), (SIZE, 0.0)])
def test_scores_of_classes_are_sums_and_maxima_over_their_tokens(classes: int, without: float) -> None:
    kinds, logits = drawn(classes, classes, without)
    held = np.array([-1, 0, 5, -1, classes - 1, 3, 2])
    found = scores(kinds, logits, held)
    expected = logits.double().log_softmax(-1).numpy()
    for kind in range(classes):
        members = np.flatnonzero(kinds == kind)
        part = expected[:, members]
        np.testing.assert_allclose(found.total[:, kind], np.log(np.exp(part).sum(1)), atol=1e-4)
        np.testing.assert_allclose(found.best[:, kind], part.max(1), atol=1e-4)
        assert found.token[:, kind].tolist() == members[part.argmax(1)].tolist()
    at = np.flatnonzero(held >= 0)
    np.testing.assert_allclose(found.own[at], expected[at, held[at]], atol=1e-4)
    assert found.finite.all()


def test_a_device_computes_the_scores_that_the_host_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_scores, "DEVICE_LOGITS", 3 * SIZE)
    for classes, without in ((1, 0.5), (9, 0.2), (SIZE, 0.0)):
        kinds, logits = drawn(classes, classes, without)
        logits[0, kinds == 0] = 1.0
        logits[2, 4], logits[4, 1] = float("nan"), float("inf")
        held = np.array([-1, 0, 5, -1, 0, 3, 2])
        expected = scores(kinds, logits, held)
        cells = torch.full((7 * classes,), float("nan"))
        out = Reduced(cells, cells.clone(), cells.int(), torch.full((7,), float("nan")), torch.zeros(7).bool())
        TokenClasses(kinds, classes).reduce(Said(BLOCK), logits, torch.from_numpy(held), (), out)
        fine = expected.finite
        assert out.finite.tolist() == fine.tolist() == [True, True, False, True, False, True, True]
        for name in ("total", "best", "token"):
            found = getattr(out, name).view(7, classes).numpy()
            np.testing.assert_allclose(found[fine], getattr(expected, name)[fine], atol=1e-4)
        np.testing.assert_allclose(out.own.numpy()[fine], expected.own[fine], atol=1e-4)
        assert (out.total.view(7, classes)[2] == LEAST).all()


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, logits = drawn(3, 12)
    whole = scores(kinds, logits)
    monkeypatch.setattr(class_scores, "LOGITS", 3 * SIZE)
    monkeypatch.setattr(class_scores, "REDUCED", 2 * SIZE)
    rows: list[int] = []
    monkeypatch.setattr(Said, "logits", lambda _, hidden: rows.append(len(hidden)) or hidden.clone())
    sliced = scores(kinds, logits)
    assert rows == [3, 3, 1]
    for name in ("total", "best", "token", "own", "finite"):
        assert np.array_equal(getattr(whole, name), getattr(sliced, name)), name


def test_the_first_of_equal_tokens_is_the_best() -> None:
    kinds, logits = drawn(4, 6)
    assert scores(kinds, torch.zeros_like(logits)).token[0].tolist() == [*range(6)]


def test_a_class_far_below_the_best_token_keeps_its_order() -> None:
    kinds = np.zeros(SIZE, np.int64)
    kinds[1], kinds[2] = 1, 2
    logits = torch.zeros(1, SIZE)
    logits[0, 1], logits[0, 2] = -200.0, -300.0
    found = scores(kinds, logits)
    assert found.total[0, 1] - found.total[0, 2] == pytest.approx(100.0, abs=1e-3)
    assert found.best[0].tolist() == pytest.approx(found.total[0].tolist(), abs=np.log(SIZE))
    logits[0, 1] = -1e9
    assert scores(kinds, logits).total[0, 1] == LEAST


def test_positions_without_numbers_are_told_apart() -> None:
    kinds, logits = drawn(5, 8)
    logits[2, 40], logits[4] = float("nan"), float("inf")
    assert scores(kinds, logits).finite.tolist() == [True, True, False, True, False, True, True]


def test_a_banned_token_has_no_probability_at_its_position() -> None:
    kinds, logits = drawn(6, 4)
    usual = scores(kinds, logits)
    token = int(usual.token[3, 1])
    found = TokenClasses(kinds, 4).scores(Said(BLOCK), logits, np.full(7, -1), [(3, token)])
    assert found.token[3, 1] != token
    assert np.array_equal(found.token[:3], usual.token[:3])


def test_the_scores_of_a_decoder_come_from_its_last_matrix() -> None:
    model, hidden = decoder(BLOCK), torch.randn(3, BLOCK.width)
    kinds = drawn(7, 5)[0]
    with torch.inference_mode():
        found = TokenClasses(kinds, 5).scores(model, hidden, np.full(3, -1))
        expected = scores(kinds, model.logits(hidden))
    np.testing.assert_allclose(found.total, expected.total, atol=1e-5)
