"""Items of Outlook (MS-OXPROPS), from `.msg` files and TNEF alike: properties become the entities of a mail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import MAX_MAIL_DEPTH, MAX_MAIL_PARTS
from cinnabar.extraction.documents.mail.mime import Entity, headers_of, made, split
from cinnabar.extraction.documents.mail.rtf import rtf_body, unpacked_rtf
from cinnabar.extraction.documents.plain.charsets import decode, known_charset

PropertyValue = str | bytes | int | float | datetime
#: A property by its number, or by the set (GUID, in the order of its bytes) and the number of a named one.
PropertyKey = int | tuple[bytes, int]

_SUBJECT, _HEADERS, _CLASS = 0x0037, 0x007D, 0x001A
_BODY, _HTML, _RTF = 0x1000, 0x1013, 0x1009
_SENT, _DELIVERED, _CREATED = 0x0039, 0x0E06, 0x3007
_MESSAGE_ID, _REFERENCES, _REPLY_TO_ID = 0x1035, 0x1039, 0x1042
_INTERNET_CODE_PAGE = 0x3FDE
# Name, address, its kind and the SMTP address of the author, of the sender and of a recipient.
_AUTHOR = (0x0042, 0x0065, 0x0064, 0x5D02)
_SENDER = (0x0C1A, 0x0C1F, 0x0C1E, 0x5D01)
_RECIPIENT = (0x3001, 0x3003, 0x3002, 0x39FE)
_RECIPIENT_KIND = 0x0C15
_LISTS = {1: ("To", 0x0E04), 2: ("Cc", 0x0E03), 3: ("Bcc", 0x0E02)}

_APPOINTMENT = bytes.fromhex("0220060000000000c000000000000046")
_TASK = bytes.fromhex("0320060000000000c000000000000046")
_ADDRESS = bytes.fromhex("0420060000000000c000000000000046")
# The main properties of items that are no mails, in the order in which Outlook shows them.
_SHOWN: dict[str, tuple[tuple[str, tuple[PropertyKey, ...]], ...]] = {
    "ipm.appointment": (
        ("Start", ((_APPOINTMENT, 0x820D), 0x0060)),
        ("End", ((_APPOINTMENT, 0x820E), 0x0061)),
        ("Location", ((_APPOINTMENT, 0x8208),)),
    ),
    "ipm.task": (
        ("Start", ((_TASK, 0x8104),)),
        ("Due", ((_TASK, 0x8105),)),
        ("Owner", ((_TASK, 0x811F),)),
    ),
    "ipm.contact": (
        ("Name", (0x3001,)),
        ("Company", (0x3A16,)),
        ("Department", (0x3A18,)),
        ("Title", (0x3A17,)),
        ("Email", ((_ADDRESS, 0x8083), 0x39FE, 0x3003)),
        ("Email 2", ((_ADDRESS, 0x8093),)),
        ("Email 3", ((_ADDRESS, 0x80A3),)),
        ("Business phone", (0x3A08,)),
        ("Home phone", (0x3A09,)),
        ("Mobile phone", (0x3A1C,)),
        ("Fax", (0x3A24,)),
        ("Business address", ((_ADDRESS, 0x801B), 0x3A29)),
        ("Home address", ((_ADDRESS, 0x801A),)),
        ("Web page", ((_ADDRESS, 0x802B), 0x3A51)),
        ("Birthday", (0x3A42,)),
    ),
}
# Meeting requests carry the properties of an appointment.
_SHOWN["ipm.schedule.meeting"] = _SHOWN["ipm.appointment"]

# The bytes of integers, by their kind.
_INTEGERS = {0x0002: 2, 0x0003: 4, 0x0014: 8}
_SPECIAL = re.compile(r'[()<>@,:;\\"\[\].]')
# Headers that tell how the mail was coded when it came; here its body comes from the properties.
_CODED = re.compile(r"content-|mime-version$", re.IGNORECASE)


@dataclass(slots=True)
class MapiAttachment:
    """A file or an item within an item."""

    name: str = ""
    media_type: str = ""
    data: bytes = b""
    content_id: str = ""
    inline: bool = False
    item: MapiItem | None = None


@dataclass(slots=True)
class MapiItem:
    """An item of Outlook. `flags` name cuts and guesses."""

    properties: dict[PropertyKey, PropertyValue] = field(default_factory=dict)
    recipients: list[Mapping[PropertyKey, PropertyValue]] = field(default_factory=list)
    attachments: list[MapiAttachment] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)

    def text(self, *keys: PropertyKey) -> str:
        """Returns the first of these properties that has a text, else ""."""
        return text_of(self.properties, *keys)


def text_of(properties: Mapping[PropertyKey, PropertyValue], *keys: PropertyKey) -> str:
    """Returns the first of these properties that has a text or a time, else ""."""
    for key in keys:
        value = properties.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip("\x00")
        if isinstance(value, datetime):
            return value.isoformat(sep=" ", timespec="minutes").removesuffix("+00:00") + " UTC"
    return ""


def file_time(value: int) -> datetime | None:
    """Returns the moment of a FILETIME (100 ns since 1601), None if no year has it; 4500 stands for "none"."""
    try:
        when = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=value // 10)
    except OverflowError:
        return None
    return when if 1601 < when.year < 4500 else None


def fixed_value(kind: int, data: bytes) -> PropertyValue | None:
    """Returns a value of a kind with a fixed size, in at least so many bytes; None for kinds that no item shows."""
    if kind in _INTEGERS:
        return int.from_bytes(data[: _INTEGERS[kind]], "little", signed=True)
    if kind == 0x000B:
        return int(data[0] != 0)
    if kind == 0x0040:
        return file_time(int.from_bytes(data[:8], "little"))
    return None


def variable_value(kind: int, data: bytes, charset: str) -> PropertyValue:
    """Returns a value of a kind of variable size: a text, of eight bits in a charset, or bytes."""
    if kind == 0x001F:
        return data.decode("utf-16-le", "replace").rstrip("\x00")
    return decode(data.rstrip(b"\x00"), charset)[0] if kind == 0x001E else data


def code_page_charset(code_page: object) -> str:
    """Returns the name of a code page of Windows, Windows-1252 if it is unknown."""
    number = code_page if isinstance(code_page, int) else 0
    special = {65001: "utf-8", 65000: "utf-7", 1200: "utf-16-le", 20127: "ascii", 28591: "cp1252", 20866: "koi8-r",
               21866: "koi8-u", 50220: "iso2022_jp", 50221: "iso2022_jp", 50222: "iso2022_jp", 50225: "iso2022_kr",
               51932: "euc-jp", 51949: "euc-kr", 51936: "gb2312", 52936: "hz", 54936: "gb18030", 936: "gb18030",
               10000: "mac-roman", 10007: "mac-cyrillic", 1361: "johab"}  # fmt: skip
    if 28592 <= number <= 28606:
        name = f"iso8859-{number - 28590}"
    else:
        name = special.get(number, f"cp{number}")
    return known_charset(name) or "cp1252"


def entity_of(item: MapiItem, with_body: bool = True) -> Entity:
    """Returns an item as the mail that it is, or was: headers of its transport first, then its properties.

    with_body: the item's own text is wanted too.
    """
    root = made("multipart/mixed", b"", _headers(item))
    waiting, count = [(item, root, 0)], 0
    while waiting:
        own, entity, depth = waiting.pop()
        entity.children.extend(_details(own))
        if with_body or entity is not root:
            entity.children.extend(_bodies(own))
        root.flags |= own.flags
        for attachment in own.attachments:
            count += 1
            if count > MAX_MAIL_PARTS:
                root.flags.add("truncated")
                break
            if attachment.item is None:
                media_type = attachment.media_type or "application/octet-stream"
                if media_type.startswith("multipart/"):
                    # Signed mails are kept whole, as their only attachment.
                    entity.children.append(split(attachment.data))
                    continue
                child = made(media_type, attachment.data, (), attachment.name, not attachment.inline)
                if media_type == "message/rfc822":
                    child.children.append(split(attachment.data))
                if attachment.content_id:
                    child.message["Content-ID"] = f"<{attachment.content_id}>"
                entity.children.append(child)
            elif depth >= MAX_MAIL_DEPTH:
                root.flags.add("depth_limit")
            else:
                nested = made("multipart/mixed", b"", _headers(attachment.item))
                child = made("message/rfc822", b"", (), attachment.name, True)
                child.children.append(nested)
                entity.children.append(child)
                waiting.append((attachment.item, nested, depth + 1))
    return root


def _headers(item: MapiItem) -> list[tuple[str, str]]:
    """Returns the headers that the mail came with, and those that its properties know besides."""
    transported = _transport_headers(item.text(_HEADERS))
    has = {name.lower() for name, _ in transported}
    author = _address(item.properties, *_AUTHOR)
    sender = _address(item.properties, *_SENDER)
    own = [("From", author or sender), ("Sender", sender if author and sender != author else "")]
    for kind, (header, displayed) in _LISTS.items():
        people = [_address(one, *_RECIPIENT) for one in item.recipients if one.get(_RECIPIENT_KIND, 1) == kind]
        # Outlook puts marks around displayed names that are addresses.
        names = (one.strip().strip("'") for one in item.text(displayed).split(";"))
        own.append((header, ", ".join(filter(None, people)) or ", ".join(filter(None, names))))
    own.append(("Date", _date(item)))
    own.append(("Subject", item.text(_SUBJECT) or item.text(0x0E1D) or item.text(0x0070)))
    own += [("Message-ID", item.text(_MESSAGE_ID)), ("In-Reply-To", item.text(_REPLY_TO_ID))]
    own.append(("References", item.text(_REFERENCES)))
    return transported + [(name, value) for name, value in own if value and name.lower() not in has]


def _transport_headers(text: str) -> list[tuple[str, str]]:
    # Some writers put a line of their own above the fields.
    text = re.sub(r"\AMicrosoft Mail Internet Headers[^\r\n]*\r?\n", "", text.lstrip())
    if not text:
        return []
    message: Message = headers_of(text.encode("utf-8", "surrogateescape"))
    return [(name, str(value)) for name, value in message.raw_items() if not _CODED.match(name)]


def _address(properties: Mapping[PropertyKey, PropertyValue], name: int, address: int, kind: int, smtp: int) -> str:
    """Returns a person as a header writes them; an address of another kind than SMTP stands only for a missing one."""
    display_name = text_of(properties, name).strip("'\" ")
    where = text_of(properties, smtp) or text_of(properties, address)
    if "@" not in where or text_of(properties, kind).upper() == "EX":
        # A distinguished name of Exchange ("/O=.../CN=...") is no address outside of it.
        display_name, where = display_name or where.rpartition("=")[2], text_of(properties, smtp)
    where = "".join(where.split()).strip("<>'")
    if not where and "@" in display_name:
        where = "".join(display_name.split())
    if not where or display_name == where:
        return where or _quote(display_name)
    return f"{_quote(display_name)} <{where}>" if display_name else where


def _quote(name: str) -> str:
    name = " ".join(name.split())
    if not _SPECIAL.search(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _date(item: MapiItem) -> str:
    mail = item.text(_CLASS).lower().startswith(("ipm.note", "report")) or not item.text(_CLASS)
    for key in (_SENT, _DELIVERED, *(() if mail else (_CREATED,))):
        value = item.properties.get(key)
        if isinstance(value, datetime):
            return format_datetime(value)
    return ""


def _bodies(item: MapiItem) -> list[Entity]:
    """Returns the body of an item: plain text, HTML or RTF."""
    plain, html = item.text(_BODY), item.properties.get(_HTML, b"")
    if isinstance(html, bytes):
        code_page = item.properties.get(_INTERNET_CODE_PAGE)
        charset = code_page_charset(code_page) if isinstance(code_page, int) else None
        html = decode(html, charset)[0] if html else ""
    if not plain.strip() and not str(html).strip():
        packed = item.properties.get(_RTF, b"")
        rtf = unpacked_rtf(packed) if isinstance(packed, bytes) else b""
        plain, html, flags = rtf_body(rtf)
        item.flags |= flags
    both = [_text(kind, text) for kind, text in (("plain", plain), ("html", str(html))) if text.strip()]
    if len(both) > 1:
        alternative = made("multipart/alternative", b"")
        alternative.children.extend(both)
        both = [alternative]
    return both


def _details(item: MapiItem) -> list[Entity]:
    """Returns the main properties of an item that is no mail."""
    kind = item.text(_CLASS).lower()
    fields = next((fields for start, fields in _SHOWN.items() if kind.startswith(start)), ())
    lines = [(label, " ".join(item.text(*keys).split())) for label, keys in fields]
    shown = "\n".join(f"{label}: {text}" for label, text in lines if text)
    return [_text("plain", shown)] if shown else []


def _text(kind: str, text: str) -> Entity:
    entity = made(f"text/{kind}", clean(text).encode("utf-8"))
    entity.message.set_param("charset", "utf-8")
    return entity
