"""Lines of text with the names of their places, and raised text as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from cinnabar.extraction.documents.content.builder import DocumentBuilder, clean
from cinnabar.extraction.documents.content.document import PartKind
from cinnabar.extraction.documents.content.parse_context import ParseContext

# Characters that are appended at once: an append costs some 20 µs, whatever its length.
_AT_ONCE = 1 << 16


class MarkedText:
    """Lines that are about to be appended to the open part of a document."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._pieces: list[str] = []
        self._marks: list[tuple[int, str]] = []
        self._length = 0
        self._begun = self._gap = False

    @property
    def full(self) -> bool:
        """Returns True if the document takes no more text."""
        return self._builder.full

    def blank(self) -> None:
        """Puts one blank line between the last line and the next one."""
        self._gap = True

    def line(self, text: str, label: str = "", marks: Sequence[tuple[int, str]] = ()) -> None:
        """Appends a line at the place `label`, or with the places that begin at characters of it.

        The characters of `marks` are right if `text` is clean.
        """
        text = clean(text)
        if self._begun:
            self._put("\n\n" if self._gap else "\n")
        self._begun, self._gap = True, False
        if marks:
            self._marks += [(self._length + at, name) for at, name in marks]
        else:
            self._marks.append((self._length, label))
        self._put(text)
        if self._length >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Writes the lines that `line` collected, and their marks, into the document."""
        for at, name in self._marks:
            self._builder.mark(name, at)
        self._builder.write("".join(self._pieces))
        self._pieces.clear()
        self._marks.clear()
        self._length = 0

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)


@contextmanager
def part_text(
    reading: ParseContext, kind: PartKind = "body", name: str = "", media_type: str = "text/plain"
) -> Iterator[MarkedText]:
    """Gives the lines of a part; the body of a file within another belongs to the part of that file."""
    builder, own = reading.builder, reading.is_top or kind != "body"
    if own:
        # The place of the line before ends there.
        builder.mark("")
        builder.open(kind, name, media_type=media_type)
    text = MarkedText(builder)
    try:
        yield text
    finally:
        # The lines before a fault count, if it is that of a file within another.
        text.flush()
        builder.mark("")
        if own:
            builder.close()


def add_notes(reading: ParseContext, name: str, notes: Sequence[tuple[str, str]]) -> None:
    """Appends a part of notes, each with its place; nothing if there are none."""
    printed = [(label, text) for label, text in notes if text.strip()]
    if printed:
        with part_text(reading, "notes", name) as text:
            for label, note in printed:
                text.line(note, label)


_MONEY = (
    r"(?:[A-Z]{0,2}[$€£¥₹₩₽₴₺₪₫฿₱]|\b(?:EUR|USD|GBP|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|Euro|Fr\.|kr\.?"
    r"|zł|Kč|Rs\.?)(?![^\W\d_]))"
)
_WHOLE = r"(?:\d{1,3}(?:[.,'’ \xa0\u202f]\d{3})+|\d+)"
_PRICE = re.compile(rf"{_MONEY}\s?{_WHOLE}[.,]?\Z")
_NUMBER = re.compile(rf"(?<![\w.,]){_WHOLE}[.,]?\Z")
_MONEY_AFTER = re.compile(rf"\s?{_MONEY}")
# "$45" with a raised "12" before "million", "USD million" or "(in millions)" has a note.
_SCALE_AFTER = re.compile(
    rf"\s?(?:\(\s*in\s+)?(?:{_MONEY}\s?)?(?i:(?:thousand|million|billion)s?\b|(?:bn|mn|mio|mrd|tsd)\b|[km]\b)"
)
_CENTS = re.compile(r"\d\d(?!\d)")
_MARK = re.compile(r"[\d*†‡§¶#()\[\],;+\u2212– -]{1,12}")
_LETTER_MARK = re.compile(r"[(\[]?[a-z][)\]]?")
_POWER = re.compile(r"(?<!\w)(?:[^\W\d_]{1,2}|(?:[\d.,]+\s?[x×·*]\s?)?10)\Z")
_HIGH = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_JOINS = " \t\n\xa0⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_LOW = str.maketrans("0123456789+-−–", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")
# Letters that go on with the word or number before them, as in "1st", "No" and "Mme", are few.
_LONGEST_ENDING = 5
#: A raised text is read with this much of the text before it.
BEFORE = 40


def raised_text(before: str, raised: str, after: str = "", lowered: bool = False) -> str:
    """Returns what stands for a raised text behind `before` on its line: never digits that join those before it.

    Two digits behind a price without decimals are its cents (".99"). Other digits become raised digits, behind a blank
    unless they are a power ("m²", "10³"); letters that end a word stay as they are ("1st"). `after` is the text behind
    the raised one, as far as it is known; with `lowered` the text is lowered ("CO2" stays).
    """
    before, mark = before[-BEFORE:], raised.strip()
    if not mark or not before.strip():
        return raised
    at_digit, apart = before[-1].isdecimal(), "" if before[-1] in _JOINS or raised[0].isspace() else " "
    if not lowered and _CENTS.match(mark) and not _SCALE_AFTER.match(after):
        sold = _MONEY_AFTER.match(mark[2:] or after) is not None and _NUMBER.search(before) is not None
        if sold or (_PRICE.search(before) and re.match(r"[*/]|\Z", mark[2:])):
            point = "" if before[-1] in ".," else "," if "." in before.split()[-1] else "."
            return point + raised.lstrip()
    if _MARK.fullmatch(mark):
        if lowered:
            return f"{apart}{raised.translate(_LOW)}" if at_digit else raised
        if after[:1] in ("/", "⁄"):
            return f"{apart}{raised}" if at_digit else raised
        return f"{'' if _POWER.search(before) else apart}{raised.translate(_HIGH)}"
    if at_digit and _LETTER_MARK.fullmatch(mark):
        return raised if _POWER.search(before) or not re.search(r"\d\d\d\Z", before) else f"{apart}{raised}"
    if before[-1].isalnum() and (len(mark) > _LONGEST_ENDING or (mark[0].isdecimal() and at_digit)):
        return f"{apart}{raised}"
    return raised


def join_runs(runs: Iterable[tuple[str, int]]) -> str:
    """Returns the text of runs, each with its level: 0, or 1 if it is raised, or -1 if it is lowered."""
    pieces = [("".join(text for text, _ in group), level) for level, group in groupby(runs, key=lambda run: run[1])]
    out: list[str] = []
    before = ""
    for at, (text, level) in enumerate(pieces):
        after = pieces[at + 1][0] if at + 1 < len(pieces) else ""
        out.append(raised_text(before, text, after, level < 0) if level else text)
        before = (before + out[-1])[-BEFORE:]
    return "".join(out)
