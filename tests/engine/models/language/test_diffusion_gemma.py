"""A folder that `transformers` wrote of DiffusionGemma is read, and its logits are those of `transformers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.published_gemma import CANVAS, VOCABULARY, published
from tests.support.tiny_checkpoint import write_texts

from cinnabar.engine.models.language import diffusion_gemma
from cinnabar.engine.models.language.checkpoint import load_decoder
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma, PassText
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.inspection import inspect_checkpoint
from cinnabar.engine.settings import Precision
from cinnabar.errors import ModelError


def loaded(folder: Path, precision: Precision = "float32") -> DiffusionGemma:
    decoder = load_decoder(folder, read_family(folder)[1], torch.device("cpu"), precision)
    assert isinstance(decoder, DiffusionGemma)
    return decoder


def drawn(*shape: int) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, shape, generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
@pytest.mark.parametrize("temperature", [None, 0.7])
def test_logits_of_canvases_equal_those_of_transformers_in_one_pass_and_in_parts(
    temperature: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Slices of three positions.
    monkeypatch.setattr(diffusion_gemma, "LOGITS", 3 * VOCABULARY)
    theirs, ours = published(tmp_path), loaded(tmp_path)
    parts, whole = [], []
    for text in (drawn(20), drawn(5), drawn(33)):
        canvas, last = drawn(CANVAS), torch.randn(CANVAS, 32, generator=torch.Generator().manual_seed(2))
        said = None if temperature is None else ours.logits(last)[None] / temperature
        expected = theirs(input_ids=text[None], decoder_input_ids=canvas[None], self_conditioning_logits=said).logits[0]
        conditioned = None if temperature is None else ours.expected_embeddings(last, temperature)
        tokens, begin = torch.cat([text, canvas]), len(text)
        whole.append((PassText(tokens, 0, begin, (), conditioned), expected))
        half = begin // 2
        (_,), (held,) = ours.read([PassText(text[:half], 0, half)])
        parts.append((PassText(tokens[half:], half, begin, held, conditioned), expected))
    for readings in (whole, parts):
        states, _ = ours.read([reading for reading, _ in readings])
        for (_, expected), state in zip(readings, states, strict=True):
            assert (ours.logits(state[-CANVAS:]) - expected).abs().max() < 1e-4
            assert expected.abs().max() > 0.5


@torch.inference_mode()
def test_texts_of_one_pass_are_computed_as_they_are_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path)
    ours = loaded(tmp_path)
    readings = [PassText(drawn(many + CANVAS), 0, many) for many in (3, 19, 8)]
    alone = [ours.read([reading])[0][0] for reading in readings]
    on_a_cpu, _ = ours.read(readings)
    assert all(torch.equal(one, other) for one, other in zip(alone, on_a_cpu, strict=True))
    # Other devices read them together.
    monkeypatch.setattr(DiffusionGemma, "device", torch.device("meta"))
    monkeypatch.setattr(DiffusionGemma, "_scale", torch.tensor(32**0.5))
    packed, made = ours.read(readings)
    for one, other, held in zip(alone, packed, made, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)
        assert [keys.shape[1] for keys, _ in held] == [len(one)] * 4


def renamed(folder: Path, keep: bool) -> None:
    """Gives shared weights the names of the encoder; with `keep` they stay under the decoder's as well."""
    state = load_file(folder / "model.safetensors")
    for name in [*state]:
        if name.startswith("model.decoder.") and not name.endswith("layer_scalar") and "self_cond" not in name:
            other = name.replace("model.decoder.", "model.encoder.language_model.")
            state[other] = state[name].clone() if keep else state.pop(name)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


@torch.inference_mode()
@pytest.mark.parametrize("keep", [False, True])
def test_weights_may_have_the_names_of_the_encoder(keep: bool, tmp_path: Path) -> None:
    published(tmp_path)
    reading = PassText(drawn(20), 0, 12)
    (before,), _ = loaded(tmp_path).read([reading])
    renamed(tmp_path, keep)
    (after,), _ = loaded(tmp_path).read([reading])
    assert torch.equal(before, after)


