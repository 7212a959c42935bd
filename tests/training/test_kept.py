"""What took long to make is made once: files keep passages of training with all of their targets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.support.tiny_network import bills
from training.kept import kept

from cinnabar.engine.training.pool import TrainingSource

SOURCE = TrainingSource("own schema", 3.0, [*bills(2), *bills(2, longest=60)], shared_schema=False)


def test_a_source_is_made_once_and_kept_with_its_passages(tmp_path: Path) -> None:
    path, made = tmp_path / "pool" / "source.pickle", list[int]()

    def make() -> TrainingSource:
        made.append(1)
        return SOURCE

    assert kept(None, make) is kept(path, make) is SOURCE
    twin = kept(path, make)
    assert len(made) == 2 and [*path.parent.iterdir()] == [path]
    assert (twin.name, twin.weight, twin.shared_schema) == ("own schema", 3.0, False)
    for one, two in zip(SOURCE.train, twin.train, strict=True):
        assert (one.scalars, one.rows, one.arrays, one.windows) == (two.scalars, two.rows, two.arrays, two.windows)
        assert np.array_equal(one.pieces.ids, two.pieces.ids)
