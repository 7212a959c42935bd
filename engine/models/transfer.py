"""A model as bytes, for a machine that does not have its folder.

The shipped model goes by name, because every installation has it. Any other model goes as its folder together with
the folders of its bases, except the shipped one. This file needs no torch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cinnabar.engine.models.identity import (
    CALIBRATION,
    SHIPPED,
    about,
    base_of,
    fingerprint_of,
    model_folder,
)
from cinnabar.schemas.errors import ModelError

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