@torch.inference_mode()
def test_bfloat16_comes_near_to_float32(tmp_path: Path) -> None:
    published(tmp_path)
    reading = PassText(drawn(6), 0, 2)
    found: dict[Precision, torch.Tensor] = {}
    for precision in ("float32", "bfloat16"):
        ours = loaded(tmp_path, precision)
        (states,), _ = ours.read([reading])
        found[precision] = ours.logits(states).flatten()
        assert found[precision].isfinite().all()
    assert float(torch.cosine_similarity(found["float32"], found["bfloat16"], 0)) > 0.97


def test_model_check_tells_the_canvas_the_noise_and_the_tensors_of_images(tmp_path: Path) -> None:
    published(tmp_path)
    write_texts(tmp_path)
    found = inspect_checkpoint(tmp_path, "cpu", "float32")
    assert not found.problems
    assert found.facts["family"] == "DiffusionGemma"
    assert (found.facts["noise"], found.facts["block"], found.facts["block told by"]) == ("uniform", 8, "config.json")
    assert "16 that read images" in found.facts["ignored tensors"]
    # Keys and values of two layers without a window: one head of 16 numbers.
    assert found.facts["cache MB per 1,000 tokens"] == pytest.approx(2 * 2 * 16 * 4 / 1e3)
    assert found.facts["mask token"] is None


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tie_word_embeddings": ({"tie_word_embeddings": False}, {}),
    "hidden_activation": ({}, {"hidden_activation": "silu"}),
    "attention_bias": ({}, {"attention_bias": True}),
    "use_bidirectional_attention": ({}, {"use_bidirectional_attention": "all"}),
    "hidden_size_per_layer_input": ({}, {"hidden_size_per_layer_input": 256}),
    "num_kv_shared_layers": ({}, {"num_kv_shared_layers": 10}),
    "layer_types": ({}, {"layer_types": ["full_attention"] * 3}),
    "per_layer_config": ({}, {"per_layer_config": {"1": {"head_dim": 16}, "3": {"head_dim": 8}}}),
    "rope_type": ({}, {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}),
    "num_experts": ({}, {"num_experts": None}),
    "at most 4 experts": ({}, {"top_k_experts": 5}),
    "quantised weights": ({"quantization_config": {"bits": 4}}, {}),
    "text_config": ({"text_config": []}, {}),
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_the_network_does_not_compute_is_refused_by_name(told: str, tmp_path: Path) -> None:
    published(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    outer, inner = REFUSED[told]
    config["text_config"] |= inner
    (tmp_path / "config.json").write_text(json.dumps(config | outer))
    with pytest.raises(ModelError, match=told):
        read_family(tmp_path)


def test_the_keys_of_the_release_say_what_those_of_transformers_do(tmp_path: Path) -> None:
    published(tmp_path)
    _, traits = read_family(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    text = config["text_config"]
    del text["per_layer_config"]
    text |= {"global_head_dim": 16, "num_global_key_value_heads": 1}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_family(tmp_path)[1] == traits
    del text["layer_types"], text["rope_parameters"], config["canvas_length"]
    text |= {"num_hidden_layers": 12}
    (tmp_path / "config.json").write_text(json.dumps(config))
    usual = read_family(tmp_path)[1]
    assert usual.local is not None and usual.local.sliding == ((True,) * 5 + (False,)) * 2
    assert (usual.block, usual.rope_theta, usual.rope["partial_rotary_factor"]) == (256, 1e6, 0.25)


def test_the_numbers_of_layers_may_be_padded_and_layers_alike_are_not_told_apart(tmp_path: Path) -> None:
    published(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    text = config["text_config"]
    kinds = ["full_attention" if at % 6 == 5 else "sliding_attention" for at in range(12)]
    text |= {"num_hidden_layers": 12, "layer_types": kinds}
    said = {"head_dim": 16, "num_key_value_heads": 1}
    for own in ({"05": said, "11": said}, {"5": said, "11": said}):
        text["per_layer_config"] = own
        (tmp_path / "config.json").write_text(json.dumps(config))
        traits = read_family(tmp_path)[1]
        assert (traits.head_width, traits.key_heads) == (16, 1)
    text["per_layer_config"] = {}
    (tmp_path / "config.json").write_text(json.dumps(config))
    alike = read_family(tmp_path)[1]
    assert alike.local is not None
    assert (alike.head_width, alike.key_heads) == (alike.local.head_width, alike.local.key_heads)
