"""The content of tokenizer.json made from vocab.json and merges.txt, which some folders have in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cinnabar.engine.models.language.configuration import read_settings
from cinnabar.schemas.errors import ModelError

VOCABULARY, MERGES = "vocab.json", "merges.txt"
#: How Qwen2's tokenizer cuts text before it merges, and GPT-2's, by the names of classes in tokenizer_config.json.
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CLASSES = {"Qwen2": True, "GPT2": False}


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
    bytes_of: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    cuts: dict[str, Any] = bytes_of | {"use_regex": True}
    if _CLASSES[named]:
        split = {"type": "Split", "pattern": {"Regex": _QWEN2}, "behavior": "Isolated", "invert": False}
        cuts = {"type": "Sequence", "pretokenizers": [split, bytes_of | {"use_regex": False}]}
    return {
        "version": "1.0",
        "added_tokens": _added_tokens(folder, settings.table("added_tokens_decoder")),
        "normalizer": {"type": "NFC"} if _CLASSES[named] else None,
        "pre_tokenizer": cuts,
        "post_processor": None,
        "decoder": bytes_of | {"use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": dict(read_settings(folder / VOCABULARY).values),
            "merges": _merges(folder / MERGES),
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
        },
    }


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
