"""Matrices of 8 bits: products and rows are those of the floats that they stand for; a file keeps them as they are."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder
from tests.support.whole_texts import whole as whole_text

from cinnabar.engine.models.int8_matmul import PackedLinear, eight_bits, packs_integers
from cinnabar.engine.models.language import checkpoint, rounded
from cinnabar.engine.models.language.checkpoint import KEPT, load_decoder, read_contents, weight_bytes
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.rounded import RoundedEmbedding, RoundedLinear

CPU = torch.device("cpu")
TIED = replace(TRAITS, tied=True, qkv_bias=True)


def drawn(rows: int, width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A matrix of 8 bits, its scales, and the floats that they stand for."""
    integers, scale = eight_bits(torch.randn(rows, width, generator=torch.Generator().manual_seed(3)))
    return integers, scale, integers.float() * scale[:, None]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of weights of 8 bits; `tmp_path / "model"` has a model."""
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path / "cache"))
    save_decoder(tmp_path / "model", tiny_decoder(TIED))
    return tmp_path / "cache" / KEPT


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("shape", [(7, 64), (2, 3, 64), (0, 64)])
def test_a_product_in_slices_is_that_of_the_floats(
    integers: bool, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several slices of 40 rows, the last one shorter.
    monkeypatch.setattr(rounded, "_SLICE", 64 * 16)
    monkeypatch.setattr(rounded, "_LOGITS", 16)
    weight, scale, floats = drawn(40, 64)
    x, bias = torch.randn(shape), torch.randn(40)
    found = RoundedLinear(weight, scale, bias, integers)(x)
    assert found.shape == (*shape[:-1], 40) and found.is_contiguous()
    assert torch.allclose(found, x @ floats.t() + bias, atol=2e-3 if integers else 1e-5)


def test_products_of_integers_are_the_same_for_a_row_alone() -> None:
    weight, scale, _ = drawn(48, 64)
    layer, x = RoundedLinear(weight, scale, torch.randn(48), True), torch.randn(9, 64)
    assert all(torch.equal(layer(x)[at], layer(x[at : at + 1])[0]) for at in range(9))


@pytest.mark.skipif(not packs_integers(), reason="the processor does not multiply packed integers exactly")
@pytest.mark.parametrize("parts", [1, 2])
def test_a_packed_layer_is_near_and_the_same_for_a_row_alone(parts: int) -> None:
    weight, scale, floats = drawn(48, 64)
    bias, x = torch.randn(48), torch.randn(2, 9, 64)
    layer = PackedLinear(weight, scale, bias, parts)
    found, wanted = layer(x), x @ floats.t() + bias
    assert float((found - wanted).abs().mean()) < (0.05 if parts == 1 else 2e-4)
    assert all(torch.equal(found[1, at], layer(x[1, at : at + 1])[0]) for at in range(9))
    # All that is far larger than the rest of its row is kept.
    x[0, 0, 5] = 1e4
    assert torch.allclose(layer(x)[0, 0], x[0, 0] @ floats.t() + bias, rtol=0.02, atol=80)


@pytest.mark.skipif(not packs_integers(), reason="the processor does not multiply packed integers exactly")
def test_packing_leaves_what_the_embedding_shares_with_the_head(kept: Path, tmp_path: Path) -> None:
    states = []
    for packed in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "supports_int8", lambda _: True)
            patch.setattr(checkpoint, "packs_integers", lambda own=packed: own)
            decoder = load_decoder(tmp_path / "model", TIED, CPU, "int8")
            states.append(decoder.model.embed_tokens.weight.clone())
    assert isinstance(decoder.lm_head, PackedLinear) and any(kept.iterdir())
    assert torch.equal(*states)


def test_an_embedding_gives_the_floats_of_its_rows_and_their_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounded, "_SLICE", 64 * 16)
    weight, scale, floats = drawn(40, 64)
    layer, shares = RoundedEmbedding(weight, scale), torch.randn(5, 40).softmax(-1)
    tokens = torch.tensor([[3, 39], [0, 3]])
    assert torch.equal(layer(tokens), floats[tokens])
    assert torch.allclose(layer.mix(shares), shares @ floats, atol=1e-5)


def logits(decoder: Decoder) -> torch.Tensor:
    at = torch.arange(30)[None]
    return decoder.logits(whole_text(decoder, at, at))


@pytest.mark.parametrize("integers", [False, True])
def test_a_later_start_maps_the_weights_of_the_first(
    integers: bool, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "supports_int8", lambda _: integers)
    monkeypatch.setattr(checkpoint, "packs_integers", lambda: False)
    first = logits(load_decoder(tmp_path / "model", TIED, CPU, "int8"))
    assert len([*kept.iterdir()]) == 1
    monkeypatch.setattr(checkpoint, "_state", None)
    decoder = load_decoder(tmp_path / "model", TIED, CPU, "int8")
    assert torch.equal(logits(decoder), first)
    embedding, head = decoder.model.embed_tokens, decoder.lm_head
    assert embedding.weight.dtype == torch.int8
    assert embedding.weight.data_ptr() == head.weight.data_ptr()


def test_changed_weights_have_a_file_of_their_own(kept: Path, tmp_path: Path) -> None:
    first = logits(load_decoder(tmp_path / "model", TIED, CPU, "int8"))
    save_decoder(tmp_path / "model", tiny_decoder(TIED, 8))
    os.utime(tmp_path / "model" / "model.safetensors", (1, 1))
    assert not torch.equal(logits(load_decoder(tmp_path / "model", TIED, CPU, "int8")), first)
    assert len([*kept.iterdir()]) == 2


def test_matrices_are_rounded_in_pieces_as_they_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_decoder(tmp_path, tiny_decoder(TIED))
    whole = load_decoder(tmp_path, TIED, CPU, "int8").state_dict()
    monkeypatch.setattr(checkpoint, "_ROUNDED", 5 * TIED.width)
    pieces = load_decoder(tmp_path, TIED, CPU, "int8").state_dict()
    assert all(torch.equal(pieces[name], tensor) for name, tensor in whole.items())


@pytest.mark.parametrize("tied", [False, True])
def test_the_memory_that_is_told_is_that_of_the_tensors(
    tied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "packs_integers", lambda: False)
    traits = replace(TIED, tied=tied)
    save_decoder(tmp_path, tiny_decoder(traits))
    state = load_decoder(tmp_path, traits, CPU, "int8").state_dict()
    held = {tensor.data_ptr(): tensor.nbytes for tensor in state.values()}
    assert weight_bytes(read_contents(tmp_path, traits), "int8") == sum(held.values())
