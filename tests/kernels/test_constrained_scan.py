"""The constrained scan against the enumeration of all texts, and against itself in other batches."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from cinnabar.engine.canvas import MASK, MORE, PAD, VOCABULARY
from cinnabar.engine.constraint import FIRST_LENGTH, Constraint
from cinnabar.engine.lifting import lift
from cinnabar.kernels.class_logits import class_logits
from cinnabar.kernels.constrained_scan import constrained_scan
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.form.form import Slot

LETTERS = "abcd"


def automaton(table: list[list[int]], accepting: list[bool]) -> Automaton:
    """An automaton over a, b, c, d; c and d are one class where the table has three columns."""
    classes = np.full(256, len(table[0]), np.int32)
    for at, letter in enumerate(LETTERS):
        classes[ord(letter)] = min(at, len(table[0]) - 1)
    padded = [[*row, -1] for row in table]
    return Automaton(np.array(padded, np.int32), classes, np.array(accepting))


# (name, automaton): each row has its reason.
AUTOMATA = {
    "two branches that meet again": automaton(
        [[1, 2, -1], [3, -1, 3], [-1, 3, 3], [-1, -1, -1]], [0, 0, 0, 1]
    ),
    "a loop that accepts at every turn": automaton([[0, 1, 0], [0, -1, -1]], [True, False]),
    "only texts longer than the slot": automaton(
        [[k + 1, -1, -1] for k in range(6)] + [[-1] * 3], [0] * 6 + [1]
    ),
    "the empty text alone": automaton([[-1, -1, -1]], [True]),
    "no text at all": Automaton(np.zeros((0, 1), np.int32), np.zeros(256, np.int32), np.zeros(0, np.bool_)),
    "one text": automaton([[-1, 1, -1], [2, -1, -1], [-1, -1, -1]], [False, False, True]),
}


def slot(language: Automaton, nullable: bool = False) -> Slot:
    return Slot(0, "/x", "string", language, nullable, "")


def texts(language: Automaton, length: int) -> list[tuple[int, ...]]:
    """All token rows of this length: a text with its padding, or a text's beginning with MORE."""
    found = []
    for size in range(length + 1):
        for text in itertools.product(LETTERS.encode(), repeat=size):
            state = language.run(bytes(text)) if language.states else -1
            if state < 0:
                continue
            if language.accepting[state]:
                found.append((*text, *[PAD] * (length - size)))
            if size == length - 1 and (language.transitions[state] >= 0).any():
                found.append((*text, MORE))
    return found


@pytest.mark.parametrize("name", AUTOMATA)
@pytest.mark.parametrize("committed", [False, True], ids=["open", "partly committed"])
def test_posterior_and_witness_are_those_of_enumerating_all_texts(name: str, committed: bool) -> None:
    language, length = AUTOMATA[name], 5
    logits = torch.randn(1, length, VOCABULARY, generator=torch.Generator().manual_seed(3)) * 2
    every = texts(language, length)
    whole = [row for row in every if MORE not in row]
    tokens = torch.full((1, length), MASK)
    if committed and whole:
        tokens[0, 1] = whole[-1][1]
    allowed = [row for row in every if tokens[0, 1] in (MASK, row[1])]
    got = Constraint(torch.device("cpu")).outlook([slot(language)], tokens, torch.tensor([length]), logits)
    scores = logits[0].log_softmax(-1)

    def score(row: tuple[int, ...]) -> float:
        return sum(float(scores[i, t]) for i, t in enumerate(row) if tokens[0, i] == MASK)

    mass = math.log(sum(math.exp(score(row)) for row in allowed)) if allowed else -1e9
    assert float(got.log_mass[0]) == pytest.approx(mass, abs=1e-3)
    finished = [row for row in allowed if MORE not in row]
    assert bool(got.complete[0]) == bool(finished)
    if not finished:
        return
    best = max(finished, key=score)
    assert tuple(got.witness[0].tolist()) == best
    share = sum(math.exp(score(row)) for row in allowed if row[-1] == MORE) / math.exp(mass)
    assert float(got.more[0]) == pytest.approx(share, abs=1e-4)
    for i in range(length):
        others = [row for row in every if i == 1 or tokens[0, 1] in (MASK, row[1])]
        counted = [k for k in range(length) if k == i or tokens[0, k] == MASK]
        weight = {row: math.exp(sum(float(scores[k, row[k]]) for k in counted)) for row in others}
        by_token = {t: sum(w for row, w in weight.items() if row[i] == t) for t in {row[i] for row in others}}
        total = sum(by_token.values())
        assert float(got.posterior[0, i]) == pytest.approx(by_token[best[i]] / total, abs=1e-4)
        # The likeliest token of a class stands for the class, so the runner-up is the likeliest token of all.
        assert float(got.runner_up[0, i]) == pytest.approx(max(by_token.values()) / total, abs=1e-4)
        assert int(got.choices[0, i]) == len(by_token)


