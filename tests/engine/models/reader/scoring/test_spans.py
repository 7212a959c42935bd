"""Pointed spans and their candidates: only accepted readings, each once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tests.support.tiny_network import form_of, tiny_network, wordpieces

from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.tensors import Window, cut, sheet
from cinnabar.engine.models.reader.network.encoder import FLOOR, DecoderOutput
from cinnabar.engine.models.reader.scoring.spans import (
    CANDIDATES,
    ENDS,
    NEGLIGIBLE,
    STARTS,
    Pointed,
    candidates_of,
    end_mask,
    point,
    spans_in_window,
    start_masks,
)
from cinnabar.schemas.form.form import Slot

TEXT = "Order AB-123 of ACME Ltd, total 1,250.00 EUR, paid 1250 EUR on 3 May 2024, not ab-1. ACME Ltd"
READER = MentionReader(TEXT)


def slot_of(**schema: Any) -> Slot:
    return form_of(x=schema).slots[0]


def at(words: str, log: float, nth: int = 0) -> Pointed:
    start = -1
    for _ in range(nth + 1):
        start = TEXT.index(words, start + 1)
    return Pointed(((start, start + len(words)),), log)


def test_only_accepted_texts_become_candidates() -> None:
    slot = slot_of(type="string", pattern="^[A-Z]{2}-[0-9]{3}$")
    found, logs = candidates_of(slot, False, [at("ACME", -0.1), at("ab-1", -0.2), at("AB-123", -3.0)], READER)
    assert [c.text for c in found] == [b'"AB-123"'] and logs == [-3.0]
    assert found[0].spans == ((6, 12),)
    assert candidates_of(slot, False, [at("ACME", -0.1)], READER) == ([], [])


def test_only_mentions_at_pointed_places_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = MentionReader(" ".join(f"{n}.5" for n in range(100, 400)))
    slot, asked = slot_of(type="number"), []
    read = MentionReader.read
    monkeypatch.setattr(MentionReader, "read", lambda self, *of: asked.append(of) or read(self, *of))
    for n in (0, 7, 299, 7):
        place = Pointed(((6 * n, 6 * n + 5),), -0.1)
        found, _ = candidates_of(slot, True, [place], numbers)
        assert [c.text for c in found] == [f"{n + 100}.5".encode()]
    assert len({of[1] for of in asked}) == 3


def test_a_sign_before_the_pointed_place_belongs_to_the_mention() -> None:
    numbers = MentionReader("credit (12.50) or -7")
    slot = slot_of(type="number")
    assert numbers.mentions_at(slot, 8) and numbers.mentions_at(slot, 8) == numbers.mentions_at(slot, 7)
    assert numbers.mentions_at(slot, 19) == numbers.mentions_at(slot, 18) == [(18, 20, b"-7")]
    assert not numbers.mentions_at(slot, 2)


def test_spans_with_the_same_reading_are_one_candidate_with_the_sum_of_their_probabilities() -> None:
    slot = slot_of(type="string")
    pointed = [at("ACME Ltd", math.log(0.2)), at("total", math.log(0.4)), at("ACME Ltd", math.log(0.3), 1)]
    found, logs = candidates_of(slot, False, pointed, READER)
    assert [c.text for c in found] == [b'"ACME Ltd"', b'"total"']
    assert [math.exp(x) for x in logs] == pytest.approx([0.5, 0.4])
    assert found[0].spans == ((TEXT.rindex("ACME"), len(TEXT)),)


def test_a_typed_slot_takes_whole_mentions() -> None:
    found, _ = candidates_of(slot_of(type="number"), True, [at("1,2", -0.5)], READER)
    start = TEXT.index("1,250.00")
    assert [(c.text, c.spans) for c in found] == [(b"1250", ((start, start + 8),))]
    found, _ = candidates_of(slot_of(type="string", format="date"), True, [at("3 May", -0.5)], READER)
    assert [c.text for c in found] == [b'"2024-05-03"']
    assert candidates_of(slot_of(type="number"), True, [at("total", -0.1)], READER) == ([], [])


def test_a_slot_keeps_the_likeliest_few() -> None:
    words = TEXT.split()[:12]
    found, logs = candidates_of(slot_of(type="string"), False, [at(w, -float(i)) for i, w in enumerate(words)], READER)
    assert len(found) == len(logs) == CANDIDATES
    assert logs == sorted(logs, reverse=True)


def test_improbable_spans_are_kept_only_for_slots_with_a_pattern() -> None:
    pointed = [at("total", -0.1), at("AB-123", -0.2 - NEGLIGIBLE)]
    found, _ = candidates_of(slot_of(type="string"), False, pointed, READER)
    assert [c.text for c in found] == [b'"total"']
    found, _ = candidates_of(slot_of(type="string", pattern="^[A-Z]{2}-[0-9]{3}$"), False, pointed, READER)
    assert [c.text for c in found] == [b'"AB-123"']


def test_values_start_at_words_at_mentions_or_nowhere() -> None:
    pieces = wordpieces().pieces(TEXT)
    window = cut(pieces)[0]
    slots = [slot_of(type="string"), slot_of(type="number"), slot_of(enum=["a", "b"])]
    words, numbers, options = start_masks(slots, [False, True, False], READER, pieces, window, 64)

    def starts(mask: npt.NDArray[np.bool_]) -> set[int]:
        return {int(pieces.start[p - 1]) for p in mask.nonzero()[0].tolist()}

    assert not options.any()
    assert {TEXT.index("1,250"), TEXT.index("1250")} <= starts(numbers) <= starts(words)
    assert TEXT.index("ACME") in starts(words) - starts(numbers)
    assert all(i == 0 or not (TEXT[i - 1].isalpha() and TEXT[i].isalpha()) for i in starts(words))
    ends = {int(pieces.end[p - 1]) for p in end_mask(pieces, window, 64).nonzero()[0].tolist()}
    assert all(i == len(TEXT) or not (TEXT[i - 1].isalpha() and TEXT[i].isalpha()) for i in ends)


def test_pointed_spans_have_allowed_ends_in_order_of_probability() -> None:
    pieces = wordpieces().pieces(TEXT)
    window = cut(pieces)[0]
    page = sheet([(pieces, window)])
    network = tiny_network().eval()
    width = page.ids.shape[1]
    windows = network.project_windows(torch.randn(1, width, 32))
    decoded = DecoderOutput(torch.randn(1, 2, 32), windows, torch.zeros(1, 2, width))
    slots = [slot_of(type="number"), slot_of(type="string")]
    allowed = torch.from_numpy(start_masks(slots, [True, False], READER, pieces, window, width))[None]
    end_words = torch.from_numpy(end_mask(pieces, window, width))[None]
    with torch.inference_mode():
        starts, ends, logs, mass = point(network, decoded, page, network.starts(decoded), allowed, end_words)
    assert starts.shape == ends.shape == logs.shape == (1, 2, STARTS, ENDS)
    assert mass.shape == (1, 2) and (mass <= 1e-5).all()
    real = logs[0] > FLOOR / 2
    assert real.any(-1).any(-1).all()
    for s in range(2):
        for a, b in zip(starts[0, s][real[s]].tolist(), ends[0, s][real[s]].tolist(), strict=True):
            assert allowed[0, s, a] and end_words[0, b] and a <= b
        assert logs[0, s][real[s]].exp().sum() <= 1 + 1e-5


def test_piece_places_become_characters_and_impossible_ones_are_dropped() -> None:
    pieces = wordpieces().pieces("one two three four")
    window = Window(1, 4, 1, 4)
    columns = Columns(pieces)
    logs = [[-0.5, -1.0], [-1.0, FLOOR]]
    found = spans_in_window([[1, 1], [2, 3]], [[2, 9], [1, 3]], logs, columns, window)
    assert found == [Pointed(((4, 13),), -0.5)]


def test_a_value_wrapped_in_its_column_is_read_without_its_neighbours() -> None:
    text = "1  Paving of    20,00\n   the yard     EUR\n"
    pieces = wordpieces().pieces(text)
    spans = Columns(pieces).spans(pieces.at(text.index("Paving")), pieces.at(text.index("yard")))
    found, _ = candidates_of(slot_of(type="string"), False, [Pointed(spans, -0.5)], MentionReader(text))
    assert [(c.text, c.spans) for c in found] == [(b'"Paving of the yard"', spans)]
