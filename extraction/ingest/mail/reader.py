"""Parses mails (RFC 5322, MIME) into documents: headers, body, attachments, nested mails."""

from __future__ import annotations

import re

import orjson

from cinnabar.extraction.ingest.builder import DocumentBuilder, clean
from cinnabar.extraction.ingest.contents import add_content
from cinnabar.extraction.ingest.mail.facts import mail_facts
from cinnabar.extraction.ingest.mail.mime import MAX_PARTS, Entity, split, walk_flags
from cinnabar.extraction.ingest.plain.charsets import decode
from cinnabar.extraction.ingest.plain.html import html_to_text, tidy
from cinnabar.extraction.ingest.reading import Reading

# First the headers that a mail program shows, then those that tell the mail's identity and origin.
_HEADERS = (
    "From",
    "To",
    "Cc",
    "Bcc",
    "Date",
    "Subject",
    "Sender",
    "Reply-To",
    "Message-ID",
    "In-Reply-To",
    "List-Id",
    "Return-Path",
    "Delivered-To",
    "Auto-Submitted",
    "X-Failed-Recipients",
)
_ONCE = ("From", "Subject", "Date", "To", "Message-ID", "Sender", "Reply-To")
_MESSAGES = ("message/rfc822", "message/global", "message/news")
_TEXTUAL = ("message/", "text/", "application/json", "application/xml")
# The printed values of each header, with their places [start, end) in the text.
_Headers = dict[str, list[tuple[str, tuple[int, int]]]]
# Characters of each body that are compared.
_COMPARED = 200_000
_TOKEN = re.compile(r"\w{2,}")


def add_mail(reading: Reading, data: bytes) -> None:
    """Appends a mail, headers first.

    The body is the plain text if there is one, else the visible text of the HTML; if the two differ strongly, the
    document is flagged `conflict`. Attachments follow as parts, with their content if its format is known.
    """
    add_message(reading, split(data))


def add_message(reading: Reading, root: Entity) -> None:
    """Appends a mail that was taken apart, whatever format it came in."""
    names: list[str] = []
    printed = _message(reading, root, names)
    builder = reading.builder
    builder.flags |= walk_flags(root)
    if not reading.is_top:
        return
    builder.facts |= mail_facts(root, printed)
    for header in ("Message-ID", "Subject", "From", "Date"):
        for value in root.values(header)[:1]:
            builder.metadata[header.lower()] = value[:1000]
    if names:
        builder.metadata["attachments"] = orjson.dumps([_encodable(name) for name in names]).decode()


def _message(reading: Reading, root: Entity, names: list[str]) -> _Headers:
    """Adds the headers and content of a mail by a loop, and returns the printed headers of the top message.

    None on the stack closes a nested mail.
    """
    builder = reading.builder
    stack: list[Entity | None] = []
    printed = _headers(builder, root)
    _content(builder, root, stack)
    count = 0
    while stack:
        entity = stack.pop()
        count += 1
        if entity is None:
            builder.close()
        elif count > 2 * MAX_PARTS or builder.full:
            builder.flags.add("truncated")
        elif entity.media_type in _MESSAGES:
            nested = entity.children[0] if entity.children else None
            name = entity.name or (nested.values("Subject")[:1] or [""])[0] if nested else entity.name
            builder.open("message", name[:1024], media_type=entity.media_type)
            if entity.attached:
                names.append(name)
            stack.append(None)
            if nested is not None:
                _headers(builder, nested)
                _content(builder, nested, stack)
        elif entity.media_type.startswith("multipart/"):
            _content(builder, entity, stack)
        else:
            _leaf(reading, entity, names)
    return printed


def _content(builder: DocumentBuilder, entity: Entity, stack: list[Entity | None]) -> None:
    """Puts the content of `entity` on the stack, first part on top."""
    if entity.media_type == "multipart/alternative":
        stack.extend(reversed(_alternative(builder, entity)))
    elif entity.media_type.startswith("multipart/"):
        stack.extend(reversed(entity.children))
    else:
        stack.append(entity)


