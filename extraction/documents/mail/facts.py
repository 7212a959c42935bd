"""The facts of a mail: its people, times, ids and attachments, from the headers of the top message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email._parseaddr import AddressList  # type: ignore[import-not-found]
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


# The marks of an address within an encoded word, which belong to its text.
_ENCODED = re.compile(r"=\?[^?\s]{1,80}\?[qQ]\?[^?]{0,1000}\?=")
_MARKS = re.compile(r'[,;:<>()@\[\]"\\]')


@dataclass(frozen=True, slots=True)
class Address:
    """An address of a header; `name` and `address` are empty if the mail gives none, as in `MAILER-DAEMON <>`."""

    name: str
    address: str


def addresses(raw: str) -> list[Address]:
    """Returns the addresses in a header's raw value, in order; members of groups count, names of groups do not.

    A text without "@" counts beside angle brackets, or if it is one word. `raw` may hold bytes as surrogates.
    """
    raw = raw[:MAX_ADDRESS_BYTES]
    if "=?" in raw and "@" not in raw:
        # Some programs encode the whole header.
        raw = decode_header(raw)[0]
    guarded = _ENCODED.sub(lambda word: _MARKS.sub(lambda mark: f"={ord(mark[0]):02X}", word[0]), raw)
    try:
        # Not `getaddresses`: it gives up a whole header for one odd address in some versions of Python.
        pairs = AddressList(guarded).addresslist
    except RecursionError:  # comments in comments
        return []
    found = [Address(decode_header(name)[0].strip(), decode_header(one)[0]) for name, one in pairs]
    bare = "<" in raw or len(raw.split()) == len(found)
    # The route of an obsolete address ("<@a.example,@b.example:c@d.example>") begins with "@".
    found = [one for one in found if (one.name or one.address) and one.address[:1] != "@"]
    return [one for one in found if "@" in one.address or bare]
