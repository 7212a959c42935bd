"""JSON strings as languages: any string, bounded length in code points, and the canonical text of one."""

from __future__ import annotations

import json
from functools import lru_cache

from cinnabar.schemas.automaton import Automaton, concat, literal
from cinnabar.schemas.spelling import lift


def canonical_string(text: str) -> bytes:
    """The one canonical JSON text of this string, with quotes.

    Raises ValueError for a lone surrogate, which UTF-8 cannot spell.
    """
    return json.dumps(text, ensure_ascii=False).encode("utf-8")


def content_of(text: str) -> bytes:
    """The canonical text of this string without its quotes."""
    return canonical_string(text)[1:-1]


@lru_cache(maxsize=256)
def bounded_length(min_length: int, max_length: int | None) -> Automaton:
    """The content of all strings with this many code points, both ends included; None is no bound.

    Raises TooLarge past some 1,400 code points, as each takes 14 states.
    """
    if max_length is not None and max_length < min_length:
        return lift([[-1]], (0,), (0,), [False])
    last = min_length if max_length is None else max_length
    table = [[n + 1] for n in range(last)] + [[last if max_length is None else -1]]
    return lift(table, (0,), (0,), [n >= min_length for n in range(last + 1)])


@lru_cache(maxsize=512)
def string(content: Automaton) -> Automaton:
    """This content between quotes."""
    return concat(_QUOTE, content, _QUOTE)


@lru_cache(maxsize=1)
def any_string() -> Automaton:
    """The canonical JSON text of any string, with quotes."""
    return string(bounded_length(0, None))


_QUOTE = literal(b'"')
