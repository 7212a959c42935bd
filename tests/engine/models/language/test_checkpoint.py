"""Files of weights to a decoder: one or many, mapped, checked by their headers, refused with one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.support.family_traits import EXPERTS, LLADA2
from tests.support.saved_decoder import save_decoder
from tests.support.tiny_checkpoint import TRAITS, tiny_decoder, write_checkpoint
from tests.support.whole_texts import whole

from cinnabar.engine.models.language import checkpoint
from cinnabar.engine.models.language.checkpoint import (
    load_decoder,
    read_contents,
    weight_bytes,
)
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.models.language.weights_file import stored_tensors
from cinnabar.errors import ModelError

CPU = torch.device("cpu")


def load(folder: Path, traits: Traits = TRAITS) -> Decoder:
    return load_decoder(folder, traits, CPU, "float32")


def rewrite(folder: Path, **changed: torch.Tensor | None) -> None:
    """Writes the weights again with these tensors in place of those there; None takes one away."""
    tensors = {name: w.clone() for name, w in load_file(folder / "model.safetensors").items()}
    for name, tensor in changed.items():
        tensors.pop(name.replace("__", "."), None)
        if tensor is not None:
            tensors[name.replace("__", ".")] = tensor
    save_file(tensors, folder / "model.safetensors")


def split(folder: Path) -> list[Path]:
    """Writes the weights as three files with an index; returns the files."""
    tensors = load_file(folder / "model.safetensors")
    where = {name: f"model-0000{1 + place % 3}-of-00003.safetensors" for place, name in enumerate(sorted(tensors))}
    for file in set(where.values()):
        save_file({name: tensors[name].clone() for name in tensors if where[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (folder / "model.safetensors").unlink()
    return sorted(folder / file for file in set(where.values()))


@pytest.mark.parametrize("traits", [TRAITS, replace(TRAITS, tied=True), LLADA2], ids=["sdar", "tied", "llada2"])
def test_a_saved_decoder_is_loaded_again(traits: Traits, tmp_path: Path) -> None:
    ours = tiny_decoder(traits)
    save_decoder(tmp_path, ours)
    loaded = load(tmp_path, traits)
    for name, weight in ours.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight), name
    assert (loaded.lm_head.weight is loaded.model.embed_tokens.weight) == traits.tied
    assert not any(weight.requires_grad or weight.is_meta for weight in loaded.parameters())


def test_weights_in_several_files_are_the_same(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    before = load(tmp_path).state_dict()
    split(tmp_path)
    after = load(tmp_path).state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_weights_of_the_precision_asked_for_stay_mapped_from_the_file(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder(replace(TRAITS, vocabulary=2000)))
    loaded = load(tmp_path, replace(TRAITS, vocabulary=2000))
    mapped = Path("/proc/self/maps").read_text()
    assert str(tmp_path / "model.safetensors") in mapped
    assert loaded.model.embed_tokens.weight.dtype == torch.float32


@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float16, torch.float32])
def test_every_stored_dtype_is_loaded_in_the_precision_asked_for(stored: torch.dtype, tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder().to(stored))
    for precision, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        loaded = load_decoder(tmp_path, TRAITS, CPU, precision)
        assert {weight.dtype for weight in loaded.parameters()} == {dtype}
    hidden = whole(loaded, torch.arange(8)[None], torch.arange(8)[None])
    assert hidden.isfinite().all()


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder(LLADA2))
    rewrite(tmp_path, model__layers__1__attention__dense__weight=None)
    with pytest.raises(ModelError, match=r"missing tensors: 1, first model\.layers\.1\.attention\.dense"):
        load(tmp_path, LLADA2)


def test_odd_tensors_are_named_with_the_reason(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    rewrite(
        tmp_path,
        model__norm__weight=torch.ones(31),
        lm_head__weight=torch.ones(352, 32, dtype=torch.int8),
        model__layers__0__mlp__gate__weight=torch.ones(2),
        model__layers__0__self_attn__rotary_emb__inv_freq=torch.ones(4),
    )
    assert read_contents(tmp_path, TRAITS).odd == (
        "model.norm.weight (shape [31], expected [32])",
        "lm_head.weight (dtype I8, expected one of F32, BF16, F16)",
        "model.layers.0.mlp.gate.weight (no part of SDAR)",
    )
    with pytest.raises(ModelError, match=r"odd tensors: 3, first model\.norm\.weight \(shape \[31\], expected"):
        load(tmp_path)


def test_a_missing_file_of_weights_is_named(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    split(tmp_path)[1].unlink()
    with pytest.raises(ModelError, match=r"1 of 3 files of weights are missing, first model-00002-of-00003\.safetens"):
        load(tmp_path)


def test_an_unfinished_file_is_told_by_its_length(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    whole = (tmp_path / "model.safetensors").read_bytes()
    (tmp_path / "model.safetensors").write_bytes(whole[:-100])
    with pytest.raises(ModelError, match=rf"expected {len(whole)} bytes by its header, found {len(whole) - 100}"):
        load(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"<html>no such file</html>")
    with pytest.raises(ModelError, match="expected a safetensors file, and its header cannot be read"):
        load(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "moved.safetensors")
    with pytest.raises(ModelError, match=r"its header cannot be read: .*No such file"):
        load(tmp_path)


def test_a_header_that_disagrees_with_its_bytes_is_one_clear_error(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    whole = (tmp_path / "model.safetensors").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["model.norm.weight"]["data_offsets"][0] += 4
    changed = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(changed).to_bytes(8, "little") + changed + whole[8 + length :])
    with pytest.raises(ModelError, match=r"invalid offset for .*model\.norm\.weight.*; fetch the file again"):
        load(tmp_path)


def test_a_config_with_more_layers_than_tensors_is_refused_before_a_decoder_is_made(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    with pytest.raises(ModelError, match=r"config\.json tells 1000000000 layers, and the files of weights have 25"):
        load(tmp_path, replace(TRAITS, layers=10**9))


def test_a_config_with_more_experts_than_tensors_is_refused_before_a_decoder_is_made(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder(LLADA2))
    many = replace(LLADA2, experts=replace(EXPERTS, count=4 * 10**9))
    with pytest.raises(ModelError, match=r"config\.json tells 4000000000 experts, and the files of weights have \d+ "):
        load(tmp_path, many)


def test_a_missing_expert_is_named(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder(LLADA2))
    rewrite(tmp_path, model__layers__2__mlp__experts__7__up_proj__weight=None)
    with pytest.raises(ModelError, match=r"missing tensors: 1, first model\.layers\.2\.mlp\.experts\.7\.up_proj"):
        load(tmp_path, LLADA2)


def test_files_that_the_index_does_not_explain_are_refused(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    files = split(tmp_path)
    (tmp_path / "model.safetensors.index.json").unlink()
    with pytest.raises(ModelError, match=r"expected model\.safetensors\.index\.json beside 3 files of weights"):
        load(tmp_path)
    away = {"weight_map": {"lm_head.weight": f"../{files[0].name}"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(away))
    with pytest.raises(ModelError, match="expected names of files of this folder"):
        load(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ModelError, match="expected `weight_map` with the file of each tensor, found none; fetch it"):
        load(tmp_path)


def test_pickles_are_refused_and_never_read(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ModelError, match=r"the weights are pickles \(pytorch_model\.bin\), which can run code"):
        load(tmp_path)
    (tmp_path / "pytorch_model.bin").unlink()
    with pytest.raises(ModelError, match=r"expected model\.safetensors, or .*; found neither"):
        load(tmp_path)


def test_too_little_memory_is_told_before_weights_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path)
    monkeypatch.setattr(checkpoint, "free_memory", lambda _: 100_000)
    monkeypatch.setattr(checkpoint, "safe_open", lambda *_: pytest.fail("weights were read"))
    expected = r"need 0\.00 GB in float32, and 0\.00 GB are free on cpu; CINNABAR_PRECISION=bfloat16 needs half"
    with pytest.raises(ModelError, match=expected):
        load(tmp_path)
    advice = "free on cpu; take a smaller"
    with pytest.raises(ModelError, match=advice):
        monkeypatch.setattr(checkpoint, "free_memory", lambda _: 10_000)
        load_decoder(tmp_path, TRAITS, CPU, "bfloat16")


def test_needed_memory_is_counted_by_the_precision(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder().to(torch.bfloat16))
    contents = read_contents(tmp_path, TRAITS)
    parameters = sum(weight.numel() for weight in tiny_decoder().parameters())
    assert contents.parameters == parameters
    assert [weight_bytes(contents, one) for one in ("float32", "bfloat16")] == [4 * parameters, 2 * parameters]


def test_headers_are_read_without_the_tensors(tmp_path: Path) -> None:
    save_decoder(tmp_path, tiny_decoder())
    stored = stored_tensors(tmp_path)["model.embed_tokens.weight"]
    assert (stored.dtype, stored.shape, stored.values) == ("F32", (352, 32), 352 * 32)
    assert stored.end - stored.begin == 352 * 32 * 4
