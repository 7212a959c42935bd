"""Lines of text with the names of their places, appended to a document in few steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
