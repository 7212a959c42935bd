"""The text of a hole has gone on too far where it meets the text behind the hole, or leaves its line or its block.

A model may not end a middle where it should, above all one that was trained to chat.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes other than blanks, at least, of the lines by which the text behind a hole is known, and the most bytes of them.
LEAST, MOST = 20, 400
_BLANKS = b" \t"


@dataclass(frozen=True, slots=True)
class Meeting:
    """The beginning of the text behind a hole, as it would stand in the text of the hole.

    lines: what is looked for, from its first letter on; b"" if that could stand in the hole by right, as a bracket
    could. ends, indent: the blanks before it, parted behind the last line end. lead: the blanks before the hole in its
    line; within: the hole begins behind other text of a line. next: the blanks of the next whole line, None if there
    is none. open: the brackets that are open before the hole in its line, None if it does not end within a line.
    """

    lines: bytes = b""
    ends: bytes = b""
    indent: bytes = b""
    lead: bytes = b""
    within: bool = True
    next: bytes | None = None
    open: int | None = None

    def cut(self, text: bytes) -> int:
        """Returns how many bytes of a hole's text stand before the text behind it, and within its line or its block."""
        return min(self._met(text), self._left(text), self._line_end(text))

    def _met(self, text: bytes) -> int:
        at = text.find(self.lines) if self.lines else -1
        while at >= 0:
            line = text[:at].rstrip(_BLANKS)
            own = text[len(line) : at]
            if self.within and not self.ends:
                return at - _count_shared(text[:at], self.indent)
            # The blanks before the hole belong to the line that the text behind begins with, if it begins with none.
            if line.endswith(b"\n") and own == (b"" if self.ends else self.lead) + self.indent:
                return len(line) - _count_shared(line, self.ends) if self.ends else at - len(self.indent)
            if not self.within and not line and own == self.indent:
                return 0
            at = text.find(self.lines, at + 1)
        return len(text)

    def _left(self, text: bytes) -> int:
        """Returns how many bytes stand before the first line outside of the block that the hole and `next` share.

        A hole in an indented line never goes on without any indent.
        """
        if self.next is None:
            return len(text)
        first = self.lead or _indent(text.lstrip(b"\r\n"))
        block = _common(first, self.next) or self.lead[:1]
        at = text.find(b"\n") + 1 if block else 0
        while at:
            line = text[at:].partition(b"\n")[0]
            if line.strip() and not line.startswith(block):
                kept = text[:at].rstrip()
                # A hole of whole lines keeps the end of its last one.
                return len(kept) + (not self.within and not self.ends and len(kept) > 0)
            at = text.find(b"\n", at) + 1
        return len(text)

    def _line_end(self, text: bytes) -> int:
        """Returns where the line of a hole within it ends; brackets that are open go on behind the end of a line."""
        at, depth = 0, self.open
        while depth is not None and (end := text.find(b"\n", at)) >= 0:
            depth += _brackets(text[at:end])
            if depth <= 0:
                return end
            at = end + 1
        return len(text)

    def held(self, text: bytes) -> int:
        """Returns how many bytes at the end of a hole's text may be cut off when more of it is known."""
        blanks = self.ends + self.indent
        whole = blanks + self.lines
        sizes = range(min(len(text), len(whole)) if self.lines else 0, 0, -1)
        met = next((size for size in sizes if whole.find(text[-size:], 0, len(blanks) + size) >= 0), 0)
        return max(met, 0 if self.next is None else len(text) - len(text.rstrip()))


#: Of a hole whose text may go on.
NOWHERE = Meeting()


def meeting_of(before: str, behind: str) -> Meeting:
    """Returns what is looked for in the text of the hole between two texts.

    Behind a hole within a line that is the rest of the line, with its end; behind any other one whole lines.
    """
    whole = behind.encode("utf-8", "replace")
    begun = whole.lstrip()
    blanks = whole[: len(whole) - len(begun)]
    ends = blanks[: blanks.rfind(b"\n") + 1]
    indent = blanks[len(ends) :]
    last = before.encode("utf-8", "replace").rpartition(b"\n")[2]
    within = bool(last.strip())
    rest, end, others = begun.partition(b"\n")
    if ends:
        behind_it = indent
    else:
        behind_it = _indent(others.lstrip(b"\r\n")) if within else last + indent
    parted = bool(begun) and within and not ends
    lines = rest + end if end and parted else _known(begun)
    return Meeting(
        lines, ends, indent, _indent(last), within, behind_it if begun else None, _brackets(last) if parted else None
    )


def _known(text: bytes) -> bytes:
    """Returns so many first lines of a text that it can be known by them, b"" if it has too few."""
    lines = b""
    for line in text.splitlines(keepends=True):
        lines += line
        if len(b"".join(lines.split())) >= LEAST:
            return lines[:MOST]
    return b""


def _brackets(text: bytes) -> int:
    """Returns how many more brackets a text opens than it closes."""
    return sum(map(text.count, (b"(", b"[", b"{"))) - sum(map(text.count, (b")", b"]", b"}")))


def _common(one: bytes, other: bytes) -> bytes:
    """Returns the beginning that two texts share."""
    size = min(len(one), len(other))
    while one[:size] != other[:size]:
        size -= 1
    return one[:size]


def _count_shared(text: bytes, blanks: bytes) -> int:
    """Returns how many of these blanks, the last ones, a text ends with."""
    return next(size for size in range(len(blanks), -1, -1) if text.endswith(blanks[len(blanks) - size :]))


def _indent(text: bytes) -> bytes:
    return text[: len(text) - len(text.lstrip(_BLANKS))]
