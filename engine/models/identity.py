"""Which model is meant by what somebody gave, and how a record's key and another machine name it; needs no torch.

The shipped model goes by name, because every installation has it. Any other model goes as its folder together with the
folders of its bases, except the shipped one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.engine.models.releases import RELEASED
from cinnabar.engine.version import values_version
from cinnabar.errors import ModelError, UsageError

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
            f"--model {name}: expected `default` or a folder with model.json, as `cinnabar improve` makes it"
        )
    return folder


def about(folder: Path) -> dict[str, Any]:
    """What a model's folder says of itself; ModelError where it is none."""
    path = folder / "model.json"
    if not path.is_file():
        raise ModelError(f"{folder}: expected a folder with model.json, as `cinnabar improve` writes it")
    try:
        content = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ModelError(f"{path}: expected a JSON object, found something else ({error})") from error
    if not isinstance(content.get("files"), dict) or not isinstance(content.get("size"), dict):
        raise ModelError(f"{path}: expected `files` and `size`, found {sorted(content)}")
    return content


def fingerprint_of(name: str | Path) -> str:
    """The name of the model in a record's key: its weights, and its calibration where it has one."""
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


_ABOUT = "model.json"


@dataclass(frozen=True, slots=True)
class CarriedModel:
    """A model: the files of its folder, then of its base's, and so on; none for the shipped model."""

    fingerprint: str
    folders: tuple[dict[str, bytes], ...]


def pack_model(name: str | Path) -> CarriedModel:
    """Returns the model of this name or folder as bytes. Raises UsageError or ModelError if it is none."""
    folders: list[dict[str, bytes]] = []
    folder: Path | None = model_folder(name)
    while folder is not None and folder.resolve() != SHIPPED.resolve():
        names = [_ABOUT, CALIBRATION, *about(folder)["files"]]
        paths = [folder / name for name in names]
        folders.append({path.name: path.read_bytes() for path in paths if path.is_file()})
        folder = base_of(folder)
    return CarriedModel(fingerprint_of(name), tuple(folders))


def unpack_model(model: CarriedModel, place: Path) -> str:
    """Writes the model's folders below `place` and returns its name on this machine.

    Raises ModelError if this installation ships another model.
    """
    for number, files in enumerate(model.folders):
        folder = place / str(number)
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        if number + 1 < len(model.folders):
            # The base now lies beside it. Loading still checks the base's fingerprint.
            content = about(folder)
            content["base"]["name"] = f"../{number + 1}"
            (folder / _ABOUT).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")
    name = str(place / "0") if model.folders else "default"
    fingerprint = fingerprint_of(name)
    if fingerprint != model.fingerprint:
        raise ModelError(
            f"expected the model {model.fingerprint}, got {fingerprint}: install the same version of Cinnabar"
        )
    return name


_HUB = re.compile(r"(?:(?:https?://)?(?:www\.)?(?:huggingface|hf)\.co/)?(?P<name>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)/?")
_OLLAMA = re.compile(r"(?:[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*:[\w.-]+", re.IGNORECASE)
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".h5", ".npz")


def model_name_hint(name: str | Path) -> str | None:
    """Returns what this is and what to do, if it is a model in a form that cannot be loaded; None for anything else."""
    try:
        reason = _in_file(Path(name)) if Path(name).is_file() else _in_folder(Path(name))
    except OSError:
        reason = None
    return reason or (None if Path(name).exists() else _of_elsewhere(str(name)))


def _in_file(path: Path) -> str | None:
    if path.name == "adapter_config.json":
        return _in_folder(path.parent)
    if path.suffix.lower() in _WEIGHTS:
        return "this is a file of weights alone; name the folder that holds it, with config.json and tokenizer.json"
    return None


def _in_folder(path: Path) -> str | None:
    if not path.is_dir() or (path / "model.json").is_file():
        return None
    if (path / "adapter_config.json").is_file():
        return (
            "this is a LoRA folder (adapter_config.json): changes to another model and no model; join both with"
            " `merge_and_unload` of the package peft, and name the folder that it saves"
        )
    if files := sorted(path.glob("*.gguf")):
        return f"this folder holds a GGUF file; name the file itself: {files[0]}"
    inner = sorted(one.parent for one in path.glob("snapshots/*/config.json"))
    if inner:
        return f"this is a folder of the hub's cache; name the model within it: {inner[-1]}"
    return None


def _of_elsewhere(name: str) -> str | None:
    if name in RELEASED:
        return f"this released model is not here yet; `cinnabar model fetch {name}` brings it"
    hub = _HUB.fullmatch(name)
    if hub:
        model = hub["name"]
        fetched = f"`cinnabar model fetch {model}` gets it, then name models/{model.rpartition('/')[2]}"
        return f"no such folder; if it is a model of the hub, {fetched}"
    if _OLLAMA.fullmatch(name):
        return (
            f"this is a name of Ollama; a server with OpenAI's interface, such as Ollama's, is asked with --model"
            f" openai:{name} and OPENAI_BASE_URL=http://localhost:11434/v1 (and any text in OPENAI_API_KEY)"
        )
    return None
