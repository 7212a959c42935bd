"""The folder of a language model by what somebody names: a folder, a fetched model, or a GGUF file; needs no torch."""

from __future__ import annotations

from pathlib import Path

from cinnabar.engine.models.language.configuration import CONFIG, models_folder
from cinnabar.engine.models.language.gguf_folder import gguf_folder
from cinnabar.engine.models.model_name_hint import model_name_hint
from cinnabar.schemas.errors import UsageError


def named_model(name: str | Path) -> Path | None:
    """Returns the folder of a model that is named otherwise: a fetched one, or a GGUF file.

    None for a folder. Raises ModelError for a GGUF file that is not read.
    """
    if _is_gguf(Path(name)):
        return gguf_folder(Path(name))
    fetched = models_folder() / str(name)
    return fetched if fetched.parent == models_folder() and (fetched / CONFIG).is_file() else None


def _is_gguf(path: Path) -> bool:
    """Returns whether this is a GGUF file, by its ending or, as those of Ollama have none, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix.lower() == ".gguf" or file.read(4) == b"GGUF"


def checkpoint_folder(folder: str | Path) -> Path:
    """Returns the folder of a checkpoint, also by the names of `named_model`. Raises UsageError if it is none."""
    path = named_model(folder) or Path(folder)
    if not (path / CONFIG).is_file():
        if wrong := model_name_hint(folder):
            raise UsageError(f"{folder}: {wrong}")
        raise UsageError(
            f"{folder}: expected a folder with {CONFIG}, *.safetensors and tokenizer.json, as"
            " `cinnabar model fetch ORG/NAME` makes it"
        )
    return path
