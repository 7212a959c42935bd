"""Long texts end where the paragraph ends that they copy: a small model goes on to the end of the document, and beyond.

A record of a failed page: "the sentence that tells place and time" was the rest of the mail, then the mail once more.
"""

from __future__ import annotations

import re

from cinnabar.schemas.automata.strings import canonical_string

#: The tokens of a text that is long, and the bytes of a paragraph's end that tell where a copy of it is.
LONG, _TAIL = 64, 40
_SPACES, _QUOTE = re.compile(rb"(?:\s|\\[nrt])+"), re.compile(rb'(?<!\\)"')


def paragraph_ends(text: str) -> frozenset[bytes]:
    """Returns the ends of a document's paragraphs, as they stand in a record."""
    sound = text.encode("utf-8", "replace").decode()
    ends = (_end(canonical_string(part)[1:-1]) for part in re.split(r"\n\s*\n", sound))
    return frozenset(end for end in ends if len(end) == _TAIL)


def ends_copy(written: bytes, ends: frozenset[bytes]) -> bool:
    """Returns whether what was written last, `LONG` tokens, lies within one text, and ends as a paragraph does."""
    return _end(written) in ends and _QUOTE.search(written) is None


def _end(text: bytes) -> bytes:
    return _SPACES.sub(b" ", text).strip()[-_TAIL:]
