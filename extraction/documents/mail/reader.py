"""Parses mails (RFC 5322, MIME), mailboxes and `.emlx` into documents: headers, body, attachments, nested mails."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import PurePath

import orjson

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.builder import DocumentBuilder, clean
from cinnabar.extraction.documents.content.formats import SUFFIXES, Format, add_content, content_format
from cinnabar.extraction.documents.content.limits import MAX_DATA_IMAGES, MAX_MAIL_PARTS
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.mail.expansion import (
    SEALS,
    expand_content,
    sealing_of,
    sealings_in,
    signed_content,
    signed_part,
)
from cinnabar.extraction.documents.mail.facts import mail_facts
from cinnabar.extraction.documents.mail.mime import MESSAGES, Entity, made, split, unbase64, walk_flags
from cinnabar.extraction.documents.mail.quoting import joined_lines, marks
from cinnabar.extraction.documents.mail.rtf import rtf_body
from cinnabar.extraction.documents.mail.tnef import tnef_entity
from cinnabar.extraction.documents.plain.charsets import decode, drop_armour
from cinnabar.extraction.documents.plain.html import html_to_text, tidy

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
_BODIES = ("text/plain", "text/html", "text/enriched")
# Bodies that stand for each other, from the one that is read first; the last two are for a few mail programs.
_ALTERNATIVES = (
    "text/plain", "text/html", "text/enriched", "text/rtf", "application/rtf", "text/x-amp-html", "text/watch-html",
)  # fmt: skip
# Parts for programs: they are named, not read.
_SILENT = (
    *SEALS, "text/css", "text/javascript", "application/javascript", "application/applefile",
    "application/mac-binhex40", "message/external-body",
)  # fmt: skip
# An image without room for a letter: tracking pixels, spacers, icons. Sides in pixels; bytes where no side is known.
_LEAST_SIDE, _LEAST_ICON, _LEAST_BYTES = 12, 33, 1024
# Images within the markup of a page.
_DATA_IMAGE = re.compile(r"""["'(]data:(image/[a-z.+-]{1,40});base64,([A-Za-z0-9+/=\s]{1,20000000})""", re.IGNORECASE)
# The printed values of each header, with their places [start, end) in the text.
_Headers = dict[str, list[tuple[str, tuple[int, int]]]]
# Characters of each body that are compared, without links and names of images; the share of words from which on a body
# says more than one without figures, and than one with figures.
_COMPARED, _MORE_WORDS = 200_000, (1.5, 3.0)
_TOKEN = re.compile(r"\w{2,}")
_LINK = re.compile(r"(?:https?://|www\.)\S+|\[(?:cid|image)\b[^\]\n]{0,300}\]", re.IGNORECASE)


def add_mail(reading: ParseContext, data: bytes) -> None:
    """Appends a mail, headers first.

    The body is the plain text, or the visible text of the HTML if that says more; if the two differ strongly, the
    document is flagged `conflict`. Attachments follow as parts, with their content if its format is known.
    """
    add_message(reading, split(data))


def add_tnef(reading: ParseContext, data: bytes) -> None:
    """Appends the item in a TNEF stream as the mail that it is. Raises DocumentError: broken."""
    add_message(reading, tnef_entity(data, reading.count))


def add_signed(reading: ParseContext, data: bytes) -> None:
    """Appends the mail or the file that S/MIME signs. Raises DocumentError: unsupported, without plain content."""
    content = signed_content(data)
    if not content:
        raise DocumentError("unsupported", "the file is named as signed, and is encrypted or holds a signature alone")
    reading.count(len(content))
    reading.builder.flags.add("signed")
    part = signed_part(content, reading.name)
    if part.is_attachment:
        reading.name = part.name
        reading.read(content_format(content, part.name).reader(), content)
    else:
        add_message(reading, part)


def add_message(reading: ParseContext, root: Entity) -> None:
    """Appends a mail that was taken apart, whatever format it came in."""
    expand_content(root, reading.count)
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
        encodable = [decode(name.encode("utf-8", "surrogatepass"))[0] for name in names]
        builder.metadata["attachments"] = orjson.dumps(encodable).decode()


