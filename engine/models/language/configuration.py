"""Reads the JSON files of a checkpoint's folder, with errors that name the file and the key; needs no torch.

Where a folder has no tokenizer.json, its content is made from vocab.json and merges.txt.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from cinnabar.engine.settings import Precision, precision_asked
from cinnabar.errors import ModelError

#: The file that makes a folder a checkpoint.
CONFIG = "config.json"
#: The file in which a release keeps how its authors run it.
GENERATION = "generation_config.json"
#: The file in which `cinnabar model fetch` keeps the name of the release.
ORIGIN = "origin.json"
#: Its key for the precision that a model was made for, one of our own.
PRECISION = "precision"
#: No model has more tokens, a longer window or wider layers: tables of such lengths are made before weights are read.
_MOST = 1 << 24
#: The most bytes of a JSON file; tokenizers of 262,144 tokens have 33 MB.
_LARGEST = 256 << 20


class ConfigSettings:
    """The JSON object of one file; every method raises ModelError if the key's value is not of the kind asked for."""

    def __init__(self, values: Mapping[str, Any], path: Path) -> None:
        self.values, self.path = values, path

    @property
    def release_names(self) -> list[str]:
        """The names by which a release may be known: of the hub it was fetched from, of its folder, of its maker."""
        folder = self.path.resolve().parent
        named = [read_settings(folder / ORIGIN).values.get("name"), folder.name, self.values.get("_name_or_path")]
        return [name for name in named if isinstance(name, str) and name]

    def whole(self, *keys: str, default: int | None = None) -> int:
        """Returns the positive whole number of the first of these keys that is there, else the default."""
        for key in keys:
            value = self.values.get(key)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
                    raise self._unlike(key, f"a whole number from 1 to {_MOST:,}", value)
                return value
        if default is None:
            raise ModelError(f"{self.path}: expected `{keys[0]}`, a whole number above 0; the key is missing")
        return default

    def number(self, *keys: str, default: float) -> float:
        """Returns the positive number of the first of these keys that is there, else the default."""
        for key in keys:
            value = self.values.get(key)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                    raise self._unlike(key, "a number above 0", value)
                return float(value)
        return default

    def flag(self, key: str, default: bool = False) -> bool:
        """Returns the truth value of this key, the default if it is missing."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._unlike(key, "true or false", value)
        return value

    def token(self, key: str) -> int | None:
        """Returns the id of a token, None if the key is missing."""
        value = self.values.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise self._unlike(key, "the id of a token", value)
        return value

    def text(self, key: str) -> str | None:
        """Returns the text of this key, None if it is missing; a token may be an object with its text in `content`."""
        value = self.values.get(key)
        if isinstance(value, dict):
            value = value.get("content")
        if value is not None and not isinstance(value, str):
            raise self._unlike(key, "a text", value)
        return value

    def table(self, key: str) -> dict[str, Any]:
        """Returns the object of this key, an empty one if it is missing."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self._unlike(key, "an object", value)
        return value or {}

    def demand(self, key: str, *allowed: Any, default: Any) -> None:
        """Raises ModelError if the value of this key is none of those that the decoder can compute."""
        value = self.values.get(key, default)
        if value not in allowed:
            expected = " or ".join(json.dumps(one) for one in allowed)
            raise ModelError(
                f"{self.path}: `{key}` is {json.dumps(value)[:80]}, which this version cannot run; expected {expected}"
            )

    def _unlike(self, key: str, expected: str, value: Any) -> ModelError:
        return ModelError(f"{self.path}: expected `{key}` to be {expected}, found {json.dumps(value)[:80]}")


def read_settings(path: Path) -> ConfigSettings:
    """Returns the JSON object of a file, an empty one if there is no such file. Raises ModelError for anything else."""
    if not path.is_file():
        return ConfigSettings({}, path)
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"more than {_LARGEST:,} bytes")
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: expected JSON, and it cannot be read: {error}; fetch the file again") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path}: expected a JSON object, found {type(values).__name__}; fetch the file again")
    return ConfigSettings(values, path)


def is_checkpoint(folder: str | Path) -> bool:
    """Returns whether a folder holds a language model in Hugging Face form, and no reader of our own."""
    return (Path(folder) / CONFIG).is_file() and not (Path(folder) / "model.json").is_file()


