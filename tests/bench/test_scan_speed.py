"""The measurement of the constrained pass measures what it says."""

from __future__ import annotations

import torch
from bench.scan_speed import scan_speed


def test_the_pass_over_all_slots_is_measured_beside_the_plain_ways() -> None:
    found = scan_speed(torch.device("cpu"), slots=12, positions=8, repeat=1)
    assert found.fewest >= 100 and found.edges >= 12 * found.fewest
    # Which of them takes longer is for the report to say: on a busy machine either may.
    assert min(found.at_once, found.one_by_one, found.classes, found.masks) > 0
