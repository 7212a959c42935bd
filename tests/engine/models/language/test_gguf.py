"""GGUF files: weights of every type, the tokenizer and the names of tensors are read as `transformers` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf.quants import dequantize
from tests.support.tiny_gguf import CLASSES, written
from tests.support.whole_texts import whole

from cinnabar.apps.cli.main import run
from cinnabar.engine.models.language.configuration import SPLITS, language_precision
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder, gguf_folder
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.language.weights_file import GGUF_TYPES
from cinnabar.errors import ModelError
from cinnabar.extraction.store.reading import query

#: The types that the package writes; it reads more of them.
WRITTEN = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def off(model: LanguageModel, theirs: Any) -> float:
    """The largest difference of logits, in shares of their spread."""
    tokens = torch.randint(0, theirs.config.vocab_size, (1, 24), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        ours = model.decoder.logits(whole(model.decoder, tokens, torch.arange(24)[None]))
        wanted = theirs(tokens).logits
        return float((ours - wanted).abs().max() / wanted.std())


# Every type of weights, and every body: no code looks at both.
@pytest.mark.parametrize(("body", "kind"), [([*CLASSES][at % len(CLASSES)], kind) for at, kind in enumerate(WRITTEN)])
def test_logits_equal_those_of_the_weights_turned_back(tmp_path: Path, body: str, kind: str) -> None:
    theirs = written(tmp_path / "a.gguf", body, kind, tied=body != "llama")
    assert off(load_language_model(tmp_path / "a.gguf", "cpu", "float32"), theirs) < 1e-4


def test_a_finer_copy_of_the_embeddings_stands_for_both(tmp_path: Path) -> None:
    theirs = written(tmp_path / "a.gguf", "qwen2", "Q4_0", head="Q8_0")
    model = load_language_model(tmp_path / "a.gguf", "cpu", "float32")
    assert model.traits.tied and off(model, theirs) < 1e-4


def test_the_weights_stay_in_eight_bits_unless_told_otherwise(tmp_path: Path) -> None:
    written(tmp_path / "a.gguf", "qwen2", "Q8_0")
    assert language_precision(checkpoint_folder(tmp_path / "a.gguf")) == "int8"


@pytest.mark.parametrize("kind", GGUF_TYPES)
def test_every_type_that_is_read_can_be_turned_back(kind: str) -> None:
    own = gguf.GGMLQuantizationType[kind]
    values, size = gguf.GGML_QUANT_SIZES[own]
    assert dequantize(np.zeros((2, size), np.uint8), own).shape == (2, values)


@pytest.mark.parametrize("pre", SPLITS)
def test_texts_become_the_tokens_of_the_pre_tokenizer(tmp_path: Path, pre: str) -> None:
    written(tmp_path / "a.gguf", "qwen2", "F16", pre=pre)
    tokenizer = load_language_model(tmp_path / "a.gguf", "cpu", "float32").tokenizer
    for text in ("Invoice number: A-17", "it's 12345.60\n\n\tÄ ñ 发票 <|im_end|>", ""):
        assert tokenizer.decode(tokenizer.encode(text)).decode() == text


def test_a_changed_file_has_a_folder_of_its_own(tmp_path: Path, models: Path) -> None:
    written(tmp_path / "a.gguf", "qwen2", "F16")
    first = gguf_folder(tmp_path / "a.gguf")
    assert gguf_folder(tmp_path / "a.gguf") == first == checkpoint_folder(tmp_path / "a.gguf")
    written(tmp_path / "a.gguf", "qwen3", "F16")
    assert gguf_folder(tmp_path / "a.gguf") != first
    assert not [*models.rglob("*.part")]


@pytest.mark.parametrize("damage", ["cut", "text", "empty"])
def test_a_damaged_file_is_told(tmp_path: Path, damage: str) -> None:
    written(tmp_path / "a.gguf", "qwen2", "F16")
    data = (tmp_path / "a.gguf").read_bytes()
    changed = {"cut": data[: len(data) // 2], "text": b"GGUF" + b"no" * 90, "empty": b""}[damage]
    (tmp_path / "a.gguf").write_bytes(changed)
    with pytest.raises(ModelError, match=r"a\.gguf"):
        load_language_model(tmp_path / "a.gguf", "cpu")


def test_what_is_not_read_is_refused_by_name(tmp_path: Path) -> None:
    written(tmp_path / "a.gguf", "qwen2", "F16", pre="tekken")
    with pytest.raises(ModelError, match="tekken"):
        gguf_folder(tmp_path / "a.gguf")


def test_a_record_is_read_by_a_gguf_file(tmp_path: Path) -> None:
    written(tmp_path / "a.gguf", "qwen2", "F16")
    (tmp_path / "note.txt").write_text("paid")
    (tmp_path / "s.json").write_text('{"title": "note", "type": "object", "properties": {"paid": {"type": "boolean"}}}')
    arguments = ["--schema", str(tmp_path / "s.json"), "--out", str(tmp_path / "out")]
    assert run(["extract", str(tmp_path / "note.txt"), *arguments, "--model", str(tmp_path / "a.gguf")]) == 0
    # Random weights find something or nothing.
    assert query(tmp_path / "out", "SELECT code FROM outcomes").rows[0][0] in (None, "empty_record")
