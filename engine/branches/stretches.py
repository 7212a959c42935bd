"""A document as a model writes it inside of a JSON string, with all tokens that go on with it at each place.

The tokens of a vocabulary by their bytes: those that go on with a text, and those that close it by a quote.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable

import numpy as np

from cinnabar.engine.diffusion.forced import TokenTexts
from cinnabar.engine.lifting import Ints, Vocabulary

#: Letters of scripts that are written without blanks: a stretch may begin and end beside each of them.
_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u2e80-\ud7ff\U00020000-\U0003ffff]")

#: A token, and the place behind it.
Edge = tuple[int, int]


class Stretches:
    """The written form of a text: white space is one blank, quotes and backslashes are escaped.

    written: its bytes, and character: [B + 1] int64, the character of the text that each byte belongs to. Places are
    numbers of bytes.
    """

    def __init__(self, text: str, tokens: ValueTokens) -> None:
        self._tokens = tokens
        written = bytearray()
        character: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        previous = " "
        for at, sign in enumerate(text):
            if sign.isspace() or sign < " ":
                if written and previous != " ":
                    ends.append(len(written))
                    written += b" "
                    character.append(at)
                previous = " "
                continue
            if not _is_within_word(previous, sign):
                starts.append(len(written))
                if previous != " ":
                    ends.append(len(written))
            spelled = (f"\\{sign}" if sign in '"\\' else sign).encode("utf-8", "replace")
            written += spelled
            character += [at] * len(spelled)
            previous = sign
        if previous != " ":
            ends.append(len(written))
        self.written = bytes(written)
        self.character: Ints = np.array([*character, len(text)], np.int64)
        #: Where a stretch may begin, ascending, and where it may end.
        self.begins = starts
        self.ends = frozenset(ends)
        self._edges: dict[int, list[Edge]] = {}
        self._place: dict[int, int] | None = None

    def edges(self, place: int) -> list[Edge]:
        """Returns the tokens that go on with the text at this place."""
        found = self._edges.get(place)
        if found is None:
            text = self.written[place : place + self._tokens.longest]
            found = self._edges[place] = [
                (token, place + size)
                for size in range(1, len(text) + 1)
                if (token := self._tokens.token.get(text[:size])) is not None
            ]
        return found

    def place(self, character: int) -> int:
        """Returns the first place at or behind this character of the text."""
        return int(np.searchsorted(self.character[:-1], character))

    def end_place(self, character: int) -> int:
        """Returns the place behind the last character before this one."""
        place = int(np.searchsorted(self.character[:-1], character))
        while place and self.written[place - 1 : place] == b" ":
            place -= 1
        return place

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Returns the characters [start, end) of the text of the stretch between these places."""
        return int(self.character[begin]), int(self.character[end - 1]) + 1


def _is_within_word(before: str, after: str) -> bool:
    """Returns whether no stretch may begin or end between these characters, as within a word."""
    if not (before.isalpha() and after.isalpha()) and not (before.isdigit() and after.isdigit()):
        return False
    return not (_WITHOUT_BLANKS.match(before) or _WITHOUT_BLANKS.match(after))


#: What may stand behind the closing quote within its token.
_BEHIND = (b"", b",", b"}", b"]", b"},", b"],", b"}]", b"]}", b"}\n", b",\n", b"\n", b'",')


class ValueTokens(TokenTexts):
    """The tokens of a vocabulary that decide about values: those that close one, say null, or end a list.

    closing: by the bytes before the quote, [N] int64, the tokens that end a value there; those of b"" are the quote
    itself. The others are [N] int64: `null` and `no_items` say that there is no value and no item; `goes_on` and
    `ends_list` close an item before another one and behind the last; `comma` and `bracket` do so behind the quote.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        closing = defaultdict[bytes, list[int]](list)
        for token, text in self.texts.items():
            before, quote, behind = text.partition(b'"')
            if quote and behind in _BEHIND and not before.endswith(b"\\"):
                closing[before].append(token)
        self.closing: dict[bytes, Ints] = {before: np.array(tokens) for before, tokens in closing.items()}
        self.longest_closing = max(map(len, self.closing), default=0)
        self.null = self._of(lambda text: text.strip() in (b"null", b"null}", b"null,", b'""', b'""}', b'"",'))
        self.goes_on = self._of(lambda text: text.startswith(b'",'))
        self.ends_list = self._of(lambda text: text.startswith((b'"]', b'"}')))
        self.bracket = self._of(lambda text: text.strip().startswith(b"]"))
        self.comma = self._of(lambda text: text.strip().startswith(b","))
        self.no_items = self._of(lambda text: text.strip().startswith((b"[]", b"null")))

    def _of(self, wanted: Callable[[bytes], bool]) -> Ints:
        return np.array([token for token, text in self.texts.items() if wanted(text)], np.int64)
