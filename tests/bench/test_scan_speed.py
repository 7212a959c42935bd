"""The speed measurement of the constrained scan measures the right computation."""

from __future__ import annotations

import torch
from bench.block_speed import block_speed
from bench.scan_speed import scan_speed


def test_the_scan_over_all_slots_is_timed_beside_its_references() -> None:
    found = scan_speed(torch.device("cpu"), slots=12, positions=8, repeat=1)
    assert found.fewest >= 100 and found.edges >= 12 * found.fewest
    # The report says which one takes longer; on a busy machine either may.
    assert min(found.at_once, found.one_by_one, found.classes, found.masks) > 0


def test_the_constraint_of_a_language_model_is_timed_beside_its_definition() -> None:
    found = block_speed(torch.device("cpu"), blocks=1, tokens=300, repeat=1)
    assert (found.kernels, found.plainer) == ("numpy", "the definition")
    assert min(*found.classes, *found.scan) > 0 and found.edges > 1000
