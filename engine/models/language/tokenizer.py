"""The tokenizer of a checkpoint: text to tokens, the bytes that each token spells, and the tokens around a gap.

A document may spell special tokens, and `<|im_end|>` in it must not end a turn. So text is encoded by a tokenizer that
knows no added tokens at all, and special tokens come from the chat template alone (`language_model`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from cinnabar.engine.models.language.configuration import (
    CONFIG,
    GENERATION,
    MERGES,
    VOCABULARY,
    ConfigSettings,
    read_settings,
    tokenizer_content,
)
from cinnabar.engine.models.language.lifting import Vocabulary
from cinnabar.errors import ModelError

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
#: SentencePiece writes a space so.
_SPACE = "▁"
#: Normalizers that spell text in another alphabet and keep it otherwise; all others change the text.
_SPELLING = ("Replace", "ByteLevel")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token beside the vocabulary; with `lstrip` or `rstrip` it takes the white space on that side with it."""

    id: int
    text: str
    lstrip: bool
    rstrip: bool


class TokenizerFile:
    """The content of a checkpoint's tokenizer.json, or of the files in its place, and the names of its tokens.

    added: the added tokens by their text. names: the texts of `bos_token`, `eos_token`, `mask_token` and the like.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ModelError if the file is missing or broken."""
        self.path = folder / "tokenizer.json"
        if self.path.is_file():
            self.content: dict[str, Any] = dict(read_settings(self.path).values)
        elif (folder / VOCABULARY).is_file() and (folder / MERGES).is_file():
            self.path = folder / VOCABULARY
            self.content = tokenizer_content(folder)
        else:
            raise ModelError(
                f"{folder}: expected tokenizer.json, or {VOCABULARY} and {MERGES}; `cinnabar model fetch` brings them"
            )
        try:
            self.added = {
                str(one["content"]): AddedToken(
                    int(one["id"]), str(one["content"]), bool(one.get("lstrip")), bool(one.get("rstrip"))
                )
                for one in self.content.get("added_tokens") or ()
            }
            numbers = [one.id for one in self.added.values()]
            if min(numbers, default=0) < 0 or len(set(numbers)) < len(numbers):
                raise ValueError("an id is below 0 or comes twice")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"{self.path}: expected `added_tokens` with id and content ({error})") from error
        self.names = special_names(folder)

    @property
    def end(self) -> str | None:
        """The text of the token that ends a text: `eos_token`, else the first `eos_token_id` that is an added token."""
        named = self.names.get("eos_token")
        if named is not None:
            return named
        by_id = {one.id: one.text for one in self.added.values()}
        for file in (GENERATION, CONFIG):
            ids = read_settings(self.path.with_name(file)).values.get("eos_token_id")
            for one in ids if isinstance(ids, list) else [ids]:
                if one in by_id:
                    return by_id[one]
        return None

    @property
    def begin(self) -> str | None:
        """The text of the added token that the published tokenizer puts before each text, None for none."""
        processor = self.content.get("post_processor") or {}
        for one in processor.get("processors") or (processor,):
            parts: list[dict[str, Any]] = one.get("single") or []
            name = parts[0].get("SpecialToken", {}).get("id") if parts else None
            if name in self.added:
                return str(name)
        return None

    def mask(self, stated: int | None) -> int:
        """Returns the mask token, which config.json may tell.

        Raises ModelError if the tokenizer does not have it among its added tokens.
        """
        if stated is not None:
            if all(one.id != stated for one in self.added.values()):
                raise ModelError(
                    f"{self.path}: expected the token {stated}, `mask_token_id` of config.json, among the added tokens;"
                    " take the tokenizer of the same release"
                )
            return stated
        token = self.added.get(self.names.get("mask_token", ""))
        if token is None:
            raise ModelError(
                f"{self.path}: expected the mask token of a diffusion model, found none; name it by `mask_token_id` in"
                " config.json, or take the tokenizer of the same release"
            )
        return token.id


