"""Prepared sources: files keep their passages, targets and weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.support.tiny_network import bills
from training.reader import load_sources, save_source

from cinnabar.engine.training.pool import TrainingSource

SHORT, LONG = bills(4), bills(3, longest=60)


def sources() -> list[TrainingSource]:
    return [
        TrainingSource("long", 1.0, LONG),
        TrainingSource("own schema", 1.0, SHORT[2:], shared_schema=False),
        TrainingSource("short", 3.0, SHORT[:2]),
        TrainingSource("nothing", 1.0, []),
        TrainingSource("off", 0.0, [SHORT[3]]),
    ]


def test_what_is_saved_is_loaded_by_name(tmp_path: Path) -> None:
    for source in reversed(sources()):
        save_source(source, tmp_path)
    back = load_sources(tmp_path)
    assert [s.name for s in back] == ["long", "nothing", "off", "own schema", "short"]
    for source in sources():
        twin = next(s for s in back if s.name == source.name)
        assert (twin.weight, twin.shared_schema) == (source.weight, source.shared_schema)
        for one, two in zip(source.train, twin.train, strict=True):
            assert (one.scalars, one.rows, one.arrays) == (two.scalars, two.rows, two.arrays)
            assert one.windows == two.windows
            assert np.array_equal(one.pieces.ids, two.pieces.ids)
    assert not [*tmp_path.glob("*.tmp")]


def test_an_empty_folder_has_no_sources(tmp_path: Path) -> None:
    assert load_sources(tmp_path) == []