def test_a_slot_gets_the_same_result_in_a_mixed_batch_as_alone() -> None:
    draw = torch.Generator().manual_seed(0)
    constraint = Constraint(torch.device("cpu"))
    languages = [a for a in AUTOMATA.values() for _ in range(3)]
    length = torch.tensor([(16, 32, 64)[k % 3] for k in range(len(languages))])
    logits = torch.randn(len(languages), 64, VOCABULARY, generator=draw) * 5
    tokens = torch.full((len(languages), 64), MASK)
    together = constraint.outlook([slot(a) for a in languages], tokens, length, logits)
    for k, language in enumerate(languages):
        size = int(length[k])
        alone = Constraint(torch.device("cpu")).outlook(
            [slot(language)], tokens[k : k + 1, :size], length[k : k + 1], logits[k : k + 1, :size]
        )
        assert torch.equal(alone.log_mass[0], together.log_mass[k])
        assert torch.equal(alone.complete[0], together.complete[k])
        if alone.complete[0]:
            assert torch.equal(alone.witness[0], together.witness[k, :size])
            assert torch.equal(alone.posterior[0], together.posterior[k, :size])


def test_the_longest_slot_never_continues() -> None:
    language = AUTOMATA["a loop that accepts at every turn"]
    logits = torch.zeros(2, 64, VOCABULARY)
    logits[:, :, MORE] = 50
    length = torch.tensor([64, 32])
    got = Constraint(torch.device("cpu")).outlook(
        [slot(language)] * 2, torch.full((2, 64), MASK), length, logits
    )
    assert float(got.more[0]) == 0.0
    assert float(got.more[1]) > 0.99


def test_extreme_logits_leave_a_whole_witness() -> None:
    language = AUTOMATA["a loop that accepts at every turn"]
    logits = torch.full((1, FIRST_LENGTH, VOCABULARY), -1e4)
    logits[:, :, ord("z")] = 1e4
    got = Constraint(torch.device("cpu")).outlook(
        [slot(language)], torch.full((1, FIRST_LENGTH), MASK), torch.tensor([FIRST_LENGTH]), logits
    )
    assert bool(got.complete[0])
    assert bool((got.posterior >= 0).all()) and bool((got.posterior <= 1).all())
    assert float(got.log_mass[0]) < -1e5


def test_null_is_never_spelled_out() -> None:
    table = np.full((6, 5), -1, np.int32)
    classes = np.full(256, 4, np.int32)
    for at, letter in enumerate(b"nulx"):
        classes[letter] = at
    table[0, 0], table[1, 1], table[2, 2], table[3, 2] = 1, 2, 3, 5
    table[0, 3] = 5
    language = Automaton(table, classes, np.array([0, 0, 0, 0, 0, 1], np.bool_))
    assert language.accepts(b"null") and language.accepts(b"x")
    logits = torch.zeros(1, 16, VOCABULARY)
    for i, letter in enumerate(b"null"):
        logits[0, i, letter] = 40
    got = Constraint(torch.device("cpu")).outlook(
        [slot(language, nullable=True)], torch.full((1, 16), MASK), torch.tensor([16]), logits
    )
    assert got.witness[0].tolist() == [ord("x")] + [PAD] * 15


def test_lifted_classes_are_the_byte_classes_and_padding() -> None:
    lifted = lift(AUTOMATA["two branches that meet again"])
    assert lifted.classes == 5
    assert lifted.token_class[ord("c")] == lifted.token_class[ord("d")]
    assert lifted.token_class[ord("e")] == -1
    assert (lifted.token_class[PAD], lifted.token_class[MORE]) == (3, 4)


def test_emissions_of_the_wrong_shape_or_type_are_refused() -> None:
    constraint = Constraint(torch.device("cpu"))
    tables = constraint.tables([slot(AUTOMATA["one text"])], torch.tensor([16]))
    good = torch.zeros(16, len(tables.scan.class_slot))
    constrained_scan(tables.scan, good, good, good)
    with pytest.raises(ValueError, match="free: expected float32"):
        constrained_scan(tables.scan, good, good.double(), good)
    with pytest.raises(ValueError, match="best: expected float32"):
        constrained_scan(tables.scan, good, good, good[:-1])
    with pytest.raises(ValueError, match="scores: expected float32"):
        class_logits(torch.zeros(16, VOCABULARY), tables.classes)


@pytest.mark.parametrize(
    "name", ["two branches that meet again", "a loop that accepts at every turn", "one text"]
)
def test_the_score_of_the_best_text_is_the_sum_along_its_path(name: str) -> None:
    tables = Constraint(torch.device("cpu")).tables([slot(AUTOMATA[name])], torch.tensor([5])).scan
    draw = torch.Generator().manual_seed(0)
    for _ in range(5):
        scores = torch.randn(5, len(tables.class_slot), generator=draw)
        found = constrained_scan(tables, scores, scores, scores)
        along = scores.gather(1, found.path).sum()
        assert float(found.best[0]) == pytest.approx(float(along), abs=1e-5)
        assert float(found.best[0]) <= float(found.log_mass[0]) + 1e-5