def _alternative(builder: DocumentBuilder, entity: Entity) -> list[Entity]:
    """Returns the entities to read of a multipart/alternative: one of its bodies, and all its other parts."""
    plain = next((e for e in entity.children if e.media_type == "text/plain" and _is_body(e)), None)
    rich = next((e for e in entity.children if _html_of(e) is not None), None)
    if plain is None or rich is None:
        return list(entity.children)
    html = _html_of(rich)
    assert html is not None
    plain_text = plain.text()
    html_text = html_to_text(html.text())[0]
    if plain_text.strip():
        if _differ(plain_text, html_text):
            builder.flags.add("conflict")
        # Parts that come with the HTML (inline images) are kept; the HTML itself is not read twice.
        left = [e for e in rich.children if e is not html]
        return [e for child in entity.children for e in (left if child is rich else [child])]
    return [e for e in entity.children if e is not plain]


def _html_of(entity: Entity) -> Entity | None:
    """Returns the HTML body within one branch of a multipart/alternative."""
    for _ in range(3):
        if entity.media_type == "text/html" and _is_body(entity):
            return entity
        if not entity.media_type.startswith("multipart/") or not entity.children:
            return None
        entity = entity.children[0]
    return None


def _differ(plain: str, html: str) -> bool:
    """Returns True if most words of the shorter text are missing in the other one."""
    left = set(_TOKEN.findall(plain[:_COMPARED].casefold()))
    right = set(_TOKEN.findall(html[:_COMPARED].casefold()))
    if not left or not right:
        return False
    return len(left & right) < 0.5 * min(len(left), len(right))


def _is_body(entity: Entity) -> bool:
    return not entity.attached and not entity.name


def _headers(builder: DocumentBuilder, entity: Entity) -> _Headers:
    """Adds the headers that a reader needs; returns their values with their places in the text."""
    lines: list[str] = []
    printed: _Headers = {}
    for header in _HEADERS:
        values = entity.values(header)
        if len(values) > 1 and header in _ONCE:
            builder.flags.add("duplicate_header")
        if len(values) > 50:
            builder.flags.add("truncated")
        said = [clean(value) for value in values[:50] if value]
        lines += [f"{header}: {value}" for value in said]
        printed[header] = [(value, (0, 0)) for value in said]
    if not lines:
        return {}
    builder.open("headers")
    at = builder.length
    for header, values_of_it in printed.items():
        for number, (value, _) in enumerate(values_of_it):
            at += len(header) + 2
            values_of_it[number] = value, (at, at + len(value))
            at += len(value) + 1
    builder.write("\n".join(lines))
    builder.close()
    return printed


def _leaf(reading: Reading, entity: Entity, names: list[str]) -> None:
    """Adds a part without children: a body, or an attachment with its content if its format is known."""
    builder = reading.builder
    media_type, name = entity.media_type, entity.name
    body = _is_body(entity) and media_type in ("text/plain", "text/html", "text/enriched")
    if not body and (name or entity.attached):
        names.append(name)
    if media_type == "message/external-body":
        # The content lies elsewhere and is not fetched.
        builder.flags.add("active_content")
    builder.open("body" if body else "attachment", name, media_type=media_type)
    if media_type == "text/html" and not entity.attached:
        text, cut = html_to_text(entity.text())
        if cut:
            builder.flags.add("truncated")
        builder.write(text)
    elif body or media_type.startswith(_TEXTUAL):
        # The headers of the part name its charset.
        text = entity.text()
        builder.write(tidy(text) if body else text.strip("\r\n"))
    else:
        add_content(reading, entity.content(), name, media_type)
    builder.close()


def _encodable(name: str) -> str:
    return decode(name.encode("utf-8", "surrogatepass"))[0]
