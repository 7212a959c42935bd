"""Reads TNEF (MS-OXTNEF), the `winmail.dat` of Outlook: a stream of attributes with the properties of an item."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_MAIL_DEPTH, MAX_MAIL_PARTS, MAX_TNEF_PROPERTIES
from cinnabar.extraction.documents.mail.mapi import (
    MapiAttachment,
    MapiItem,
    PropertyKey,
    PropertyValue,
    code_page_charset,
    entity_of,
    fixed_value,
    text_of,
    variable_value,
)
from cinnabar.extraction.documents.mail.mime import Entity
from cinnabar.extraction.documents.plain.charsets import decode

SIGNATURE = b"\x78\x9f\x3e\x22"
_MESSAGE = bytes.fromhex("0703020000000000c000000000000046")
# The bytes of a value by its kind, padded to four.
_SIZES = {
    0x0000: 4, 0x0001: 4, 0x0002: 4, 0x0003: 4, 0x0004: 4, 0x0005: 8, 0x0006: 8, 0x0007: 8, 0x000A: 4, 0x000B: 4,
    0x0014: 8, 0x0040: 8, 0x0048: 16,
}  # fmt: skip
_VARIABLE = (0x000D, 0x001E, 0x001F, 0x0102)
# Attributes of the whole item that are one property each.
_TEXTS = {0x8004: 0x0037, 0x800C: 0x1000, 0x8008: 0x001A, 0x8009: 0x1035}
_TIMES = {0x8005: 0x0039, 0x8006: 0x0E06}
_FROM, _CODE_PAGE, _PROPERTIES, _RECIPIENTS = 0x8000, 0x9007, 0x9003, 0x9004
_BEGIN_ATTACHMENT, _TITLE, _CONTENT, _ATTACHED_PROPERTIES = 0x9002, 0x8010, 0x800F, 0x9005


def tnef_entity(data: bytes, count: Callable[[int], None], with_body: bool = True) -> Entity:
    """Returns the item in a TNEF stream as a mail. `count` is told the bytes that are taken out.

    Raises DocumentError: broken, if not one attribute can be read.
    """
    return entity_of(_item(data, count, 0), with_body)


def _item(data: bytes, count: Callable[[int], None], depth: int) -> MapiItem:
    if not data.startswith(SIGNATURE):
        raise DocumentError("broken", "the signature of TNEF is missing")
    count(len(data))
    item, charset, at, read = MapiItem(), "cp1252", 6, 0
    current = MapiAttachment()
    while at + 9 <= len(data):
        number, _, size = struct.unpack_from("<HHI", data, at + 1)
        content = data[at + 9 : at + 9 + size]
        at += 9 + size + 2
        if len(content) < size:
            item.flags.add("truncated")
        read += 1
        if number == _CODE_PAGE and len(content) >= 4:
            charset = code_page_charset(int.from_bytes(content[:4], "little"))
        elif number in _TEXTS:
            item.properties.setdefault(_TEXTS[number], decode(content.rstrip(b"\x00"), charset)[0])
        elif number in _TIMES and (time := _time(content)) is not None:
            item.properties.setdefault(_TIMES[number], time)
        elif number == _FROM:
            item.properties |= _triple(content, charset, item.properties)
        elif number == _PROPERTIES:
            item.properties |= _Properties(content, charset, count, depth, item.flags).read()
        elif number == _RECIPIENTS:
            item.recipients += _Properties(content, charset, count, depth, item.flags).rows()
        elif number == _BEGIN_ATTACHMENT:
            if len(item.attachments) >= MAX_MAIL_PARTS:
                item.flags.add("truncated")
                break
            current = MapiAttachment()
            item.attachments.append(current)
        elif number == _TITLE:
            current.name = current.name or decode(content.rstrip(b"\x00"), charset)[0]
        elif number == _CONTENT:
            current.data = content
        elif number == _ATTACHED_PROPERTIES:
            _describe(current, _Properties(content, charset, count, depth, item.flags))
    if not read:
        raise DocumentError("broken", "TNEF without one attribute")
    return item


def _describe(attachment: MapiAttachment, properties: _Properties) -> None:
    values = properties.read()
    # The title of an item within the item is its file name of eight characters.
    titles = (text_of(values, 0x3707), attachment.name, text_of(values, 0x3704, 0x3001))
    names = (text_of(values, 0x3707, 0x3001), attachment.name) if properties.embedded is not None else titles
    attachment.name = next(filter(None, names), "")
    attachment.media_type = text_of(values, 0x370E).lower()
    attachment.content_id = text_of(values, 0x3712).strip("<> ")
    attachment.item = properties.embedded
    data = values.get(0x3701)
    if isinstance(data, bytes) and attachment.item is None and not attachment.data:
        attachment.data = data


def _time(content: bytes) -> datetime | None:
    """Returns a moment of six numbers, from the year to the second."""
    if len(content) < 12:
        return None
    try:
        year, month, day, hour, minute, second = struct.unpack_from("<6H", content)
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _triple(content: bytes, charset: str, known: dict[PropertyKey, PropertyValue]) -> dict[PropertyKey, PropertyValue]:
    """Returns the sender in attFrom: sizes, then the name and `KIND:address`, each with a NUL at its end."""
    if len(content) < 8:
        return {}
    _, _, name_size, address_size = struct.unpack_from("<4H", content)
    name = decode(content[8 : 8 + name_size].split(b"\x00")[0], charset)[0]
    where = decode(content[8 + name_size : 8 + name_size + address_size].split(b"\x00")[0], charset)[0]
    kind, _, address = where.rpartition(":")
    sender: dict[PropertyKey, PropertyValue] = {0x0C1A: name, 0x0C1E: kind, 0x0C1F: address}
    return {key: value for key, value in sender.items() if value and key not in known}


class _Properties:
    """Reads an encoded list of properties; `embedded` is the item that one of them holds."""

    def __init__(self, data: bytes, charset: str, count: Callable[[int], None], depth: int, flags: set[str]) -> None:
        self._data, self._at, self._charset = data, 0, charset
        self._count, self._depth, self._flags = count, depth, flags
        self.embedded: MapiItem | None = None

    def rows(self) -> list[dict[PropertyKey, PropertyValue]]:
        """Returns the properties of each row of a table."""
        rows = []
        try:
            for _ in range(min(self._number(), MAX_MAIL_PARTS)):
                rows.append(self._row())
        except (struct.error, IndexError):
            self._flags.add("truncated")
        return rows

    def read(self) -> dict[PropertyKey, PropertyValue]:
        """Returns one list, as far as it can be read."""
        self._values_by_key: dict[PropertyKey, PropertyValue] = {}
        try:
            self._row()
        except (struct.error, IndexError):
            self._flags.add("truncated")
        return self._values_by_key

    def _row(self) -> dict[PropertyKey, PropertyValue]:
        self._values_by_key = row = {}
        for _ in range(min(self._number(), MAX_TNEF_PROPERTIES)):
            kind, number = struct.unpack("<HH", self._take(4))
            key: PropertyKey = number
            if number >= 0x8000:
                guid, named = self._take(16), self._number()
                if named == 0:
                    key = (guid, self._number())
                else:
                    self._take_padded(self._number())
            value = self._value(kind)
            if value is not None:
                row[key] = value
        return row

    def _value(self, kind: int) -> PropertyValue | None:
        single = kind & 0x0FFF
        # Kinds of variable size always have a count; those of fixed size only if they are lists.
        many = self._number() if kind & 0x1000 or single in _VARIABLE else 1
        first: PropertyValue | None = None
        for index in range(many):
            if single in _VARIABLE:
                value = self._variable(single, self._take_padded(self._number()))
            elif single in _SIZES:
                value = fixed_value(single, self._take(_SIZES[single]))
            else:
                raise IndexError(f"a kind of property that has no known size: {kind:#x}")
            first = value if index == 0 else first
        return first

    def _variable(self, kind: int, data: bytes) -> PropertyValue | None:
        if kind == 0x000D:
            if data.startswith(_MESSAGE) and data[16:20] == SIGNATURE:
                if self._depth < MAX_MAIL_DEPTH:
                    self.embedded = _item(data[16:], self._count, self._depth + 1)
                else:
                    self._flags.add("depth_limit")
                return None
            return data[16:]
        return variable_value(kind, data, self._charset)

    def _number(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        if len(taken) < size:
            raise IndexError("the list of properties ends early")
        return taken

    def _take_padded(self, size: int) -> bytes:
        taken = self._take(size)
        self._at += -size % 4
        return taken
