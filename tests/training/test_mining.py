"""Mining: lines of the form `Key: value` become labelled passages."""

from __future__ import annotations

from training.generator.generator import check
from training.mining import find_pairs, mine

TEXT = "Report of the day\nOwner: Ada Byrne\nPlot number: 17/3   Area: 420 m2\nNote: see below\nNote: twice\n"


def test_keys_that_stand_once_are_found_with_their_values() -> None:
    pairs = {key: TEXT[a:b] for key, (a, b) in find_pairs(TEXT)}
    assert pairs == {"Owner": "Ada Byrne", "Plot number": "17/3", "Area": "420 m2"}


def test_a_mined_passage_is_a_whole_example() -> None:
    for seed in range(20):
        example = mine(TEXT, seed)
        assert example is not None
        assert check(example) == []
        for pointer, ((a, b),) in example.spans.items():
            assert example.truth[pointer[1:]] == TEXT[a:b]


def test_a_text_without_keys_gives_nothing() -> None:
    assert mine("Once there was a fox.\nIt ran.", 0) is None
