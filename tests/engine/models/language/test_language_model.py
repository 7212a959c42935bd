"""A folder to a language model: everything in it fits, or one line says what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import HEADERS, TRAITS, tiny_decoder, write_checkpoint, write_texts
from tests.support.whole_texts import whole as whole_text

from cinnabar.engine.models.int8_matmul import Int8Linear, PackedLinear, packs_integers
from cinnabar.engine.models.language import checkpoint, language_model
from cinnabar.engine.models.language.configuration import language_precision
from cinnabar.engine.models.language.identity import model_fingerprint
from cinnabar.engine.models.language.inspection import inspect_checkpoint, licences
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.language.rounded import RoundedLinear
from cinnabar.engine.settings import Precision
from cinnabar.errors import ModelError, UsageError

CPU = torch.device("cpu")


def test_a_folder_gives_decoder_tokenizer_template_and_fingerprint(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    model = load_language_model(tmp_path, "cpu", "float32")
    assert (model.traits.mask, model.tokenizer.mask, model.tokenizer.end) == (303, 303, 302)
    assert model.fingerprint == model_fingerprint(tmp_path)
    assert model.fingerprint != load_language_model(tmp_path, "cpu", "bfloat16").fingerprint
    at = torch.arange(12)[None]
    assert torch.equal(whole_text(model.decoder, at, at), whole_text(tiny_decoder(), at, at))
    assert model.chat.render([{"role": "user", "content": "x"}])[-1] == model.tokenizer.encode("\n")[0]


def test_a_model_is_loaded_once_for_each_folder_and_precision(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    assert load_language_model(tmp_path, "cpu") is load_language_model(str(tmp_path), "cpu", "float32")


def test_an_autoregressive_model_has_no_mask_token(tmp_path: Path) -> None:
    write_checkpoint(
        tmp_path,
        HEADERS,
        family="llama",
        visibility="causal",
        noise="none",
        block=1,
        shift=True,
        qk_norm=False,
        mask=None,
    )
    model = load_language_model(tmp_path, "cpu")
    assert (model.traits.mask, model.tokenizer.mask) == (None, None)


def test_a_model_is_evaluated_and_keeps_no_gradients(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    decoder = load_language_model(tmp_path, "cpu").decoder
    assert not decoder.training
    at = torch.arange(3)[None]
    assert not decoder.logits(whole_text(decoder, at, at)).requires_grad


def test_texts_are_checked_before_weights_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path)
    monkeypatch.setattr(language_model, "load_decoder", lambda *_: pytest.fail("weights were read"))
    write_texts(tmp_path, mask_token=None)
    with pytest.raises(ModelError, match="expected the mask token of a diffusion model, found none"):
        load_language_model(tmp_path, "cpu")


def test_a_name_that_is_no_folder_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a folder with config\.json"):
        load_language_model(tmp_path / "none")


def test_an_inspection_tells_the_facts_without_loading_weights(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    (tmp_path / "LICENSE.txt").write_text("MIT")
    found = inspect_checkpoint(tmp_path, "cpu", "bfloat16")
    assert found.problems == []
    parameters = sum(weight.numel() for weight in tiny_decoder().parameters())
    expected = {
        "family": "SDAR",
        "licence": ["LICENSE.txt"],
        "attention": "block-causal",
        "block": 4,
        "block told by": "config.json",
        "window": TRAITS.window,
        "mask token": 303,
        "end of turn": 302,
        "parameters": parameters,
        "stored as": ["F32"],
        "weights GB": round(2 * parameters / 1e9, 3),
        "missing tensors": [],
        "odd tensors": [],
        "fingerprint": model_fingerprint(tmp_path),
    }
    assert {name: found.facts[name] for name in expected} == expected


def test_an_inspection_tells_every_problem_at_once(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    write_texts(tmp_path, mask_token=None)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    found = inspect_checkpoint(tmp_path, "cpu")
    assert len(found.facts["missing tensors"]) == 11
    assert [problem.split(": ", 1)[1][:30] for problem in found.problems] == [
        "expected the mask token of a d",
        "missing tensors: 11, first mod",
    ]
    config.write_text(config.read_text().replace('"block_size": 4,', ""))
    (problem,) = inspect_checkpoint(tmp_path, "cpu").problems
    assert "expected `block_size`" in problem
    renamed = tmp_path.rename(tmp_path.with_name("SDAR-1.7B-Chat-b32"))
    told = inspect_checkpoint(renamed, "cpu").facts
    assert (told["block"], told["block told by"]) == (32, "the name of the release")


def test_licence_files_are_found_in_both_spellings(tmp_path: Path) -> None:
    for name in ("LICENSE", "Licence.md", "COPYING", "licensed.json", "README.md"):
        (tmp_path / name).write_text("")
    assert licences(tmp_path) == ["COPYING", "LICENSE", "Licence.md"]


def test_a_language_model_has_the_precision_that_its_folder_states_unless_another_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CINNABAR_PRECISION", raising=False)
    config = tmp_path / "config.json"
    config.write_text("{}")
    assert language_precision(tmp_path) == "float32"
    config.write_text('{"precision": "int8"}')
    for asked, had in (("", "int8"), ("int8", "int8"), ("bfloat16", "bfloat16"), ("float32", "float32")):
        monkeypatch.setenv("CINNABAR_PRECISION", asked)
        assert language_precision(tmp_path) == had
    config.write_text('{"precision": "int3"}')
    monkeypatch.delenv("CINNABAR_PRECISION")
    with pytest.raises(ModelError, match='`precision` is "int3"'):
        language_precision(tmp_path)


@pytest.mark.parametrize("tied", [True, False])
def test_matrices_of_8_bits_are_near_and_the_same_with_and_without_integer_products(
    tied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_decoder(tmp_path, tiny_decoder(replace(TRAITS, tied=tied, qkv_bias=True)))
    traits, at = replace(TRAITS, tied=tied, qkv_bias=True), torch.arange(30)[None]

    def loaded(precision: Precision, layer: type, integers: bool, packed: bool = False) -> torch.Tensor:
        monkeypatch.setattr(checkpoint, "supports_int8", lambda _: integers)
        monkeypatch.setattr(checkpoint, "packs_integers", lambda: packed)
        decoder = checkpoint.load_decoder(tmp_path, traits, CPU, precision)
        assert type(decoder.model.layers[0].self_attn.o_proj) is layer
        return decoder.logits(whole_text(decoder, at, at))

    whole, rounded = loaded("float32", torch.nn.Linear, False), loaded("int8", RoundedLinear, False)
    size = whole.abs().mean()
    assert 0 < (whole - rounded).abs().mean() / size < 0.05
    assert (loaded("int8", Int8Linear, True) - rounded).abs().mean() / size < 0.002
    if packs_integers():
        # The layers that widen have an input of 8 bits.
        assert (loaded("int8", PackedLinear, True, True) - rounded).abs().mean() / size < 0.02
