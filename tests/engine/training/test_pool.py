"""The pool of training sources: weights draw windows from them, and a budget bounds a batch."""

from __future__ import annotations

import random

from tests.support.tiny_network import bills

from cinnabar.engine.training.batches import Drawn
from cinnabar.engine.training.pool import Mix, TrainingSource

SHORT, LONG = bills(4), bills(3, longest=60)


def sources() -> list[TrainingSource]:
    return [
        TrainingSource("long", 1.0, LONG),
        TrainingSource("own schema", 1.0, SHORT[2:], shared_schema=False),
        TrainingSource("short", 3.0, SHORT[:2]),
        TrainingSource("nothing", 1.0, []),
        TrainingSource("off", 0.0, [SHORT[3]]),
    ]


def name_of(drawn: Drawn) -> str:
    return next(s.name for s in sources() if any(drawn[0] is p for p in s.train))


def padded(drawn: list[Drawn]) -> int:
    return len(drawn) * max(w.last - w.first + 2 for _, w in drawn)


def test_windows_come_from_few_sources_and_keep_the_budget() -> None:
    mix = Mix(sources(), random.Random(0))
    for budget in (60, 150, 2000):
        for _ in range(20):
            drawn = mix.draw(2, 4, budget)
            assert drawn and (len(drawn) == 1 or padded(drawn) <= budget)
            assert len({name_of(d) for d in drawn}) <= 2
            assert all(w in p.windows for p, w in drawn)


def test_sources_are_drawn_by_weight_and_never_without_one() -> None:
    mix = Mix(sources(), random.Random(0))
    names = [name_of(mix.draw(1, 1, 2000)[0]) for _ in range(400)]
    assert set(names) == {"long", "own schema", "short"}
    assert 0.5 < names.count("short") / len(names) < 0.7


def test_documents_with_questions_of_their_own_are_drawn_half_as_often() -> None:
    mix = Mix(sources()[1:2], random.Random(0))
    assert len(mix.draw(1, 6, 10_000)) == 3
    assert len(Mix(sources()[2:3], random.Random(0)).draw(1, 6, 10_000)) == 6


def test_the_same_seed_draws_the_same_windows() -> None:
    one, two = (Mix(sources(), random.Random(7)) for _ in range(2))
    for _ in range(10):
        first, second = one.draw(3, 4, 2000), two.draw(3, 4, 2000)
        assert [(p.text, w) for p, w in first] == [(p.text, w) for p, w in second]