def _message(reading: ParseContext, root: Entity, names: list[str]) -> _Headers:
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
        elif count > 2 * MAX_MAIL_PARTS or builder.full:
            builder.flags.add("truncated")
        elif entity.media_type in MESSAGES:
            nested = entity.children[0] if entity.children else None
            name = entity.name or (nested.values("Subject")[:1] or [""])[0] if nested else entity.name
            builder.open("message", name[:1024], media_type=entity.media_type)
            if entity.is_attachment:
                names.append(name)
            stack.append(None)
            if nested is not None:
                _headers(builder, nested)
                _content(builder, nested, stack)
        elif entity.media_type.startswith("multipart/"):
            if (sealed := sealing_of(entity)) is not None:
                builder.flags.add(sealed)
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
    """Returns the entities to read of a multipart/alternative: its bodies of one kind, and all its other parts.

    The plain text is read unless the next body says more. The bodies that are not read leave the tree.
    """
    found = [one for child in entity.children if (one := _body_in(entity, child)) is not None]
    bodies = sorted((body for _, body in found), key=lambda body: _ALTERNATIVES.index(body.media_type))
    kind = bodies[0].media_type if bodies else ""
    other = next((body for body in bodies if body.media_type != kind), None)
    if kind == "text/plain" and other is not None:
        more, differ = _compare_bodies(bodies[0].text(), _shown(other))
        kind = other.media_type if more else kind
        builder.flags |= {"conflict"} if differ else set()
    for around, body in found:
        if body.media_type != kind:
            # Parts that come with a body (inline images) are kept.
            around.children = [one for one in around.children if one is not body]
    return entity.children


def _body_in(around: Entity, entity: Entity) -> tuple[Entity, Entity] | None:
    """Returns the body within one branch of a multipart/alternative, behind the entity around it."""
    for _ in range(3):
        if entity.media_type in _ALTERNATIVES and _is_body(entity):
            return around, entity
        if not entity.media_type.startswith("multipart/") or not entity.children:
            return None
        around, entity = entity, entity.children[0]
    return None


def _shown(entity: Entity) -> str:
    """Returns the text of a body other than plain text."""
    if "rtf" not in entity.media_type:
        return html_to_text(entity.text())[0]
    text, html, _ = rtf_body(entity.content())
    return text or html_to_text(html)[0]


def _compare_bodies(plain: str, rich: str) -> tuple[bool, bool]:
    """Returns whether a rich body says more than the plain text beside it, and whether the two say different things.

    Figures count, because they are values, and then words: a plain text may only say that it is none.
    """
    left, right = (set(_TOKEN.findall(_LINK.sub(" ", text[:_COMPARED]).casefold())) for text in (plain, rich))
    figures, others = (sum(any(map(str.isdigit, one)) for one in words) for words in (left - right, right - left))
    said = _MORE_WORDS[any(map(str.isdigit, "".join(left)))] * len(left)
    more = others > 2 * figures or (others == figures and len(right) > said)
    unlike = len(left & right) < 0.5 * min(len(left), len(right))
    return more, bool(figures and others) or (unlike and not more)


def _is_body(entity: Entity) -> bool:
    return not entity.is_attachment and not entity.name


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
        shown = [clean(value) for value in values[:50] if value]
        lines += [f"{header}: {value}" for value in shown]
        printed[header] = [(value, (0, 0)) for value in shown]
    lines += map(clean, entity.damaged)
    entity.damaged = ()
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


def _leaf(reading: ParseContext, entity: Entity, names: list[str]) -> None:
    """Adds a part without children: a body, or an attachment with its content if its format is known."""
    builder = reading.builder
    media_type, name = entity.media_type, entity.name
    body = _is_body(entity) and media_type in _BODIES
    if not body and (name or entity.is_attachment):
        names.append(name)
    if media_type == "message/external-body":
        # The content lies elsewhere and is not fetched.
        builder.flags.add("active_content")
    if (sealed := sealing_of(entity)) is not None:
        builder.flags.add(sealed)
    builder.open("body" if body else "attachment", name, media_type=media_type)
    # Those of a mail stand below its headers.
    builder.write("".join(f"{clean(line)}\n" for line in entity.damaged))
    images: list[tuple[str, bytes]] = []
    if body:
        images = _body(reading, entity)
    elif sealed is None and media_type not in _SILENT and not entity.named_only:
        _add_attachment(reading, entity)
    builder.close()
    for kind, image in images:
        builder.open("attachment", media_type=kind)
        add_content(reading, image, "", kind)
        builder.close()


