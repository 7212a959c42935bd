"""Reads the addresses of a mail's header (RFC 5322, 3.4, with the obsolete forms), in linear time for any value.

The standard library's own reader takes quadratic time on hostile values, and its older one gives up a whole header for
one odd address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cinnabar.extraction.documents.mail.mime import decode_header

# Bytes of a header's value that are read; some mails have thousands of recipients.
_MAX_VALUE = 1 << 18
_ENCODED = re.compile(r"=\?[^?\s]{1,80}\?[bqBQ]\?[^?]{0,1000}\?=")
_ATOM = re.compile(r'[^\s"(),:;<>\[\]]+')
_BLANKS = re.compile(r"\s+")
_PAIR = re.compile(r"\\(.)", re.DOTALL)
# The route of an obsolete address: "@a.example,@b.example:".
_ROUTE = re.compile(r"^\s*@[^:]*:")


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a header; `name` and `address` are empty if the mail gives none, as in `MAILER-DAEMON <>`."""

    name: str
    address: str


def addresses(raw: str) -> list[Address]:
    """Returns the addresses in a header's raw value, in order; members of groups count, names of groups do not.

    A text without "@" counts in angle brackets, or if it is one word. `raw` may hold bytes as surrogates.
    """
    raw = raw[:_MAX_VALUE]
    parsed = _Reader(raw).read()
    if not parsed and "=?" in raw and "@" not in raw:
        # Some programs encode the whole header.
        decoded = decode_header(raw)[0]
        parsed = _Reader(decoded).read() if "@" in decoded else []
    return parsed


class _Reader:
    def __init__(self, raw: str) -> None:
        self._raw, self._at = raw, 0
        # Marks without an end; a second search for one would take quadratic time.
        self._unclosed: set[str] = set()
        self._found: list[Address] = []
        self._begin()

    def _begin(self) -> None:
        self._phrase: list[str] = []
        self._comment = ""
        self._angle: str | None = None

    def read(self) -> list[Address]:
        while self._at < len(self._raw):
            self._step(self._raw[self._at])
        self._end()
        return self._found

    def _step(self, letter: str) -> None:
        if letter.isspace():
            match = _BLANKS.match(self._raw, self._at)
            assert match is not None
            self._at = match.end()
            self._phrase.append(" ")
        elif letter in ",;":
            self._at += 1
            self._end()
        elif letter == ":":
            self._at += 1
            self._begin()
        elif letter == '"' and (quoted := self._until('"')) is not None:
            # The quotes stay: in an address they are part of it.
            self._phrase.append(f'"{quoted}"')
        elif letter == "(" and (comment := self._within()) is not None:
            self._comment = self._comment or _PAIR.sub(r"\1", comment).strip()
        elif letter == "<" and (angle := self._until(">")) is not None:
            self._angle = angle if self._angle is None else self._angle
        elif letter == "[" and (literal := self._until("]")) is not None:
            self._phrase.append(f"[{literal}]")
        else:
            match = _ENCODED.match(self._raw, self._at) or _ATOM.match(self._raw, self._at)
            self._phrase.append(letter if match is None else match[0])
            self._at += 1 if match is None else len(match[0])

    def _until(self, closing: str) -> str | None:
        """Returns the text up to this mark and goes behind it; None, without a step, if the mark is missing."""
        if closing in self._unclosed:
            return None
        at = self._at + 1
        while at < len(self._raw) and self._raw[at] != closing:
            at += 2 if self._raw[at] == "\\" else 1
        if at >= len(self._raw):
            self._unclosed.add(closing)
            return None
        inside, self._at = self._raw[self._at + 1 : at], at + 1
        return inside

    def _within(self) -> str | None:
        """Returns a comment, which may hold others, and goes behind it; None, without a step, if it has no end."""
        if ")" in self._unclosed:
            return None
        depth, at = 1, self._at + 1
        while at < len(self._raw) and depth:
            depth += {"(": 1, ")": -1}.get(self._raw[at], 0)
            at += 2 if self._raw[at] == "\\" else 1
        if depth:
            self._unclosed.add(")")
            return None
        inside, self._at = self._raw[self._at + 1 : at - 1], at
        return inside

    def _end(self) -> None:
        if self._angle is not None:
            address = _compact(_ROUTE.sub("", self._angle))
            name = _words("".join(_unquoted(part) for part in self._phrase)) or _words(self._comment)
        else:
            address, name = _compact("".join(self._phrase)), _words(self._comment)
        # A mailbox of the server itself has no "@"; a phrase of several words is no address, nor is a quoted one.
        alone = len(self._phrase) - self._phrase.count(" ") == 1 and "=?" not in address and address[:1] != '"'
        bare = "@" in address or alone
        if (address and (self._angle is not None or bare)) or (self._angle is not None and name):
            self._found.append(Address(name, decode_header(address)[0]))
        self._begin()


def _compact(address: str) -> str:
    """Returns an address without its blanks; those in quotes, and between words that are no address, stay."""
    if "@" not in address:
        return " ".join(address.split())
    pieces = re.split(r'("[^"]*")', address)
    return "".join(piece if piece.startswith('"') else "".join(piece.split()) for piece in pieces)


def _unquoted(part: str) -> str:
    return _PAIR.sub(r"\1", part[1:-1]) if len(part) > 1 and part[0] == part[-1] == '"' else part


def _words(raw: str) -> str:
    return decode_header(raw)[0].strip()
