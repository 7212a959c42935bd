"""The parameters of a header such as Content-Disposition (RFC 2045, 5.1, and RFC 2231), leniently, in linear time."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from cinnabar.extraction.documents.plain.charsets import decode, known_charset

# Characters of a header that are read, and sections of one parameter.
_MAX_HEADER, _MAX_SECTIONS = 16_384, 100
# A value in quotes, whose end may be missing, or one without; some writers leave blanks within the latter.
_PARAMETER = re.compile(
    r';\s*([^\s=;"*]{1,64})(\*\d{1,3})?(\*)?\s*=\s*(?:"((?:[^"\\]|\\.)*)(?:"|\Z)|([^;"]*))', re.DOTALL
)
_PAIR = re.compile(r'\\(["\\])')


def parameters(raw: str) -> dict[str, str]:
    """Returns the values by their lower-case names, without encoded words undone.

    The extended form of a value wins over the plain one, and the first of equals over later ones. `raw` may hold bytes
    as surrogates.
    """
    sections: dict[str, dict[int, tuple[str, bool]]] = {}
    plain: dict[str, str] = {}
    for match in _PARAMETER.finditer(raw[:_MAX_HEADER]):
        name = match[1].lower()
        value = _PAIR.sub(r"\1", match[4]) if match[4] is not None else match[5].strip()
        if match[2] or match[3]:
            number = int(match[2][1:]) if match[2] else 0
            if number < _MAX_SECTIONS:
                sections.setdefault(name, {}).setdefault(number, (value, match[3] is not None))
        else:
            plain.setdefault(name, value)
    return plain | {name: _join_sections(pieces) for name, pieces in sections.items()}


def _join_sections(sections: dict[int, tuple[str, bool]]) -> str:
    """Returns a value that comes in sections; the first one may name a charset."""
    charset, pieces = None, []
    for number in sorted(sections):
        value, extended = sections[number]
        if number == min(sections) and extended and value.count("'") >= 2:
            charset, _, value = value.split("'", 2)
        content = value.encode("utf-8", "surrogateescape")
        pieces.append(unquote_to_bytes(content) if extended else content)
    return decode(b"".join(pieces), known_charset(charset), named=bool(charset))[0]
