"""The tokens of a vocabulary by their bytes: those that go on with a text, and those that close it by a quote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from cinnabar.engine.diffusion.forced import TokenTexts
from cinnabar.engine.lifting import Ints, Vocabulary

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

    def longest_tokens(self, text: bytes, many: int) -> list[int]:
        """Returns tokens of a text's beginning, so many at most: the longest that fits, again and again."""
        spelled = list[int]()
        at = 0
        while at < len(text) and len(spelled) < many:
            sizes = range(min(self.longest, len(text) - at), 0, -1)
            size = next((size for size in sizes if text[at : at + size] in self.token), 0)
            if not size:
                break
            spelled.append(self.token[text[at : at + size]])
            at += size
        return spelled