class Tokenizer:
    """Encodes text as plain text, and tells the bytes of tokens.

    vocabulary: the bytes of each of V tokens, None for special ones; its PAD is `end`. end: the token that ends a turn.
    mask: the mask token, None for a model that has none. added: the special tokens by their text. begin: the token that
    stands before each text, None for none.
    """

    def __init__(self, file: TokenizerFile, size: int, end: str | None, mask: int | None) -> None:
        """Makes a tokenizer for a model of `size` tokens; without an `end` that of the file is meant.

        Raises ModelError if file and model do not fit.
        """
        path = file.path
        try:
            spelled = _token_bytes(file)
            self._published, self._exact = _backends(file)
            begin, end = file.begin, end or file.end
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ModelError(
                f"{path}: cannot be read as a tokenizer: {type(error).__name__}: {error}; fetch the file again"
            ) from error
        largest = max([*spelled, *(one.id for one in file.added.values())], default=-1)
        if largest >= size:
            raise ModelError(f"{path}: has the token {largest}, and the model of this folder has {size} tokens only")
        if end is None or end not in file.added:
            raise ModelError(
                f"{path}: expected a token that ends a turn among the added tokens, found"
                f" {'no `eos_token` in tokenizer_config.json' if end is None else repr(end)}"
            )
        self.size, self.added, self.end, self.mask = size, file.added, file.added[end].id, mask
        self.begin = None if begin is None else file.added[begin].id
        if mask == self.end:
            raise ModelError(
                f"{path}: expected a mask token besides the token {end!r} that ends a turn, config.json names the same;"
                " take the files of one release"
            )
        self._texts: list[bytes | None] = [spelled.get(token) for token in range(size)]
        self.vocabulary = Vocabulary(self._texts, self.end)
        self._alone = {text[0]: token for token, text in spelled.items() if len(text) == 1}

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text; `decode` of them is the text again.

        Half of a surrogate pair becomes a question mark.
        """
        text = _whole(text)
        tokens = self._encode(self._exact, text)
        if self.decode(tokens) != text.encode():
            # No model of words spells this text, such as one with the sign that stands for a space.
            tokens = [token for byte in text.encode() if (token := self._alone.get(byte)) is not None]
        return tokens

    def encode_run(self, text: str) -> list[int]:
        """Returns the tokens of a stretch of a prompt, as the checkpoint's own tokenizer normalises and cuts it."""
        return self._encode(self._published, _whole(text))

    def decode(self, tokens: Sequence[int]) -> bytes:
        """Returns the bytes of tokens; special tokens have none."""
        return b"".join(self._texts[token] or b"" for token in tokens)

    def _encode(self, backend: tokenizers.Tokenizer, text: str) -> list[int]:
        first, *others = [text] if self._reachable is None else self._reachable.split(text)
        tokens = list(backend.encode(first, add_special_tokens=False).ids)
        for part in others:
            # The published tokenizer would put a space before the part.
            tokens += self._exact.encode(part, add_special_tokens=False).ids
        return tokens

    @cached_property
    def _reachable(self) -> re.Pattern[str] | None:
        """Matches behind the first character of a special token that text could reach, as the vocabulary spells it."""
        names = [text for text in self.added if self._exact.token_to_id(text) is not None and len(text) > 1]
        if not names:
            return None
        return re.compile("|".join(f"(?<={re.escape(name[0])})(?={re.escape(name[1:])})" for name in names))


def special_names(folder: Path) -> dict[str, str]:
    """Returns the texts of `bos_token`, `eos_token`, `mask_token` and the like, from two files of the folder."""
    names: dict[str, str] = {}
    for settings in (read_settings(folder / "special_tokens_map.json"), tokenizer_settings(folder)):
        for key in settings.values:
            if key.endswith("_token") and isinstance(settings.values[key], str | dict):
                text = settings.text(key)
                names |= {key: text} if text else {}
    return names


def tokenizer_settings(folder: Path) -> ConfigSettings:
    """Returns the settings in tokenizer_config.json of a checkpoint."""
    return read_settings(folder / "tokenizer_config.json")