def _body(reading: ParseContext, entity: Entity) -> list[tuple[str, bytes]]:
    """Adds the text of a body, with its quotes and signatures as parts; returns the images within its markup."""
    builder = reading.builder
    text, markup = entity.text(), ""
    images: list[tuple[str, bytes]] = []
    if entity.media_type == "text/html":
        markup = text
        text, flags = html_to_text(markup, reading.settings.hidden)
        builder.flags |= flags
        if "data:image" in markup:
            matches = islice(_DATA_IMAGE.finditer(markup), MAX_DATA_IMAGES)
            images = [(match[1].lower(), unbase64(match[2].encode())) for match in matches]
    else:
        if (flow := entity.flow) is not None:
            text = joined_lines(text, flow)
        text = tidy(text)
        builder.flags |= sealings_in(text)
        text = drop_armour(text)
    text = clean(text)
    at = 0
    for kind, start, end in marks(text, markup, reading.settings.hidden):
        builder.write(text[at:start])
        builder.open(kind, inline=True)
        builder.write(text[start:end])
        builder.close()
        at = end
    builder.write(text[at:])
    return [(kind, image) for kind, image in images if not _is_trifle(kind, image)]


def _add_attachment(reading: ParseContext, entity: Entity) -> None:
    """Adds the content of an attachment to the open part, if its format is known."""
    builder, media_type, name = reading.builder, entity.media_type, entity.name
    by_suffix = SUFFIXES.get(PurePath(name).suffix.lower())
    other = by_suffix is not None and not by_suffix.media_type.startswith("text/")
    if not media_type.startswith(("text/", "message/")) or media_type == "text/rtf" or other:
        # Some programs call every attachment a text.
        content = entity.content()
        if not content or _is_trifle(media_type, content):
            return
        add_content(reading, content, name, media_type)
        return
    # The headers of the part name its charset, which its own format may not know.
    text = entity.text()
    if _is_plain(media_type, by_suffix) or reading.settings.careful:
        builder.flags |= sealings_in(text)
        builder.write(drop_armour(text).strip("\r\n"))
    elif text:
        add_content(reading, b"\xef\xbb\xbf" + text.encode("utf-8", "replace"), name, media_type)


def _is_plain(media_type: str, by_suffix: Format | None) -> bool:
    """Returns True if a text has no other format, by its media type and its suffix."""
    if media_type.startswith("message/"):
        return True
    return media_type in ("text/plain", "text/enriched", "text/rfc822-headers") and (
        by_suffix is None or by_suffix.media_type == "text/plain"
    )


def _is_trifle(media_type: str, content: bytes) -> bool:
    """Returns True for an image that has no room for a letter."""
    if not media_type.startswith("image/"):
        return False
    if content.startswith(b"\x89PNG") and len(content) >= 24:
        sides = (int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big"))
    elif content.startswith(b"GIF8") and len(content) >= 10:
        sides = (int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little"))
    else:
        return len(content) < _LEAST_BYTES
    return min(sides) < _LEAST_SIDE or max(sides) < _LEAST_ICON


# The line that begins a mail: a sender and a time, or a sender alone, and a header below it.
_BEGIN = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|(?<=\n\n)|(?<=\n\r\n))"
    rb"From (?:\S[^\n]{0,1000}\d\d?:\d\d[^\n]{0,100}|[^\s]{1,1000}[ \t\r]*)\n"
    rb"(?=[!-9;-~]{1,100}[ \t]*:|>From )"
)
_GUARDED = re.compile(rb"^>(>*From )", re.MULTILINE)
_COUNT = re.compile(rb"\s{0,8}(\d{1,12})[ \t]*\r?\n")


def add_mbox(reading: ParseContext, data: bytes) -> None:
    """Appends the mails of an mbox as mails within one document. Raises DocumentError: unsupported, if it has none."""
    begins = list(_BEGIN.finditer(data))
    if not begins:
        # A single mail, which some programs store with this suffix.
        add_mail(reading, data)
        return
    root = made("multipart/mixed", b"")
    most = reading.count_mails(len(begins))
    if most < len(begins):
        root.flags.add("truncated")
    ends = [match.start() for match in begins[1:]] + [len(data)]
    for match, end in list(zip(begins, ends, strict=True))[:most]:
        child = made("message/rfc822", b"")
        child.children.append(split(_GUARDED.sub(rb"\1", data[match.end() : end])))
        root.children.append(child)
    add_message(reading, root)


def add_emlx(reading: ParseContext, data: bytes) -> None:
    """Appends the mail in an `.emlx` file; the number of its bytes comes before it, a property list behind it.

    Raises DocumentError: broken, without such a number.
    """
    count = _COUNT.match(data)
    if count is None:
        raise DocumentError("broken", "expected the number of the mail's bytes in the first line of an .emlx file")
    add_mail(reading, data[count.end() : count.end() + int(count[1])])
