"""Floats of 8 bits: off by a sixteenth of a number, in every family, fused or not, in the memory that is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.support.family_traits import FAMILY_TRAITS
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder

from cinnabar.engine.models.language.checkpoint import load_decoder, read_contents, weight_bytes
from cinnabar.engine.models.language.fused_layers import FusedLayers, _fuse
from cinnabar.engine.models.language.quantised import Float8Linear, float8_product, round_rows

CPU = torch.device("cpu")
ALL = FAMILY_TRAITS | {"sdar": TRAITS}


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def test_a_row_is_off_by_a_sixteenth_of_each_number_and_has_its_own_scale() -> None:
    weight = drawn(6, 40)
    weight[1], weight[2] = 0.0, 1e4 * weight[2]
    values, scales = round_rows(weight)
    back = values.float() * scales[:, None]
    # Below the normal floats of 8 bits a step is a 512th of the scale.
    assert ((back - weight).abs() <= weight.abs() / 16 + scales[:, None] / 512).all()
    assert values.element_size() == 1 and torch.isfinite(values.float()).all()


def test_a_product_is_that_of_the_rounded_numbers_with_its_bias() -> None:
    linear, x = torch.nn.Linear(32, 24), drawn(2, 3, 32)
    values, scales = round_rows(linear.weight.data)
    made = Float8Linear(linear)
    made.values, made.scales = values, scales
    rows, own = round_rows(x.view(6, 32))
    expected = (rows.float() * own[:, None]) @ (values.float() * scales[:, None]).T + linear.bias
    torch.testing.assert_close(made(x), expected.view(2, 3, 24), atol=1e-5, rtol=1e-4)
    assert (made(x) - linear(x)).abs().max() < 0.3


@pytest.mark.parametrize("family", ALL)
def test_a_checkpoint_says_nearly_the_same_in_floats_of_8_bits(family: str, tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder(ALL[family]))
    made, plain = (load_decoder(tmp_path, ALL[family], CPU, one) for one in ("fp8", "bfloat16"))
    assert any(isinstance(part, Float8Linear) for part in made.modules())
    at = torch.arange(30)[None]
    logits, expected = (one.logits(one(at, at)).float().flatten() for one in (made, plain))
    # Random routers of DiffusionGemma choose other experts for small differences.
    least = 0.3 if family == "diffusion-gemma" else 0.93
    assert torch.nn.functional.cosine_similarity(logits, expected, 0) > least
    contents = read_contents(tmp_path, ALL[family])
    held = sum(one.numel() * one.element_size() for one in {id(p): p for p in made.state_dict().values()}.values())
    held -= 0 if not ALL[family].tied else made.lm_head.weight.numel() * 2
    assert weight_bytes(contents, "fp8") == pytest.approx(held, rel=0.02)


def test_layers_of_one_input_are_joined_in_floats_of_8_bits_too(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    made = load_decoder(tmp_path, TRAITS, CPU, "fp8")
    assert FusedLayers.fits(made)
    own, x = made.model.layers[0].self_attn, drawn(5, TRAITS.width)
    parts = [own.q_proj, own.k_proj, own.v_proj]
    expected = torch.cat([part(x) for part in parts], -1)
    torch.testing.assert_close(_fuse(parts)(x), expected)  # type: ignore[arg-type]
    torch.testing.assert_close(torch.cat([part(x) for part in parts], -1), expected)
    assert float8_product(x, own.q_proj.values, own.q_proj.scales, None).shape == (5, own.q_proj.values.shape[0])
