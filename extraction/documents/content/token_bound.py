"""The bound on a document's tokens, as far as it can be told before a model counts them."""

from __future__ import annotations

from cinnabar.extraction.documents.content.document import Document
from cinnabar.schemas.errors import DocumentError

#: Text with more characters to a token than this is no text that a model could read.
CHARACTERS_PER_TOKEN = 32


def check_length(document: Document, most: int) -> None:
    """Raises DocumentError: too_long, if the words or the characters alone exceed `most` tokens.

    A word is at least one token.
    """
    if len(document.words) > most:
        raise too_long(f"{len(document.words)} words", most)
    if len(document.text) > CHARACTERS_PER_TOKEN * most:
        raise too_long(f"{len(document.text)} characters", most)


def too_long(size: str, most: int) -> DocumentError:
    """Returns the error of a document in which so much was found."""
    advice = "cut the file, or allow more with --max-tokens and --retry-quarantined"
    return DocumentError("too_long", f"{size}, the limit is {most} tokens; {advice}")
