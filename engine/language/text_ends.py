"""Long texts end where the paragraph ends that they copy, or where they repeat themselves: small models go on for ever.

Of a mail "the sentence that tells place and time" was the rest of the mail, of another one twelve times the same lines.
"""

from __future__ import annotations

import re

from cinnabar.schemas.automata.strings import canonical_string

#: The tokens of a text that is long, those in which it is seen to repeat them, and the bytes of a paragraph's end that
#: tell where a copy of it is.
LONG, REPEATED, _TAIL = 64, 512, 40
_SPACES, _QUOTE = re.compile(rb"(?:\s|\\[nrt])+"), re.compile(rb'(?<!\\)(?:\\\\)*"')
_ESCAPED = re.compile(rb"\\.", re.DOTALL)


def paragraph_ends(text: str) -> frozenset[bytes]:
    """Returns the ends of a document's paragraphs, as they stand in a record."""
    sound = text.encode("utf-8", "replace").decode()
    ends = (_end(canonical_string(part)[1:-1]) for part in re.split(r"\n\s*\n", sound))
    return frozenset(end for end in ends if len(end) == _TAIL)


def is_over(text: bytes, size: int, ends: frozenset[bytes]) -> bool:
    """Returns whether the last bytes of a text, `LONG` tokens, lie within one value, and stood there before or end as a
    paragraph does.

    text: at most `REPEATED` tokens; size: of these bytes; ends: of paragraphs.
    """
    last, before = text[len(text) - size :], text.find(text[len(text) - size :])
    if _QUOTE.search(last):
        return False
    return _end(last) in ends or (before < len(text) - size and not _QUOTE.search(text[before:]))


def is_within_string(text: bytes) -> bool:
    """Returns whether the begin of a record ends within a string, where a quotation mark closes it."""
    plain = _ESCAPED.sub(b"", text)
    return plain.count(b'"') % 2 == 1 and not plain.endswith(b"\\")


def _end(text: bytes) -> bytes:
    return _SPACES.sub(b" ", text).strip()[-_TAIL:]
