"""Fetching from a hub on loopback: what is taken, what is refused, and going on after a broken connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants, file_download
from tests.support import hub_server
from tests.support.hub_server import COMMIT, Hub
from tests.support.tiny_checkpoint import write_checkpoint

from cinnabar.engine.models.language.hub import fetch_checkpoint
from cinnabar.engine.models.language.inspection import inspect_checkpoint
from cinnabar.engine.models.language.weights_file import INDEX
from cinnabar.errors import ModelError, RunError, UsageError

OTHERS = {
    "LICENSE": b"MIT",
    "README.md": b"about",
    "modeling_sdar.py": b"import os",
    "pytorch_model.bin": b"a pickle",
    "onnx/model.safetensors": b"another one",
    "onnx/config.json": b"{}",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with a small checkpoint and other files beside it."""
    write_checkpoint(tmp_path / "source", vocabulary=4000)
    files = {path.name: path.read_bytes() for path in (tmp_path / "source").iterdir()}
    with hub_server.running(Hub("org/tiny", files | OTHERS)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_TOKEN", "hf_mine")
        # As the Makefile sets it.
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        # A retry waits a second.
        monkeypatch.setattr(file_download.time, "sleep", lambda _: None)
        yield running


def test_a_fetched_folder_is_a_whole_checkpoint_without_code_or_pickles(hub: Hub, tmp_path: Path) -> None:
    done = fetch_checkpoint("org/tiny", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()} - {"origin.json", ".cache"}
    assert json.loads((tmp_path / "out" / "origin.json").read_text()) == {"name": "org/tiny", "revision": COMMIT}
    assert names == {
        "LICENSE",
        "chat_template.jinja",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert (done.revision, done.files) == (COMMIT, 6)
    assert done.size == sum(len(hub.files[name]) for name in names)
    assert inspect_checkpoint(tmp_path / "out", "cpu").problems == []


def test_an_explicit_fetch_lifts_the_offline_mode_for_itself_only(hub: Hub, tmp_path: Path) -> None:
    fetch_checkpoint("org/tiny", tmp_path / "out")
    assert constants.HF_HUB_OFFLINE
    # Nothing is reported either: the library would otherwise ask the hub how to name what it runs in.
    assert all(path.startswith(("/api/models/org/tiny", "/org/tiny/resolve/")) for path in hub.paths)
    assert hub.tokens == {"Bearer hf_mine"}


def test_files_that_are_there_are_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    fetch_checkpoint("org/tiny", tmp_path / "out")
    hub.ranges.clear()
    fetch_checkpoint("org/tiny", tmp_path / "out")
    assert hub.ranges == []


def test_a_broken_download_is_told_and_the_same_command_goes_on(hub: Hub, tmp_path: Path) -> None:
    hub.files[INDEX] = b'{"weight_map": {"model.norm.weight": "model.safetensors"}}'
    hub.cut = "model.safetensors", 300_000
    with pytest.raises(RunError, match=r"org/tiny: fetching from .*127.* failed: .*; run the same command again, it g"):
        fetch_checkpoint("org/tiny", tmp_path / "out")
    # The list of the files of weights names none that is not there.
    assert not [*(tmp_path / "out").glob("model.safetensors*")]
    hub.cut = None
    hub.ranges.clear()
    fetch_checkpoint("org/tiny", tmp_path / "out")
    assert [*dict.fromkeys(name for name, _ in hub.ranges)] == ["model.safetensors", INDEX]
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == hub.files["model.safetensors"]


def test_a_file_that_arrives_damaged_is_not_kept(hub: Hub, tmp_path: Path) -> None:
    hub.damaged = "model.safetensors"
    with pytest.raises(RunError, match=r"model\.safetensors: arrived with another content than the hub tells"):
        fetch_checkpoint("org/tiny", tmp_path / "out")
    assert not list((tmp_path / "out").glob("model.safetensors*"))


def test_a_family_that_cannot_be_run_is_told_before_its_weights_are_fetched(hub: Hub, tmp_path: Path) -> None:
    hub.files["config.json"] = b'{"model_type": "Dream"}'
    with pytest.raises(ModelError, match=r"`model_type` is \"Dream\" \(Dream or DiffuCoder\), which cannot be run"):
        fetch_checkpoint("org/tiny", tmp_path / "out")
    assert [name for name, _ in hub.ranges] == ["config.json"]


def test_what_a_release_lacks_and_its_size_are_told_before_its_weights_are_fetched(hub: Hub, tmp_path: Path) -> None:
    told: list[str] = []
    fetch_checkpoint("org/tiny", tmp_path / "out", say=told.append)
    assert len(told) == 1 and "org/tiny: 0.00 GB of weights" in told[0]
    del hub.files["tokenizer.json"]
    hub.ranges.clear()
    with pytest.raises(ModelError, match=r"expected tokenizer\.json, or vocab\.json and merges\.txt"):
        fetch_checkpoint("org/tiny", tmp_path / "other")
    assert "model.safetensors" not in [name for name, _ in hub.ranges]


def test_a_model_with_pickles_only_is_refused(hub: Hub, tmp_path: Path) -> None:
    for name in [name for name in hub.files if name.endswith(".safetensors")]:
        del hub.files[name]
    with pytest.raises(UsageError, match=r"has its weights as pickles \(pytorch_model\.bin\), which can run code"):
        fetch_checkpoint("org/tiny", tmp_path / "out")
    del hub.files["pytorch_model.bin"]
    with pytest.raises(UsageError, match="has no weights; expected"):
        fetch_checkpoint("org/tiny", tmp_path / "out")
    assert hub.ranges == []


def test_what_is_not_there_or_not_allowed_is_wrong_use(hub: Hub, tmp_path: Path) -> None:
    for name, revision in (("org/none", None), ("no name", None), ("org/tiny", "v9")):
        with pytest.raises(UsageError, match=f"{name}: expected ORG/NAME of a model, and its revision"):
            fetch_checkpoint(name, tmp_path / "out", revision)
    hub.gated = True
    with pytest.raises(UsageError, match="its owners give it to named users only; ask for access there and set HF_TOK"):
        fetch_checkpoint("org/tiny", tmp_path / "out")


def test_a_hub_that_does_not_answer_is_a_failure_to_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(RunError, match=r"org/tiny: fetching from .* failed: .*; run the same command again"):
        fetch_checkpoint("org/tiny", tmp_path / "out")


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    modules: Any = sys.modules
    monkeypatch.setitem(modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r'pip install "cinnabar-extract\[models\]"'):
        fetch_checkpoint("org/tiny", tmp_path / "out")
