"""Reranking by column: many rows agree on one column, which makes a doubtful row's value there likelier."""

from __future__ import annotations

import math
import random
import time

import pytest
from tiny_network import wordpieces

from cinnabar.engine.model import Candidate
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS
from cinnabar.engine.models.reader.scoring.column_alignment import rerank_by_column

Found = list[tuple[str, float]]
CONFIG = DEFAULT_PRIORS.column_alignment


def table(rows: int) -> str:
    return "".join(f"item{at:03}   {at + 100}      {at + 500}\n" for at in range(rows))


def told(text: str, pieces: Pieces, found: list[Found], absent: float = 0.02) -> list[list[float]]:
    """The probabilities of these values, beside absence, after the reranking."""
    candidates = [
        [Candidate(v.encode(), ((text.index(v), text.index(v) + len(v)),)) for v, _ in row] for row in found
    ]
    logits = [[math.log(p) for _, p in row] for row in found]
    changed = rerank_by_column(candidates, logits, [math.log(absent)] * len(found), pieces, CONFIG)
    whole = [sum(map(math.exp, row)) + absent for row in changed]
    return [[math.exp(x) / all_ for x in row] for row, all_ in zip(changed, whole, strict=True)]


def test_a_value_beside_the_column_of_the_others_gives_way() -> None:
    text = table(20)
    found: list[Found] = [[(str(at + 100), 0.9), (str(at + 500), 0.08)] for at in range(19)]
    doubtful: Found = [("119", 0.3), ("519", 0.68)]
    *others, last = told(text, wordpieces().pieces(text), [*found, doubtful])
    assert last[0] > 0.7 > 0.25 > last[1]
    assert all(first > 0.9 for first, _ in others)


def test_a_value_that_stands_alone_beside_an_empty_cell_becomes_unlikely() -> None:
    text = table(20)
    found: list[Found] = [[(str(at + 100), 0.95)] for at in range(19)]
    *_, last = told(text, wordpieces().pieces(text), [*found, [("519", 0.6)]], absent=0.4)
    assert last[0] < 0.25


def test_two_rows_are_too_few_for_a_table() -> None:
    text = table(2)
    (_, (value,)) = told(text, wordpieces().pieces(text), [[("100", 0.9)], [("501", 0.7)]])
    assert value == pytest.approx(0.7, abs=0.3)


def test_rows_in_disorder_change_nothing() -> None:
    drawn = random.Random(5)
    lines = [" " * drawn.randrange(70) + f"value{at:03} and more" for at in range(40)]
    text = "\n".join(lines)
    found: list[Found] = [[(f"value{at:03}", 0.7)] for at in range(40)]
    after = told(text, wordpieces().pieces(text), found, absent=0.3)
    assert sum(value for (value,) in after) / 40 == pytest.approx(0.7, abs=0.08)
    assert min(value for (value,) in after) > 0.3


def test_rows_without_candidates_and_a_lone_row_stay_unchanged() -> None:
    text = table(1)
    pieces = wordpieces().pieces(text)
    assert rerank_by_column([[], []], [[], []], [-0.1, -0.1], pieces, CONFIG) == [[], []]
    one = [Candidate(b"100", ((10, 13),))]
    assert rerank_by_column([one], [[-1.0]], [-2.0], pieces, CONFIG) == [[-1.0]]


def test_thousands_of_rows_take_no_longer_than_reading_them() -> None:
    text = table(3000)
    pieces = wordpieces().pieces(text)
    candidates = [[Candidate(b"1", ((22 * at + 10, 22 * at + 13),))] * 8 for at in range(3000)]
    begin = time.thread_time()
    rerank_by_column(candidates, [[-2.0] * 8] * 3000, [-3.0] * 3000, pieces, CONFIG)
    assert time.thread_time() - begin < 15
