"""Which model is meant, and what a record's key says of it, without loading it: this file needs no torch."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from cinnabar.engine.models.model_name_hint import model_name_hint
from cinnabar.engine.version import values_version
from cinnabar.schemas.errors import ModelError, UsageError

#: Where the model that ships with the project lies.
SHIPPED = Path(__file__).parents[1] / "weights" / "reader"
#: The file of a model's folder that says what its probabilities are worth (engine/models/reader/calibration.py).
CALIBRATION = "calibration.json"
# Of the text that a fingerprint of weights is the hash of.
_FORMAT = 1


def model_folder(name: str | Path) -> Path:
    """The folder of a model: `default` is the one that ships. UsageError where there is none."""
    folder = SHIPPED if str(name) == "default" else Path(name)
    if not (folder / "model.json").is_file():
        if wrong := model_name_hint(name):
            raise UsageError(f"--model {name}: {wrong}")
        raise UsageError(
            f"--model {name}: expected `default` or a folder with model.json, as `cinnabar train` makes it"
        )
    return folder


def about(folder: Path) -> dict[str, Any]:
    """What a model's folder says of itself; ModelError where it is none."""
    path = folder / "model.json"
    if not path.is_file():
        raise ModelError(f"{folder}: expected a folder with model.json, as `cinnabar train --out` writes it")
    try:
        content = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ModelError(f"{path}: expected a JSON object, found something else ({error})") from error
    if not isinstance(content.get("files"), dict) or not isinstance(content.get("size"), dict):
        raise ModelError(f"{path}: expected `files` and `size`, found {sorted(content)}")
    return content


def fingerprint_of(name: str | Path) -> str:
    """What a record's key says of the model: its weights, and its calibration where it has one."""
    weights = weights_fingerprint(name)
    path = model_folder(name) / CALIBRATION
    if not path.is_file():
        return weights
    return hashlib.sha256(weights.encode() + path.read_bytes()).hexdigest()[:16]


def weights_fingerprint(name: str | Path) -> str:
    """Names the weights of a model alone. ModelError where its base is not the one that it was made from."""
    folder = model_folder(name)
    base_of(folder)
    stated = about(folder)
    key = json.dumps([_FORMAT, stated["files"], stated.get("base", {}).get("fingerprint", {})], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def stale_calibration(name: str | Path, part: str = "reader") -> str | None:
    """Says that a model's confidence was fitted with other rules of its part than today's, None where it was not."""
    path = (SHIPPED if str(name) == "default" else Path(name)) / CALIBRATION
    try:
        fitted = json.loads(path.read_text(encoding="utf-8"))["values_version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or loading it says what is wrong with it
    if fitted == values_version(part):
        return None
    advice = "make calibrate" if str(name) == "default" else "python -m training.calibrate"
    return (
        f"the confidence of --model {name} was fitted with version {fitted} of the rules, which are of version"
        f" {values_version(part)}: it may say too much or too little; run `{advice}` for it"
    )


def base_of(folder: Path) -> Path | None:
    """The folder of the model that this one stores the difference from, None where it is a whole one.

    A base other than `default` is found from the model's own folder, so both can be moved together. Raises
    ModelError where it is not there, or is not the one that the difference was made from.
    """
    base = about(folder).get("base")
    if base is None:
        return None
    if not isinstance(base, dict) or not all(isinstance(base.get(k), str) for k in ("name", "fingerprint")):
        raise ModelError(f"{folder / 'model.json'}: expected a base with name and fingerprint, found {base}")
    name, wanted = base["name"], base["fingerprint"]
    # Beside the model itself, which a link may lead to: `base_name` goes by where it really lies, too.
    base_folder = SHIPPED if name == "default" else (folder / name).resolve()
    if not (base_folder / "model.json").is_file():
        raise ModelError(
            f"{folder}: expected its base in {base_folder}, found none: it holds only what was changed of that "
            "model, so move both together, or train it again"
        )
    there = weights_fingerprint(name if name == "default" else base_folder)
    if there != wanted:
        raise ModelError(
            f"{folder}: made from {name} with fingerprint {wanted}, found {name} with {there}: it fits no "
            "other base, so train it again from this one, or use it with the version that it was made with"
        )
    return base_folder


def base_name(base: str | Path, folder: Path) -> str:
    """How a model in `folder` names its base."""
    if model_folder(base).resolve() == SHIPPED.resolve():
        return "default"
    return Path(os.path.relpath(Path(base).resolve(), folder.resolve())).as_posix()
