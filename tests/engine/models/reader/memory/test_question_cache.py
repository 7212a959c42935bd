"""Kept questions: a later process reads the states that an earlier one encoded, and never those of another model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.support.tiny_network import form_of, tiny_network, wordpieces

from cinnabar.engine.models.reader.memory.form import FOLDER, FormMemory, QuestionCache, read_form

FORM = form_of(seller={"type": "string"}, kind={"enum": ["invoice", "receipt"]}, due={"type": "string"})
CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / FOLDER


def read(fingerprint: str = "tiny", seed: int = 0) -> FormMemory:
    with torch.inference_mode():
        return read_form(FORM, tiny_network(seed), wordpieces(), CPU, QuestionCache(fingerprint))


def same(one: Any, other: Any) -> bool:
    return torch.equal(one.read.vectors, other.read.vectors) and torch.equal(
        one.read.statements.states, other.read.statements.states
    )


def test_a_later_process_takes_the_states_from_disk_to_the_bit(folder: Path) -> None:
    first = read()
    assert len([*folder.rglob("*.safetensors")]) == 1
    # Another network would encode other states: these come from disk.
    assert same(read(seed=1), first)


@pytest.mark.usefixtures("folder")
def test_other_weights_have_states_of_their_own() -> None:
    assert not same(read("other", seed=1), read())


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_broken_file_is_encoded_again(folder: Path, damage: str) -> None:
    first = read()
    (path,) = folder.rglob("*.safetensors")
    data = path.read_bytes()
    flipped = data[:-40] + bytes(b ^ 0xFF for b in data[-40:])
    path.write_bytes({"cut": data[: len(data) // 2], "flipped": flipped, "empty": b""}[damage])
    assert same(read(), first)
    assert path.read_bytes() == data


def test_an_empty_setting_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_CACHE", "")
    monkeypatch.chdir(tmp_path)
    read()
    assert not [*tmp_path.iterdir()]
