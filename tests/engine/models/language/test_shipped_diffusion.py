"""The weights of our own diffusion model that ship: small files, its licence, a calibration, and a model that reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.engine.models.identity import CALIBRATION
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.language.packed import MANIFEST, unpack

FOLDER = Path(__file__).parents[4] / "models" / "diffusion"


def test_files_are_small_and_have_their_licence() -> None:
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert max(files.values()) < 16_000_000 and sum(files.values()) < 95_000_000
    assert "Apache License" in (FOLDER / "LICENSE").read_text("utf-8")[:200]
    named = {file["name"] for file in json.loads((FOLDER / MANIFEST).read_text("utf-8"))["files"]}
    assert named == {name for name in files if name.endswith(".safetensors")}


@pytest.mark.slow
def test_they_unpack_to_a_block_diffusion_model_whose_confidence_is_fitted_for_it(tmp_path: Path) -> None:
    unpack(FOLDER, tmp_path / "model")
    _, traits = read_family(tmp_path / "model")
    assert (traits.visibility, traits.block, traits.shift, traits.revises) == ("token_causal", 8, True, False)
    fitted = json.loads((tmp_path / "model" / CALIBRATION).read_text("utf-8"))
    assert checkpoint_fingerprint(tmp_path / "model") in json.dumps(fitted)
