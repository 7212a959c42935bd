"""The speed measurement of the constraint measures the right computation."""

from __future__ import annotations

import torch
from bench.block_speed import block_speed


def test_the_constraint_of_a_language_model_is_timed_beside_its_definition() -> None:
    found = block_speed(torch.device("cpu"), blocks=1, tokens=300, repeat=1)
    assert (found.kernels, found.plainer) == ("numpy", "the definition")
    assert min(*found.classes, *found.scan) > 0 and found.edges > 1000
