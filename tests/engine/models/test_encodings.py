"""The cache of encodings: it gives back the same bits within a size limit, and makes broken entries again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.support.effort import first
from tests.support.tiny_network import BILL, bill, passage_of, tiny_model

from cinnabar.engine.engine import Engine
from cinnabar.engine.models.encodings import CachingModel, Encodings, key_of, with_cached_encodings
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Request, Result
from cinnabar.schemas import compile_schema

FORM = compile_schema(BILL).form


def cached(folder: Path, limit: int = 1 << 20) -> CachingModel:
    made = with_cached_encodings(tiny_model(), folder, limit)
    assert isinstance(made, CachingModel)
    return made


def fill(model: CachingModel, count: int = 3) -> list[Result]:
    return Engine(model).fill([Request(str(i), FORM, passage_of(bill(i)[0])) for i in range(count)])


def test_a_second_engine_encodes_nothing_and_gives_the_same_result(tmp_path: Path) -> None:
    first, second = cached(tmp_path), cached(tmp_path)
    plain = Engine(tiny_model()).fill([Request(str(i), FORM, passage_of(bill(i)[0])) for i in range(3)])
    assert fill(first) == fill(second) == plain
    assert (first.encodings.made, first.encodings.found) == (3, 0)
    assert (second.encodings.made, second.encodings.found) == (0, 3)


def test_the_shipped_model_gives_the_same_result_from_the_cache(tmp_path: Path) -> None:
    model = load_model("default", "cpu")
    requests = [Request("a", FORM, passage_of(bill(1)[0]))]
    plain = Engine(model).fill(requests)
    for _ in range(2):
        assert Engine(with_cached_encodings(model, tmp_path, 1 << 20)).fill(requests) == plain


@pytest.mark.parametrize("harm", first(1, ["flipped", "torn", "empty"]))
def test_broken_entries_are_made_again(tmp_path: Path, harm: str) -> None:
    before = fill(cached(tmp_path))
    for path in tmp_path.rglob("*.safetensors"):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes({"torn": data[:-9], "flipped": data, "empty": b""}[harm])
    again = cached(tmp_path)
    assert fill(again) == before and again.encodings.made == 3
    whole = cached(tmp_path)
    assert fill(whole) == before and whole.encodings.found == 3


def test_no_entry_is_kept_beyond_the_limit_or_on_a_failing_disk(tmp_path: Path) -> None:
    kept = Encodings(tmp_path / "small", 100)
    kept.put("a" * 64, {"states": torch.zeros(100)})
    assert not (tmp_path / "small").exists()
    (tmp_path / "file").write_text("in the way")
    model = cached(tmp_path / "file")
    assert fill(model, 1) == fill(cached(tmp_path / "other"), 1)
    assert with_cached_encodings(tiny_model(), tmp_path, 0) is not None and not [*tmp_path.glob("??")]


def test_a_read_only_folder_still_gives_its_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encodings = Encodings(tmp_path, 10_000)
    encodings.put("abc", {"x": torch.ones(3)})

    def refused(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.utime", refused)
    assert encodings.get("abc") is not None


def test_another_text_or_model_has_another_encoding() -> None:
    passage = passage_of("a bill")
    keys = {key_of(passage, "m"), key_of(passage_of("a mill"), "m"), key_of(passage, "n")}
    moved = replace(passage, word_start=passage.word_start.copy(), offset=7, digest="x")
    assert len(keys) == 3 and key_of(moved, "m") in keys
