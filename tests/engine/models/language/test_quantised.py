"""Weights as whole numbers: off by half a scale at most, in every family, in the memory that is told."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.effort import some
from tests.support.family_traits import FAMILY_TRAITS, LLADA2
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder, write_checkpoint

from cinnabar.engine.models.language.checkpoint import load_decoder, read_contents, weight_bytes
from cinnabar.engine.models.language.decoder import ExpertMatrices
from cinnabar.engine.models.language.inspection import inspect_checkpoint
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.language.quantised import (
    Bits,
    QuantisedExpertMatrices,
    QuantisedLinear,
    dequantise,
    group_of,
    quantise,
)
from cinnabar.engine.settings import Precision, reading_precision

CPU = torch.device("cpu")
ALL = FAMILY_TRAITS | {"sdar": TRAITS}
BITS: list[tuple[Precision, Bits]] = [("w8a16", 8), ("w4a16", 4)]


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def plain(weight: torch.Tensor, bits: Bits) -> torch.Tensor:
    """The definition: each weight as the nearest multiple of its group's scale, one group after the other."""
    made = torch.empty_like(weight)
    size, most = group_of(weight.shape[-1]), 2 ** (bits - 1) - 1
    for row, out in zip(weight.flatten(0, -2), made.view(-1, weight.shape[-1]), strict=True):
        for begin in range(0, len(row), size):
            group = row[begin : begin + size].tolist()
            scale = float(torch.tensor(max(map(abs, group)) / most).bfloat16())
            for at, one in enumerate(group):
                whole = 0 if scale == 0 else max(-most, min(most, round(one / scale)))
                out[begin + at] = whole * scale
    return made


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("shape", [(3, 64), (2, 192), (5, 48), (4, 10), (2, 3, 128)])
def test_values_are_those_of_the_definition_and_off_by_half_a_scale(shape: tuple[int, ...], bits: Bits) -> None:
    weight = drawn(*shape)
    # A group of zeros, and one with a single large weight.
    weight[..., 0, :] = 0
    weight[..., 1, 0] = 40.0
    values, scales = quantise(weight, bits)
    back = dequantise(values, scales, torch.float32)
    assert torch.equal(back, plain(weight, bits))
    limit = scales.float().repeat_interleave(group_of(shape[-1]), -1) / 2
    assert ((back - weight).abs() <= limit * (1 + 1e-6)).all()
    assert values.numel() * 8 == weight.numel() * bits


@pytest.mark.parametrize("bits", [8, 4])
def test_products_are_off_by_no_more_than_the_weights_are(bits: Bits) -> None:
    linear, x = torch.nn.Linear(128, 24), drawn(6, 128)
    made = QuantisedLinear(linear, bits)
    made.values, made.scales = quantise(linear.weight.data, bits)
    limit = x.abs() @ (made.scales.float().repeat_interleave(64, -1) / 2).T
    off = (made(x) - linear(x)).abs()
    assert (off <= limit + 1e-5).all() and off.max() > 0


def test_experts_are_computed_each_with_its_own_matrix() -> None:
    matrices, x = ExpertMatrices(4, 64, 24), drawn(9, 64)
    made = QuantisedExpertMatrices(matrices, 8)
    made.values, made.scales = quantise(matrices.weight.data, 8)
    # The second expert has no token.
    ends = torch.tensor([2, 2, 8, 9], dtype=torch.int32)
    assert (made(x, ends) - matrices(x, ends)).abs().max() < 0.1
    rest = dequantise(made.values[2], made.scales[2], torch.float32)
    torch.testing.assert_close(made(x, ends)[2:8], x[2:8] @ rest.T)


@pytest.mark.parametrize(("precision", "bits"), BITS)
@pytest.mark.parametrize("family", some(("sdar", "llada2", "fast-dllm"), ALL))
def test_logits_are_those_of_weights_that_were_rounded_before(
    family: str, precision: Precision, bits: Bits, tmp_path: Path
) -> None:
    decoder = tiny_decoder(ALL[family])
    save_decoder(tmp_path, decoder)
    loaded = load_decoder(tmp_path, ALL[family], CPU, precision).float()
    rounded = 0
    for name, weight in decoder.named_parameters():
        if name.startswith("model.layers.") and name.endswith("_proj.weight"):
            weight.data.copy_(plain(weight.data, bits))
            rounded += 1
        else:
            weight.data.copy_(weight.data.bfloat16())
    for name, buffer in decoder.named_buffers():
        if name.endswith("_scalar"):
            buffer.copy_(buffer.bfloat16())
    assert rounded >= 6 * ALL[family].layers
    at = torch.arange(30)[None]
    expected = decoder.logits(decoder(at, at))
    assert (loaded.logits(loaded(at, at)) - expected).abs().max() < 0.02
    assert expected.abs().max() > 0.5


@pytest.mark.parametrize(("precision", "bits"), BITS)
def test_the_memory_that_is_told_is_the_memory_that_is_taken(precision: Precision, bits: Bits, tmp_path: Path) -> None:
    for number, traits in enumerate((replace(TRAITS, qkv_bias=True), replace(TRAITS, tied=True), LLADA2)):
        folder = tmp_path / str(number)
        save_decoder(folder, tiny_decoder(traits))
        state = load_decoder(folder, traits, CPU, precision).state_dict()
        if traits.tied:
            del state["lm_head.weight"]
        # The biases of routers alone stay in float32.
        held = sum(one.numel() * (2 if one.dtype == torch.float32 else one.element_size()) for one in state.values())
        assert weight_bytes(read_contents(folder, traits), precision) == held
        assert not any(one.is_meta for one in state.values())
    whole = weight_bytes(read_contents(folder, traits), "bfloat16")
    assert math.isclose(held / whole, (bits + 2) / 16, abs_tol=0.3)


def test_a_language_model_is_loaded_as_asked_and_the_reader_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path)
    whole = load_language_model(tmp_path, "cpu")
    monkeypatch.setenv("CINNABAR_PRECISION", "w4a16")
    model = load_language_model(tmp_path, "cpu")
    assert model.fingerprint != whole.fingerprint
    assert isinstance(model.decoder.model.layers[0].self_attn.q_proj, QuantisedLinear)
    assert model.decoder.lm_head.weight.dtype == torch.bfloat16
    told = inspect_checkpoint(tmp_path, "cpu").facts
    assert (told["precision"], reading_precision()) == ("w4a16", "int8")
