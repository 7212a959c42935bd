"""The constraint: the posterior and the witness of slots, against a sum over all of their texts."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from cinnabar.engine.canvas import MASK, MORE, PAD, VOCABULARY
from cinnabar.engine.constraint import LONGEST, Constraint, Outlook, first_length, shortest
from cinnabar.engine.tokenizer import text_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Slot

CPU = torch.device("cpu")
#: Schemas of one scalar with few texts, and these texts; `null` is never spelled out.
FEW: list[tuple[dict[str, Any], list[str]]] = [
    ({"enum": ["ab", "ac", "b", "", "abcd"]}, ['"ab"', '"ac"', '"b"', '""', '"abcd"']),
    ({"type": ["boolean", "null"]}, ["true", "false"]),
    ({"type": "integer", "minimum": 8, "maximum": 31}, [str(n) for n in range(8, 32)]),
    ({"enum": ["null", "nun", None, 7]}, ['"null"', '"nun"', "7"]),
    ({"const": "x"}, ['"x"']),
    ({"enum": ["é", "è", "e"]}, ['"é"', '"è"', '"e"']),
]


def slot_of(schema: dict[str, Any]) -> Slot:
    (slot,) = compile_schema(schema).form.slots
    return slot


def spellings(texts: list[str], length: int) -> list[tuple[int, ...]]:
    """All token rows that a slot of this length may have: whole texts, and texts that continue beyond its end."""
    raws = [text.encode() for text in texts]
    whole = [(*raw, *[PAD] * (length - len(raw))) for raw in raws if len(raw) <= length]
    # A row may end in MORE whether or not the whole text would have fitted.
    further = dict.fromkeys((*raw[: length - 1], MORE) for raw in raws if len(raw) >= length)
    return [*whole, *further]


def outlook(slots: list[Slot], tokens: torch.Tensor, lengths: list[int], logits: torch.Tensor) -> Outlook:
    return Constraint(CPU).outlook(slots, tokens, torch.tensor(lengths), logits)


@pytest.mark.parametrize("seed", range(12))
def test_the_outlook_is_a_sum_over_all_texts(seed: int) -> None:
    draw, torch_draw = random.Random(seed), torch.Generator().manual_seed(seed)
    cases = [draw.choice(FEW) for _ in range(5)]
    lengths = [draw.choice((4, 5, 6, 8)) for _ in cases]
    scale = draw.choice((0.5, 3.0, 12.0))
    logits = torch.randn(len(cases), 8, VOCABULARY, generator=torch_draw) * scale
    tokens = torch.full((len(cases), 8), MASK)
    for slot, ((_, texts), length) in enumerate(zip(cases, lengths, strict=True)):
        whole = [row for row in spellings(texts, length) if row[-1] != MORE]
        for at, token in enumerate(draw.choice(whole) if whole else ()):
            if draw.random() < 0.3:
                tokens[slot, at] = token
    got = outlook([slot_of(schema) for schema, _ in cases], tokens, lengths, logits)
    scores = logits.double().log_softmax(-1)
    for slot, ((_, texts), length) in enumerate(zip(cases, lengths, strict=True)):
        check(got, slot, spellings(texts, length), tokens[slot, :length].tolist(), scores[slot])


def check(
    got: Outlook, slot: int, rows: list[tuple[int, ...]], fixed: list[int], scores: torch.Tensor
) -> None:
    def weight(row: tuple[int, ...], judged: int = -1) -> float | None:
        """Log weight under the committed tokens and the one at position `judged`; None where it contradicts them."""
        total = 0.0
        for at, token in enumerate(row):
            if fixed[at] < 0 or at == judged:
                total += float(scores[at, token])
            elif fixed[at] != token:
                return None
        return total

    possible = [(found, row) for row in rows if (found := weight(row)) is not None]
    assert float(got.log_mass[slot]) == pytest.approx(log_sum([w for w, _ in possible]), abs=2e-3)
    whole = [(found, row) for found, row in possible if row[-1] != MORE]
    assert bool(got.complete[slot]) == bool(whole)
    if not whole:
        return
    length, (best, witness) = len(fixed), max(whole)
    assert weight(tuple(got.witness[slot, :length].tolist())) == pytest.approx(best, abs=1e-3)
    for at in range(length):
        shares: dict[int, list[float]] = {}
        for row in rows:
            if (found := weight(row, at)) is not None:
                shares.setdefault(row[at], []).append(found)
        total = log_sum([found for several in shares.values() for found in several])
        chance = {token: math.exp(log_sum(several) - total) for token, several in shares.items()}
        assert float(got.posterior[slot, at]) == pytest.approx(chance[witness[at]], abs=2e-3)
        assert float(got.runner_up[slot, at]) == pytest.approx(max(chance.values()), abs=2e-3)
        assert float(got.choices[slot, at]) == len(shares)
        if at == length - 1:
            assert float(got.more[slot]) == pytest.approx(chance.get(MORE, 0.0), abs=2e-3)
    assert got.witness[slot, length:].tolist() == [PAD] * (got.witness.shape[1] - length)
    assert set(got.posterior[slot, length:].tolist()) | set(got.choices[slot, length:].tolist()) <= {1.0}


def log_sum(values: list[float]) -> float:
    return float(torch.tensor(values, dtype=torch.float64).logsumexp(0))


def test_continuing_values_have_no_share_in_the_longest_slot() -> None:
    slot, tokens = slot_of({"type": "string"}), torch.full((1, LONGEST), MASK)
    for length, more in ((LONGEST // 2, 1.0), (LONGEST, 0.0)):
        logits = torch.zeros(1, LONGEST, VOCABULARY)
        logits[0, 0, ord('"')] = 40.0
        logits[0, 1:, ord("x")] = 40.0
        logits[0, length - 1, MORE] = 80.0
        got = outlook([slot], tokens, [length], logits)
        assert float(got.more[0]) == more and bool(got.complete[0])
        assert text_of(got.witness[0, :length].tolist()) == b'"' + b"x" * (length - 2) + b'"'


def test_a_slot_that_no_whole_text_fits_is_not_complete() -> None:
    slots = [slot_of({"type": "string", "minLength": 3}), slot_of({"const": 7})]
    got = outlook(slots, torch.full((2, 4), MASK), [4, 4], torch.zeros(2, 4, VOCABULARY))
    assert got.complete.tolist() == [False, True] and float(got.more[0]) == 1.0
    assert text_of(got.witness[1].tolist()) == b"7"


def test_tables_are_kept_until_slots_or_lengths_change() -> None:
    constraint, slots = Constraint(CPU), [slot_of({"const": 1}), slot_of({"type": "boolean"})]
    first = constraint.tables(slots, torch.tensor([4, 8]))
    assert constraint.tables(slots, torch.tensor([4, 8])) is first
    assert first.order.tolist() == [1, 0] and first.scan.length.tolist() == [8, 4]
    assert constraint.tables(slots, torch.tensor([8, 8])).order.tolist() == [0, 1]
    assert constraint.tables(slots[::-1], torch.tensor([8, 8])).scan.length.tolist() == [8, 8]
    # A new automaton joins the known ones.
    more = constraint.tables([*slots, slot_of({"const": None}), slots[0]], torch.tensor([4, 4, 4, 8]))
    assert more.order.tolist() == [3, 0, 1, 2]


@pytest.mark.parametrize(
    ("schema", "size", "length"),
    [
        ({"type": "string"}, 2, 16),
        ({"type": ["string", "null"], "minLength": 14}, 16, 16),
        ({"type": ["string", "null"], "minLength": 15}, 17, 32),
        ({"type": "string", "minLength": 31}, 33, 64),
        ({"type": "string", "minLength": 100}, 102, 64),
        ({"type": "null"}, None, 16),
        ({"type": ["integer", "null"]}, 1, 16),
        ({"type": ["boolean", "null"]}, 4, 16),
    ],
)
def test_a_slot_begins_at_the_length_of_its_shortest_text(
    schema: dict[str, Any], size: int | None, length: int
) -> None:
    assert (shortest(slot_of(schema)), first_length(slot_of(schema))) == (size, length)
