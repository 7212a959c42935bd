"""The tokens of a vocabulary by their bytes: those that go on with a text, and those that close it by a quote."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from cinnabar.engine.lifting import Ints, Vocabulary

#: What may stand behind the closing quote within its token.
_BEHIND = (b"", b",", b"}", b"]", b"},", b"],", b"}]", b"]}", b"}\n", b",\n", b"\n", b'",')


class TokenTexts:
    """The bytes of each token, the token of each text, and tokens with a closing quote.

    closing: by the bytes before the quote, [N] int64, the tokens that end a value there; those of b"" are the quote
    itself. null, opening, empty: [N] int64, tokens that say that there is no value, that open one, and that end a list.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.texts: dict[int, bytes] = {
            int(token): vocabulary.bytes[row, :length].tobytes()
            for row, (token, length) in enumerate(zip(vocabulary.tokens, vocabulary.lengths, strict=True))
        }
        #: Of tokens with equal bytes the first one.
        self.token = {text: token for token, text in reversed(self.texts.items())}
        self.longest = vocabulary.longest
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

    def _of(self, wanted: object) -> Ints:
        assert callable(wanted)
        return np.array([token for token, text in self.texts.items() if wanted(text)], np.int64)