def _backends(file: TokenizerFile) -> tuple[tokenizers.Tokenizer, tokenizers.Tokenizer]:
    """Returns two tokenizers without added tokens: the published one, and an exact one.

    The exact one changes no text and adds no space at its beginning.
    """
    bare: dict[str, Any] = {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    changed = {
        "normalizer": _kept(file.content.get("normalizer")),
        "pre_tokenizer": _without_prefix(file.content.get("pre_tokenizer")),
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    try:
        published = tokenizers.Tokenizer.from_str(json.dumps(file.content | bare))
        shell = tokenizers.Tokenizer.from_str(json.dumps(file.content | bare | changed))
    except Exception as error:  # the library raises nothing more special
        raise ModelError(f"{file.path}: cannot be read as a tokenizer: {error}; fetch the file again") from error
    # Both share one model, which takes most of the time to read.
    exact = tokenizers.Tokenizer(published.model)
    if shell.normalizer is not None:
        exact.normalizer = shell.normalizer
    if shell.pre_tokenizer is not None:
        exact.pre_tokenizer = shell.pre_tokenizer
    return published, exact


def _kept(normalizer: dict[str, Any] | None) -> dict[str, Any] | None:
    if normalizer is None:
        return None
    if normalizer.get("type") == "Sequence":
        parts = [part for part in normalizer.get("normalizers", ()) if part.get("type") in _SPELLING]
        return {"type": "Sequence", "normalizers": parts} if parts else None
    return normalizer if normalizer.get("type") in _SPELLING else None


def _without_prefix(pre: dict[str, Any] | None) -> dict[str, Any] | None:
    if pre is None:
        return None
    if pre.get("type") == "Sequence":
        return pre | {"pretokenizers": [_without_prefix(part) for part in pre.get("pretokenizers", ())]}
    own = {"add_prefix_space": False} if "add_prefix_space" in pre else {}
    return pre | own | ({"prepend_scheme": "never"} if "prepend_scheme" in pre else {})


def _token_bytes(file: TokenizerFile) -> dict[int, bytes]:
    """Returns the bytes of each token that spells some."""
    content = file.content
    model = content.get("model") or {}
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, list):
        texts = {place: str(entry[0]) for place, entry in enumerate(vocabulary)}
    elif isinstance(vocabulary, dict):
        texts = {int(token): text for text, token in vocabulary.items()}
    else:
        raise ModelError(f"{file.path}: expected a vocabulary in `model`, found none")
    special = {one.id for one in file.added.values()}
    kinds = _kinds(content.get("decoder")) | _kinds(content.get("pre_tokenizer"))
    spelled: dict[int, bytes] = {}
    if "ByteLevel" in kinds:
        # Each sign becomes the character of its byte's number, so that Latin-1 gives the bytes; others it cannot write.
        table = dict.fromkeys(range(256), 0xFFFF) | {ord(sign): byte for byte, sign in enumerate(_signs())}
        for token, text in texts.items():
            try:
                spelled[token] = text.translate(table).encode("latin-1")
            except UnicodeEncodeError:
                continue
        return {token: text for token, text in spelled.items() if text and token not in special}
    if "ByteFallback" in kinds or model.get("byte_fallback"):
        for token, text in texts.items():
            byte = _BYTE_TOKEN.fullmatch(text)
            if token not in special and text:
                spelled[token] = bytes([int(byte[1], 16)]) if byte else text.replace(_SPACE, " ").encode()
        return spelled
    raise ModelError(f"{file.path}: expected a tokenizer over bytes (ByteLevel, or SentencePiece with byte fallback)")


def _kinds(part: dict[str, Any] | None) -> set[str]:
    """Returns the types of a decoder or pre-tokenizer and of its parts."""
    if not part:
        return set()
    parts = part.get("decoders") or part.get("pretokenizers") or ()
    return {str(part.get("type"))}.union(*(_kinds(one) for one in parts))


def _signs() -> list[str]:
    """Returns the sign by which byte-level vocabularies write each byte: itself if it is visible, else one past 255."""
    visible = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)}
    others = iter(range(256, 512))
    return [chr(byte if byte in visible else next(others)) for byte in range(256)]


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


#: What stands before the beginning of the text, before its end, and before the middle, as several families write it.
TRIPLES = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    ("▁<PRE>", "▁<SUF>", "▁<MID>"),
    ("<PRE>", "<SUF>", "<MID>"),
)
#: Special tokens behind a middle: of the end of a text or of a file, of the next file, or that fill up an example.
ENDS = (
    "<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "<eos>", "</s>", "▁<EOT>", "<EOT>",
    "<|fim_pad|>", "<fim_pad>", "<fim-pad>",
    "<|file_sep|>", "<file_sep>", "<|file_separator|>", "<|repo_name|>", "<repo_name>", "<reponame>", "<filename>",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MiddleMarks:
    """The tokens before the beginning of a text, before its end and before the middle; `ends` stand behind a middle."""

    before: int
    behind: int
    middle: int
    ends: tuple[int, ...]

    def prompt(self, tokenizer: Tokenizer, before: str, behind: str) -> list[int]:
        """Returns the prompt behind which the middle of these two texts stands, which are encoded as plain text."""
        first = [] if tokenizer.begin is None else [tokenizer.begin]
        parted = [self.before, *tokenizer.encode(before), self.behind, *tokenizer.encode(behind), self.middle]
        return first + parted


def middle_marks(tokenizer: Tokenizer) -> MiddleMarks | None:
    """Returns the marks of the first triple that a vocabulary has among its special tokens, None if it has none."""
    triple = next((one for one in TRIPLES if all(text in tokenizer.added for text in one)), None)
    if triple is None:
        return None
    before, behind, middle = (tokenizer.added[text].id for text in triple)
    ends = tuple(tokenizer.added[text].id for text in (*triple, *ENDS) if text in tokenizer.added)
    return MiddleMarks(before, behind, middle, ends)
