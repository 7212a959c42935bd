"""What a test asks of a parsed file: the texts of its parts, or the code that it is refused with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document


def parts(document: Document, kind: str) -> list[str]:
    """Returns the texts of the parts of this kind."""
    return [document.text[part.start : part.end] for part in document.parts if part.kind == kind]


def code_of(work: Callable[..., object], *given: object) -> str:
    """Returns the code of the error that this work raises when it is given these."""
    with pytest.raises(DocumentError) as caught:
        work(*given)
    return caught.value.code


def words_of(document: Document) -> list[str]:
    """Returns the words of a document by their bounds."""
    bounds = zip(document.words.start.tolist(), document.words.end.tolist(), strict=True)
    return [document.text[a:b] for a, b in bounds]
