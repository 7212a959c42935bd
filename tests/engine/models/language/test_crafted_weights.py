"""Crafted files of weights, tokenizers and settings end in one ModelError, soon and in little memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.support.crafted_weights import Craft, crafted_gguf, crafted_json, crafted_safetensors, places_of_numbers
from tests.support.tiny_checkpoint import write_checkpoint
from tests.support.tiny_gguf import written

from cinnabar.engine.models.language import identity, language_model
from cinnabar.engine.models.language.gguf_folder import gguf_folder
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.errors import ModelError

#: The files of each kind: those that the quick test takes, and all.
QUICK = {"gguf": range(0, 199, 9), "safetensors": range(0, 100, 6)}
QUICK |= dict.fromkeys(("tokenizer.json", "config.json", "gguf.json"), range(12))
WHOLE = {"gguf": range(199), "safetensors": range(100)}
WHOLE |= dict.fromkeys(("tokenizer.json", "config.json", "gguf.json"), range(100))
#: Seconds of the processor and megabytes that a file of some hundred kB may take, that of a model that loads included.
SECONDS, MEGABYTES = 5.0, 200


def attacked(kind: str, folder: Path) -> tuple[Path, Path, Craft]:
    """What is loaded, the file in it that is crafted, and what crafts it."""
    if "gguf" in kind:
        path = folder / "a.gguf"
        written(path, "qwen2", "Q8_0")
        if kind == "gguf.json":
            made = gguf_folder(path)
            text = (made / kind).read_text()
            return made, made / kind, lambda at: crafted_json(text, at)
        whole, places = path.read_bytes(), places_of_numbers(path)
        return path, path, lambda at: crafted_gguf(whole, places, at)
    write_checkpoint(folder)
    path = folder / ("model.safetensors" if kind == "safetensors" else kind)
    whole = path.read_bytes()
    return (
        folder,
        path,
        lambda at: crafted_safetensors(whole, at) if kind == "safetensors" else crafted_json(whole.decode(), at),
    )


def check_all(kind: str, numbers: Iterable[int], folder: Path) -> None:
    loaded, path, craft = attacked(kind, folder)
    load_language_model(loaded, "cpu", "float32")
    refused, wrong = 0, []
    for at in numbers:
        path.write_bytes(craft(at))
        begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # An index has no part in a fingerprint, by which models are kept.
        identity._fingerprint.cache_clear()
        language_model._load.cache_clear()
        try:
            load_language_model(loaded, "cpu", "float32")
        except ModelError as error:
            refused += 1
            if str(folder) not in str(error):
                wrong.append((at, f"names no file: {error}"))
        except BaseException as error:
            wrong.append((at, repr(error)[:300]))
        spent = time.process_time() - begun
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        if spent > SECONDS or grown > MEGABYTES:
            wrong.append((at, f"{spent:.1f} s, {grown:.0f} MB"))
    assert not wrong
    assert refused > len([*numbers]) // 3


@pytest.mark.parametrize("kind", QUICK)
def test_a_crafted_file_ends_in_one_error(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    check_all(kind, QUICK[kind], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WHOLE)
def test_every_crafted_file_ends_in_one_error(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    check_all(kind, WHOLE[kind], tmp_path)
