"""The facts of a mail: its people, times, ids and attachments, from the headers of the top message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from cinnabar.extraction.documents.content.document import Fact, moment
from cinnabar.extraction.documents.content.limits import MAX_ADDRESS_BYTES
from cinnabar.extraction.documents.mail.mime import Entity, decode_header, parts_of

# Characters of a date, and of a header with ids, that are read.
_MAX_DATE, _MAX_IDS = 200, 1 << 18
_ID = re.compile(r"<([^<>]*)>")
_NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="))

#: The printed values of each header: their texts, and their places [start, end) in the document's text.
Printed = Mapping[str, Sequence[tuple[str, tuple[int, int]]]]
_Values = Sequence[tuple[str, tuple[int, int]]]


def mail_facts(root: Entity, printed: Printed) -> dict[str, Fact]:
    """Returns the facts of a mail; `printed` are the headers that the document's text shows.

    A header that may occur once and occurs repeatedly counts as its first one.
    """
    facts: dict[str, Fact] = {}
    senders = _people(root, "From")[:1]
    _add_people(facts, "mail.from", senders, printed.get("From", ()), single=True)
    for header, name in (("To", "mail.to"), ("Cc", "mail.cc"), ("Bcc", "mail.bcc"), ("Reply-To", "mail.reply_to")):
        _add_people(facts, name, _people(root, header), printed.get(header, ()))
    _add(facts, "mail.subject", next(iter(root.values("Subject")), ""), _first(printed, "Subject"))
    _add(facts, "mail.sent", _moment(root.raw_values("Date")), _first(printed, "Date"))
    received = next(iter(root.raw_values("Received")), "").rpartition(";")[2]
    _add(facts, "mail.received", _moment([received]))
    own = _ids(root.raw_values("Message-ID"))
    _add(facts, "mail.message_id", next(own, ""), _first(printed, "Message-ID"))
    for header in ("References", "In-Reply-To", "Message-ID"):
        first = next(_ids(root.raw_values(header)), "")
        if first:
            _add(facts, "mail.thread_id", first, _first(printed, header))
            break
    names, sizes = [], []
    for entity in attachments(root):
        names.append(entity.name)
        sizes.append(decoded_size(entity))
    facts["mail.attachments.name"] = Fact(tuple(names))
    facts["mail.attachments.size"] = Fact(tuple(sizes))
    facts["mail.attachments.count"] = Fact(len(names))
    return facts


def attachments(root: Entity) -> Iterator[Entity]:
    """Yields the parts that the sender marked as attachments or gave a file name."""
    return (entity for entity in parts_of(root) if entity.is_attachment or entity.name)


def decoded_size(entity: Entity) -> int:
    """Returns the bytes of a part with its transfer encoding undone."""
    encoding = str(entity.message.get("content-transfer-encoding", "")).strip().lower()
    if encoding == "base64":
        # Only the length is wanted, and decoding a large attachment for it would take seconds.
        letters = entity.raw.translate(None, _NOT_BASE64).rstrip(b"=")
        if b"=" not in letters:
            return len(letters) // 4 * 3 + max(0, len(letters) % 4 - 1)
    return len(entity.content())


def _people(root: Entity, header: str) -> list[Address]:
    return [one for raw in root.raw_values(header) for one in addresses(raw)]


def _add_people(
    facts: dict[str, Fact], fact: str, people: Sequence[Address], printed: _Values, single: bool = False
) -> None:
    """Adds addresses and names as two facts of one length."""
    for part, texts in (("address", [one.address for one in people]), ("name", [one.name for one in people])):
        spans = tuple(_places(texts, printed))
        if not single:
            facts[f"{fact}.{part}"] = Fact(tuple(texts), spans)
        elif texts and texts[0]:
            facts[f"{fact}.{part}"] = Fact(texts[0], spans)


def _places(texts: Sequence[str], printed: _Values) -> Iterator[tuple[int, int]]:
    """Yields the place of each text in the printed headers: its own, else that of the whole header it may be in."""
    if not printed:
        return
    header, begin = 0, 0
    for text in texts:
        for at in range(header, len(printed)):
            value, (start, _) = printed[at]
            place = value.find(text, begin if at == header else 0) if text else -1
            if place >= 0:
                header, begin = at, place
                yield start + place, start + place + len(text)
                break
        else:
            yield printed[header][1]


def _first(printed: Printed, header: str) -> tuple[tuple[int, int], ...]:
    values = printed.get(header, ())
    return (values[0][1],) if values else ()


def _ids(values: Sequence[str]) -> Iterator[str]:
    """Yields the message ids in a header; a header without angle brackets is one id."""
    value = next(iter(values), "")[:_MAX_IDS]
    inside = [one.strip() for one in _ID.findall(value)]
    yield from (one for one in inside or ["".join(value.split())] if one)


def _moment(values: Sequence[str]) -> str:
    """Returns the time in a header, "" if it has none."""
    try:
        when: datetime = parsedate_to_datetime(" ".join(next(iter(values), "").split())[:_MAX_DATE])
        return moment(when)
    # The standard library fails in several ways on broken dates.
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""


def _add(facts: dict[str, Fact], name: str, value: str, spans: tuple[tuple[int, int], ...] = ()) -> None:
    if value:
        facts[name] = Fact(value, spans)


# Reads the addresses of a mail's header (RFC 5322, 3.4, with the obsolete forms), in linear time for any value.
#
# The standard library's own reader takes quadratic time on hostile values, and its older one gives up a whole header
# for one odd address.

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
    raw = raw[:MAX_ADDRESS_BYTES]
    parsed = _AddressReader(raw).read()
    if not parsed and "=?" in raw and "@" not in raw:
        # Some programs encode the whole header.
        decoded = decode_header(raw)[0]
        parsed = _AddressReader(decoded).read() if "@" in decoded else []
    return parsed


class _AddressReader:
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
            name = _words("".join(_unquote(part) for part in self._phrase)) or _words(self._comment)
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


def _unquote(part: str) -> str:
    return _PAIR.sub(r"\1", part[1:-1]) if len(part) > 1 and part[0] == part[-1] == '"' else part


def _words(raw: str) -> str:
    return decode_header(raw)[0].strip()