def models_folder() -> Path:
    """Returns where fetched models lie: `$CINNABAR_MODELS`, or `cinnabar/models` in the user's data folder."""
    if named := os.environ.get("CINNABAR_MODELS"):
        return Path(named)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "cinnabar" / "models"


def language_precision(folder: str | Path) -> Precision:
    """Returns the precision of a language model: the environment's, else the one that its config.json states."""
    asked = precision_asked()
    # `int8` is what the reader has, so that it says nothing of a language model.
    return stated_precision(folder) if asked in (None, "int8") else asked


def stated_precision(folder: str | Path) -> Precision:
    """Returns the precision for which a checkpoint was made, float32 if its config.json states none.

    Raises ModelError for an unknown one.
    """
    settings = read_settings(Path(folder) / CONFIG)
    settings.demand(PRECISION, *get_args(Precision), default="float32")
    return cast(Precision, settings.values.get(PRECISION, "float32"))


VOCABULARY, MERGES = "vocab.json", "merges.txt"
_QUOTES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
#: Where each kind of tokenizer parts a text before its bytes are merged: the patterns, one after the other.
SPLITS = {
    "qwen2": (_QUOTES + r"\p{N}" + _REST,),
    "llama-bpe": (_QUOTES + r"\p{N}{1,3}" + _REST,),
    "gpt-2": (_GPT_2,),
    "smollm": (r"\p{N}", _GPT_2),
}
#: The kinds before which a text is normalised, and kinds by the names of classes in tokenizer_config.json.
_NORMALISED = ("qwen2",)
_CLASSES = {"Qwen2": "qwen2", "GPT2": "gpt-2"}


def bpe_content(
    kind: str, vocabulary: Mapping[str, Any], merges: list[list[str]], added: list[dict[str, Any]]
) -> dict[str, Any]:
    """Returns what tokenizer.json holds for a tokenizer that merges bytes, of one of the kinds of `SPLITS`."""
    by_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    splits = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in SPLITS[kind]
    ]
    return {
        "version": "1.0", "added_tokens": added, "decoder": by_bytes, "post_processor": by_bytes,
        "normalizer": {"type": "NFC"} if kind in _NORMALISED else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*splits, by_bytes]},
        "model": {"type": "BPE", "vocab": dict(vocabulary), "merges": merges},
    }  # fmt: skip


def tokenizer_content(folder: Path) -> dict[str, Any]:
    """Returns what tokenizer.json would hold. Raises ModelError for a class of tokenizer that is not known."""
    settings = read_settings(folder / "tokenizer_config.json")
    named = (settings.text("tokenizer_class") or "").removesuffix("Fast").removesuffix("Tokenizer")
    if named not in _CLASSES:
        raise ModelError(
            f"{settings.path}: expected tokenizer.json, or {VOCABULARY} and {MERGES} of the tokenizer_class"
            f" {' or '.join(f'{one}Tokenizer' for one in _CLASSES)}, found {settings.values.get('tokenizer_class')!r};"
            " save the tokenizer with `transformers` to get tokenizer.json"
        )
    added = _added_tokens(folder, settings.table("added_tokens_decoder"))
    return bpe_content(_CLASSES[named], read_settings(folder / VOCABULARY).values, _merges(folder / MERGES), added)


def _added_tokens(folder: Path, stated: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the added tokens: of tokenizer_config.json, else of added_tokens.json."""
    if not stated:
        named = read_settings(folder / "added_tokens.json").values
        stated = {str(number): {"content": text} for text, number in named.items()}
    plain = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}
    try:
        return [plain | dict(one) | {"id": int(number)} for number, one in stated.items()]
    except (TypeError, ValueError) as error:
        raise ModelError(f"{folder}: expected added tokens with a number and an object each: {error}") from error


def _merges(path: Path) -> list[list[str]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: cannot be read: {error}; fetch the file again") from error
    pairs = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    wrong = next((at for at, pair in enumerate(pairs, 1) if len(pair) != 2), None)
    if wrong is not None:
        raise ModelError(f"{path}: expected two pieces in each line, found {json.dumps(pairs[wrong - 1])[:80]}")
    return pairs
