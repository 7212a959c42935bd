"""The special tokens by which code models fill in the middle of a text, found in the vocabulary by their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from cinnabar.engine.models.language.tokenizer import AddedToken

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


class Marked(Protocol):
    """What is needed of a tokenizer."""

    @property
    def added(self) -> Mapping[str, AddedToken]: ...

    @property
    def begin(self) -> int | None: ...

    def encode(self, text: str) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class MiddleMarks:
    """The tokens before the beginning of a text, before its end and before the middle; `ends` stand behind a middle."""

    before: int
    behind: int
    middle: int
    ends: tuple[int, ...]

    def prompt(self, tokenizer: Marked, before: str, behind: str) -> list[int]:
        """Returns the prompt behind which the middle of these two texts stands, which are encoded as plain text."""
        first = [] if tokenizer.begin is None else [tokenizer.begin]
        parted = [self.before, *tokenizer.encode(before), self.behind, *tokenizer.encode(behind), self.middle]
        return first + parted


def middle_marks(tokenizer: Marked) -> MiddleMarks | None:
    """Returns the marks of the first triple that a vocabulary has among its special tokens, None if it has none."""
    triple = next((one for one in TRIPLES if all(text in tokenizer.added for text in one)), None)
    if triple is None:
        return None
    before, behind, middle = (tokenizer.added[text].id for text in triple)
    ends = tuple(tokenizer.added[text].id for text in (*triple, *ENDS) if text in tokenizer.added)
    return MiddleMarks(before, behind, middle, ends)
