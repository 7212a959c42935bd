"""Values of prose: dates, amounts, codes and addresses with the words that stand before them in several documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cinnabar.engine.readings.scan import scan
from cinnabar.extraction.drafting.page_lines import CellPage

#: The most words before a value that name it.
WORDS_BEFORE = 3
#: The most characters of a text whose mentions are looked for.
_MOST = 20_000
_BEFORE = re.compile(r"([^\W\d_]+)[ \t.,:()\[\]\"'*_/$€£#-]{1,4}$")
_MONEY_BEFORE = re.compile(r"(?:[A-Z]{3}|[$€£¥₹]|Rs\.?)\s?$")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A value in prose: its kind, its text, its character, and the words before it, the nearest last."""

    kind: str
    value: str
    start: int
    words: tuple[str, ...]


def phrases_of(page: CellPage, taken: Sequence[tuple[int, int]]) -> list[Phrase]:
    """The values of a page that lie in none of these intervals, each with its words."""
    found: list[Phrase] = []
    last = -1
    # Of mentions that begin at one character the longest is the value.
    for mention in sorted(scan(page.text[:_MOST], page.locale), key=lambda one: (one.start, -one.end)):
        if mention.start < last or any(start <= mention.start < end for start, end in taken):
            continue
        if not any(map(str.isdigit, page.text[mention.start : mention.end])):
            continue
        last = mention.end
        money = _MONEY_BEFORE.search(page.text, max(0, mention.start - 4), mention.start)
        start = money.start() if money and mention.kind == "number" else mention.start
        words = tuple(_words_before(page.text, start))
        if words:
            found.append(Phrase(mention.kind, page.text[start : mention.end], start, words))
    return found


def _words_before(text: str, at: int) -> list[str]:
    words: list[str] = []
    window = text[max(0, at - 80) : at]
    while len(words) < WORDS_BEFORE and (match := _BEFORE.search(window)):
        words.insert(0, match[1].casefold())
        window = window[: match.start()]
    return words


def common_phrases(
    pages: Sequence[Sequence[Phrase]], least: int
) -> Iterator[tuple[tuple[str, ...], list[list[Phrase]]]]:
    """Yields words that stand before a value in at least so many documents, with the values of each document.

    The longest words come first, and a value belongs to the first words that fit. Words that stand before several
    values of most documents name none.
    """
    used: set[tuple[int, int]] = set()
    for length in range(WORDS_BEFORE, 0, -1):
        groups: dict[tuple[str, ...], list[list[Phrase]]] = defaultdict(lambda: [[] for _ in pages])
        for number, page in enumerate(pages):
            for phrase in page:
                if len(phrase.words) >= length and (number, phrase.start) not in used:
                    groups[phrase.words[-length:]][number].append(phrase)
        for words, values in sorted(groups.items(), key=lambda item: (-sum(map(bool, item[1])), item[0])):
            documents = sum(map(bool, values))
            if documents >= least and sum(map(len, values)) <= 1.5 * documents:
                used |= {(number, one.start) for number, page in enumerate(values) for one in page}
                yield words, values
