"""The cache of automata: an entry is whole or absent, and a key never gives another key's automaton."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from cinnabar.schemas.automata import cache
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.cache import load_or_build
from cinnabar.schemas.regex.patterns import fullmatch

PATTERN = r"[a-z]{2,5}-\d{3}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "WORTH", 0.0)
    return tmp_path / "kept"


def build() -> Automaton:
    return fullmatch(PATTERN)


def refuse() -> Automaton:
    raise AssertionError("it is on disk")


def test_a_built_automaton_is_read_from_the_cache(folder: Path) -> None:
    made = load_or_build("plate", build)
    found = load_or_build("plate", refuse)
    assert found.fingerprint == made.fingerprint and found.accepts(b"abc-123")
    assert not found.transitions.flags.writeable
    assert [path.suffix for path in folder.iterdir()] == [".npz"]


@pytest.mark.usefixtures("folder")
def test_another_key_or_release_has_another_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    load_or_build("plate", build)
    with pytest.raises(AssertionError):
        load_or_build("plates", refuse)
    monkeypatch.setattr(cache, "_code", lambda: "the code of another release")
    with pytest.raises(AssertionError):
        load_or_build("plate", refuse)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "swapped"])
def test_a_corrupt_entry_is_built_again(folder: Path, damage: str) -> None:
    made = load_or_build("plate", build)
    (path,) = folder.iterdir()
    data = path.read_bytes()
    if damage == "swapped":
        load_or_build("digits", lambda: fullmatch(r"\d"))
        (other,) = (p for p in folder.iterdir() if p != path)
        # Whole, but with the arrays of another automaton under its fingerprint.
        head = other.read_bytes()
        path.write_bytes(head[: len(head) // 2] + data[len(data) // 2 :])
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes(b ^ 0xFF for b in data[middle : middle + 40]) + data[middle + 40 :]
        path.write_bytes({"cut": data[:middle], "flipped": flipped, "empty": b""}[damage])
    again = load_or_build("plate", build)
    assert again.fingerprint == made.fingerprint
    assert load_or_build("plate", refuse).fingerprint == made.fingerprint


def test_an_entry_with_other_arrays_than_its_digest_says_is_built_again(folder: Path) -> None:
    made = load_or_build("plate", build)
    (path,) = folder.iterdir()
    with np.load(path) as stored:
        changed = dict(stored)
    changed["accepting"] = ~changed["accepting"]
    np.savez_compressed(path, **changed)
    assert load_or_build("plate", build).fingerprint == made.fingerprint


def test_without_a_writable_folder_every_automaton_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WORTH", 0.0)
    (tmp_path / "file").write_text("")
    for named in ("", str(tmp_path / "file" / "below")):
        monkeypatch.setenv("CINNABAR_CACHE", named)
        assert load_or_build("plate", build).accepts(b"ab-123")


def _write_often(_: int) -> str:
    os.environ["CINNABAR_CACHE"] = os.environ["SHARED_CACHE"]
    cache.WORTH = 0.0
    found = {load_or_build(f"key {i % 3}", build).fingerprint for i in range(30)}
    (only,) = found
    return only


def test_several_writers_at_once_leave_whole_entries(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHARED_CACHE", str(folder))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert len(set(pool.map(_write_often, range(6)))) == 1
    assert len(list(folder.iterdir())) == 3
    for i in range(3):
        assert load_or_build(f"key {i}", refuse).accepts(b"zz-000")
