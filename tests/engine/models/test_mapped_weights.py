"""Mapped weights: processes share one file, which is made again if it is broken, and never that of another network."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from cinnabar.engine.models import mapped_weights
from cinnabar.engine.models.int8_matmul import Int8Linear, supports_int8
from cinnabar.engine.models.mapped_weights import FOLDER, mapped_module

CPU = torch.device("cpu")


def made(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(16, 24), nn.LayerNorm(24), nn.Sequential(nn.Linear(24, 8, bias=False)), nn.Linear(8, 3)
    )


def never() -> nn.Module:
    raise AssertionError("expected the weights from the file")


def mapped(load: Callable[[], nn.Module], said: object = "tiny", integers: bool = False) -> nn.Module:
    return mapped_module(said, integers, made, load)


def same(one: nn.Module, other: nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def in_file(tensor: Tensor, path: Path) -> bool:
    """Whether the tensor's memory is a mapping of this file."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        found = re.match(r"(\w+)-(\w+) ", line)
        if found and str(path) in line and int(found[1], 16) <= tensor.data_ptr() < int(found[2], 16):
            return True
    return False


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / FOLDER


@pytest.mark.parametrize("integers", [False, True])
def test_a_later_process_maps_every_weight_of_the_first(folder: Path, integers: bool) -> None:
    first, second = mapped(made, integers=integers), mapped(never, integers=integers)
    (path,) = folder.iterdir()
    assert same(first, second)
    for tensor in (*first.state_dict().values(), *second.state_dict().values()):
        assert in_file(tensor, path) and tensor.data_ptr() % 64 == 0
    x = torch.randn(5, 16)
    assert torch.equal(first(x), second(x))


@pytest.mark.usefixtures("folder")
def test_layers_in_integers_give_what_they_give_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(5, 16)
    kept = mapped(made, integers=True)
    monkeypatch.setenv("CINNABAR_CACHE", "")
    alone = mapped(made, integers=True)
    assert torch.equal(kept(x), alone(x))
    assert isinstance(kept.get_submodule("0"), Int8Linear) is supports_int8(CPU)


def test_other_weights_and_products_have_files_of_their_own(folder: Path) -> None:
    mapped(made)
    assert same(mapped(lambda: made(1), "other"), made(1))
    mapped(made, integers=True)
    assert len([*folder.iterdir()]) == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "short", "empty"])
def test_a_broken_file_is_written_again(folder: Path, damage: str) -> None:
    mapped(made)
    (path,) = folder.iterdir()
    data = path.read_bytes()
    flipped = data[:8] + bytes([data[8] ^ 1]) + data[9:]
    path.unlink()
    path.write_bytes({"cut": data[: len(data) // 2], "flipped": flipped, "short": data[:9], "empty": b""}[damage])
    assert same(mapped(made), made())
    assert path.read_bytes() == data


@pytest.mark.usefixtures("folder")
def test_a_write_to_a_mapped_weight_does_not_reach_the_file() -> None:
    with torch.no_grad():
        mapped(made).get_parameter("0.weight").zero_()
    assert same(mapped(never), made())


def test_a_folder_that_cannot_be_written_leaves_the_weights_as_they_are(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")
    assert same(mapped(made), made())


def test_old_files_go_beyond_the_limit_and_the_one_in_use_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = mapped(made, 0)
    (path,) = folder.iterdir()
    monkeypatch.setattr(mapped_weights, "LIMIT", 4 * path.stat().st_size)
    for number in range(1, 5):
        mapped(made, number)
    assert not path.exists() and len([*folder.iterdir()]) == 3
    assert same(first, made())
