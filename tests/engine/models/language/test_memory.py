"""The memory of a model is told by its traits, and equals what its tensors take."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from family_traits import DREAM, LLADA2, NEMOTRON
from tiny_checkpoint import TRAITS, tiny_decoder, write_checkpoint
from torch import nn

from cinnabar.engine.models.language import inspection
from cinnabar.engine.models.language.inspection import inspect_checkpoint
from cinnabar.engine.models.language.memory import (
    free_memory,
    longest_within,
    needs_of,
    pass_bytes,
    position_bytes,
    positions_within,
    requests_within,
)
from cinnabar.engine.models.language.traits import Traits

#: As SDAR-4B-Chat has them.
SDAR_4B = replace(
    TRAITS, vocabulary=151_936, width=2560, layers=36, heads=32, key_heads=8, head_width=128, inner=9728, window=131_072
)


@pytest.mark.parametrize("traits", [TRAITS, replace(TRAITS, layers=3, key_heads=4), LLADA2, NEMOTRON], ids=str)
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
        decoder(torch.zeros(1, 40, dtype=torch.long), torch.arange(40)[None])
    assert len(made) == 2 * traits.layers
    assert sum(made) == 40 * position_bytes(traits, precision)


def test_published_sizes_give_the_known_figures() -> None:
    assert position_bytes(SDAR_4B, "bfloat16") == 147_456
    needs = needs_of(SDAR_4B, "bfloat16", 8_000_000_000, 131_072)
    assert 19.3e9 < needs.request < 22.5e9 and needs.whole == needs.request + 8_000_000_000
    assert needs_of(SDAR_4B, "float32", 0, 131_072).request > 1.9 * needs.request


def test_a_budget_holds_the_positions_that_it_pays_for() -> None:
    each = position_bytes(TRAITS, "float32")
    assert [positions_within(TRAITS, "float32", budget) for budget in (-5, each - 1, each, 7 * each)] == [0, 0, 1, 7]
    one = needs_of(TRAITS, "float32", 0, 512).request
    assert [requests_within(TRAITS, "float32", budget, 512) for budget in (one - 1, one)] == [0, 1]
    assert requests_within(TRAITS, "float32", one + 3 * 512 * each, 512) == 4
    assert longest_within(TRAITS, "float32", one) == TRAITS.window
    for most in (100, 300):
        exact = needs_of(TRAITS, "float32", 0, most).request
        assert (longest_within(TRAITS, "float32", exact), longest_within(TRAITS, "float32", exact - 1)) == (
            most,
            most - 1,
        )


def test_full_attention_keeps_nothing_and_takes_more_with_each_pass() -> None:
    assert position_bytes(DREAM, "float32") == 0
    assert positions_within(DREAM, "float32", 10) == DREAM.window
    # The mask grows with the square of the request; a prompt in parts has one of a bounded height.
    cached = replace(DREAM, visibility="block_causal")
    for traits, least, most in ((DREAM, 3.5, 4.5), (cached, 1.5, 2.5)):
        grown = [pass_bytes(traits, "bfloat16", n) - pass_bytes(traits, "bfloat16", 8192) for n in (65_536, 131_072)]
        assert least < grown[1] / grown[0] < most


def test_a_folder_is_told_with_the_memory_of_its_longest_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {"max_position_embeddings": 262_144}
    (tmp_path / "config.json").write_text(json.dumps(config))
    free = 1_000_000_000
    monkeypatch.setattr(inspection, "free_memory", lambda _: free)
    facts = inspect_checkpoint(tmp_path, "cpu", "float32").facts
    assert facts["longest request, tokens"] == 131_072
    one = needs_of(replace(TRAITS, window=262_144), "float32", 0, 131_072).request
    assert facts["longest request, GB"] == round(one / 1e9, 3)
    assert facts["such requests that fit"] >= 1
    assert 131_072 < facts["longest that fits, tokens"] <= 262_144
    monkeypatch.setattr(inspection, "free_memory", lambda _: None)
    facts = inspect_checkpoint(tmp_path, "cpu", "float32").facts
    assert facts["such requests that fit"] is None and facts["longest that fits, tokens"] is None


def test_free_memory_is_told_on_this_machine() -> None:
    free = free_memory(torch.device("cpu"))
    assert free is None or 1_000_000 < free < 10**14
