"""Bound fields of mails beside an independent reading: `email` of the standard library with its default policy.

    python -m bench.fact_check FOLDER...

Every mail below the folders is parsed as in a run, and every fact of a mail is put into a field that is bound to it.
The table counts, for each fact, the mails on which the two agree. A difference is printed with both values.
"""

from __future__ import annotations

import email
import email.policy
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from typing import Any

from bench.reporting import table
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.moments import moment
from cinnabar.extraction.records.facts import FactValues
from cinnabar.schemas import compile_schema
from cinnabar.schemas.bindings import bound_places
from cinnabar.schemas.facts import FACTS, FactKind

_TYPES: dict[FactKind, dict[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "integer": {"type": ["integer", "null"]},
    "moment": {"type": ["string", "null"], "format": "date-time"},
    "texts": {"type": ["array", "null"], "items": {"type": "string"}},
    "integers": {"type": ["array", "null"], "items": {"type": "integer"}},
}
#: The facts that the other reader can tell.
COMPARED = [name for name in FACTS if name.startswith("mail.")]


@dataclass(slots=True)
class Agreement:
    """Mails by fact: those on which both readers agree, those on which they differ, and those that one cannot read."""

    exact: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def bound_schema() -> dict[str, Any]:
    """A schema with a field for each fact of a mail, bound to it."""
    fields = {name: _TYPES[FACTS[name].kind] | {"x-cinnabar-from": name} for name in COMPARED}
    return {"type": "object", "properties": fields, "required": list(fields)}


def bound_values(document: Document) -> dict[str, Any]:
    """The values that a record of `bound_schema` has for this document, by fact."""
    found = FactValues.of(document, bound_places(compile_schema(bound_schema()).form))
    values: dict[str, Any] = {}
    for one in found.values:
        texts = [json.loads(text) for text in one.texts]
        several = FACTS[one.place.fact].kind in ("texts", "integers")
        values[one.place.fact] = (texts if several else texts[0]) if one.state == "given" else None
    return values


def other_reading(data: bytes) -> dict[str, Any]:
    """The same values as the standard library reads them; a fact that it fails on is missing."""
    mail = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(mail, EmailMessage)
    values: dict[str, Any] = {}
    for name in COMPARED:
        try:
            values[name] = _READERS[name](mail)
        # It raises whatever it likes on broken headers.
        except Exception:
            continue
    return values


def _people(mail: EmailMessage, header: str, part: str) -> list[str]:
    structured = [one for value in mail.get_all(header, []) for one in value.addresses]
    if part == "address":
        return ["" if one.addr_spec == "<>" else one.addr_spec for one in structured]
    # A name in a comment is no display name of the newer interface, and it drops the comment.
    raw = [value for name, value in mail.raw_items() if name.lower() == header.lower()]
    plain = getaddresses([str(make_header(decode_header(value))) for value in raw])
    comments = [name for name, _ in plain] if len(plain) == len(structured) else [""] * len(structured)
    return [one.display_name or comment for one, comment in zip(structured, comments, strict=True)]


def _time(value: str | None) -> str | None:
    if not value:
        return None
    try:
        found: datetime = parsedate_to_datetime(value)
        return moment(found)
    except (ValueError, TypeError):
        return None


def _received(mail: EmailMessage) -> str | None:
    values = mail.get_all("Received", [])
    return _time(str(values[0]).rpartition(";")[2].strip()) if values else None


def _sent(mail: EmailMessage) -> str | None:
    found = mail["Date"]
    return moment(found.datetime) if found is not None and found.datetime is not None else None


def _id(mail: EmailMessage, header: str) -> str | None:
    value = str(mail[header] or "").strip()
    first = value[value.find("<") + 1 :].split(">")[0] if "<" in value and ">" in value else "".join(value.split())
    return first.strip() or None


def _attachments(mail: EmailMessage) -> Iterator[EmailMessage]:
    waiting: list[Any] = [mail]
    while waiting:
        part = waiting.pop()
        if part.get_content_maintype() == "multipart":
            waiting += reversed(part.get_payload() if part.is_multipart() else [])
        elif part.get_filename() or part.get_content_disposition() == "attachment":
            yield part


def _size(part: EmailMessage) -> int | None:
    """Returns the bytes of a part; None for a mail within the mail, of which the other reader has no bytes."""
    if part.get_content_maintype() == "message":
        return None
    content = part.get_payload(decode=True)
    return len(content) if isinstance(content, bytes) else 0


def _agree(own: Any, other: Any) -> bool:
    """Returns True for equal values; an item that the other reader cannot tell agrees with any."""
    if isinstance(own, list) and isinstance(other, list):
        return len(own) == len(other) and all(b is None or a == b for a, b in zip(own, other, strict=True))
    return bool(own == other)


_READERS: dict[str, Any] = {
    "mail.from.address": lambda mail: next(iter(_people(mail, "From", "address")), None) or None,
    "mail.from.name": lambda mail: next(iter(_people(mail, "From", "name")), None) or None,
    "mail.to.address": lambda mail: _people(mail, "To", "address"),
    "mail.to.name": lambda mail: _people(mail, "To", "name"),
    "mail.cc.address": lambda mail: _people(mail, "Cc", "address"),
    "mail.cc.name": lambda mail: _people(mail, "Cc", "name"),
    "mail.bcc.address": lambda mail: _people(mail, "Bcc", "address"),
    "mail.bcc.name": lambda mail: _people(mail, "Bcc", "name"),
    "mail.reply_to.address": lambda mail: _people(mail, "Reply-To", "address"),
    "mail.reply_to.name": lambda mail: _people(mail, "Reply-To", "name"),
    "mail.subject": lambda mail: " ".join(str(mail["Subject"] or "").split()) or None,
    "mail.sent": _sent,
    "mail.received": _received,
    "mail.message_id": lambda mail: _id(mail, "Message-ID"),
    "mail.thread_id": lambda mail: (
        _id(mail, "References") or _id(mail, "In-Reply-To") or _id(mail, "Message-ID")
    ),
    "mail.attachments.name": lambda mail: [part.get_filename() or "" for part in _attachments(mail)],
    "mail.attachments.size": lambda mail: [_size(part) for part in _attachments(mail)],
    "mail.attachments.count": lambda mail: sum(1 for _ in _attachments(mail)),
}


def compare(paths: Sequence[Path], workers: int = 1) -> tuple[int, int, Agreement]:
    """The mails read, those that the parser refuses, and the agreement of both readers."""
    agreement, read, refused = Agreement(), 0, 0
    with ParserPool(workers) as pool:
        for path, found in pool.parse_many(paths):
            if not isinstance(found, Document):
                refused += 1
                continue
            read += 1
            own, other = bound_values(found), other_reading(path.read_bytes())
            for name in COMPARED:
                if name not in other:
                    agreement.unread[name] += 1
                elif _agree(own[name], other[name]):
                    agreement.exact[name] += 1
                else:
                    agreement.differing[name] += 1
                    told = f"{path.name}: {name}: {own[name]!r:.160}, the other reader {other[name]!r:.160}"
                    agreement.differences.append(told)
    return read, refused, agreement


def main(folders: Sequence[str]) -> None:
    """Prints the table of all facts, then every difference."""
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.eml"))
    read, refused, found = compare(paths)
    print(f"{len(paths)} mails, {read} read, {refused} refused by the parser\n")
    rows = [(n, str(found.exact[n]), str(found.differing[n]), str(found.unread[n])) for n in COMPARED]
    print(table(("fact", "exact", "differing", "other reader fails"), rows), "\n")
    print("\n".join(found.differences))


if __name__ == "__main__":
    main(sys.argv[1:])
