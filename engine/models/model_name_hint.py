"""Names what somebody gave in place of a model's folder, with the way to a model that can be used."""

from __future__ import annotations

import re
from pathlib import Path

from cinnabar.engine.models.releases import RELEASED

_HUB = re.compile(r"(?:(?:https?://)?(?:www\.)?(?:huggingface|hf)\.co/)?(?P<name>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)/?")
_OLLAMA = re.compile(r"(?:[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*:[\w.-]+", re.IGNORECASE)
_SERVED = re.compile(r"(?:gpt|chatgpt|o[1-9]|claude|gemini|mistral|command)-[\w.-]+", re.IGNORECASE)
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".h5", ".npz")


def _server(name: str) -> str:
    return (
        f"a server with OpenAI's interface, such as Ollama's, is asked with --model openai:{name} --base-url"
        " http://localhost:11434/v1 (and any text in OPENAI_API_KEY)"
    )


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
            "this is a LoRA folder (adapter_config.json): changes to another model and no model; merge it into that"
            f" one first (`cinnabar model merge {path} --base MODEL --out FOLDER`), and name the folder that it writes"
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
        return f"this is a name of Ollama; {_server(name)}"
    if _SERVED.fullmatch(name):
        return f"this is a model behind a server: --model openai:{name}, with --base-url if it is not OpenAI's"
    return None
