"""The memory of a model is told by its traits, and equals what its tensors take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.family_traits import LLADA2
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder, write_checkpoint
from tests.support.whole_texts import whole
from torch import nn

from cinnabar.engine.models.language import inspection
from cinnabar.engine.models.language.inspection import inspect_checkpoint
from cinnabar.engine.models.language.memory import (
    free_memory,
    longest_within,
    pass_bytes,
    position_bytes,
)
from cinnabar.engine.models.language.traits import Traits

#: As SDAR-4B-Chat has them.
SDAR_4B = replace(
    TRAITS, vocabulary=151_936, width=2560, layers=36, heads=32, key_heads=8, head_width=128, inner=9728, window=131_072
)


@pytest.mark.parametrize("traits", [TRAITS, replace(TRAITS, layers=3, key_heads=4), LLADA2], ids=str)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_keys_and_values_take_the_bytes_that_are_told(traits: Traits, precision: Any) -> None:
    made = list[int]()

    def count(_module: nn.Module, _given: Any, out: torch.Tensor) -> None:
        made.append(out.numel() * out.element_size())

    decoder = tiny_decoder(traits).to(torch.bfloat16 if precision == "bfloat16" else torch.float32)
    for name, module in decoder.named_modules():
        if name.endswith(("k_proj", "v_proj")):
            module.register_forward_hook(count)
    with torch.inference_mode():
        whole(decoder, torch.zeros(1, 40, dtype=torch.long), torch.arange(40)[None])
    assert len(made) == 2 * traits.layers
    assert sum(made) == 40 * position_bytes(traits, precision)


def test_published_sizes_give_the_known_figures() -> None:
    assert position_bytes(SDAR_4B, "bfloat16") == 147_456
    # On a GPU of 80 GB, beside 8 GB of weights.
    assert longest_within(SDAR_4B, "bfloat16", 70_000_000_000) == 131_072


def test_half_of_the_memory_is_for_keys_and_values_and_the_other_half_for_passes() -> None:
    each, free = position_bytes(SDAR_4B, "bfloat16"), 3_000_000_000
    most = longest_within(SDAR_4B, "bfloat16", free)
    assert 0 < most < SDAR_4B.window

    def fits(length: int, free: int) -> bool:
        return 2 * max(length * each, pass_bytes(SDAR_4B, "bfloat16", length)) <= free

    assert [fits(length, free) for length in (most, most + 1)] == [True, False]
    for length in (512, 8192):
        needed = 2 * max(length * each, pass_bytes(SDAR_4B, "bfloat16", length))
        assert longest_within(SDAR_4B, "bfloat16", needed) >= length > longest_within(SDAR_4B, "bfloat16", needed - 2)
    assert longest_within(TRAITS, "float32", free) == TRAITS.window
    assert longest_within(TRAITS, "float32", 0) == 0


def test_the_mask_of_a_prompt_in_parts_has_a_bounded_height() -> None:
    grown = [pass_bytes(TRAITS, "bfloat16", n) - pass_bytes(TRAITS, "bfloat16", 8192) for n in (65_536, 131_072)]
    assert 1.5 < grown[1] / grown[0] < 2.5


def test_a_folder_is_told_with_the_longest_request_that_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path)
    for free, told in ((1_500_000_000, TRAITS.window), (None, None)):
        monkeypatch.setattr(inspection, "free_memory", lambda _, free=free: free)
        assert inspect_checkpoint(tmp_path, "cpu", "float32").facts["longest that fits, tokens"] == told


def test_free_memory_is_told_on_this_machine() -> None:
    free = free_memory(torch.device("cpu"))
    assert free is None or 1_000_000 < free < 10**14
