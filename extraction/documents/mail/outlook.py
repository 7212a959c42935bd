"""Reads `.msg` files of Outlook (MS-OXMSG): OLE files with a stream for each property of an item."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Mapping
from typing import Any

import olefile

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_MAIL_DEPTH, MAX_MAIL_PARTS
from cinnabar.extraction.documents.content.parse_context import ParseContext
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
from cinnabar.extraction.documents.mail.reader import add_message

_PROPERTIES, _NAMES = "__properties_version1.0", "__nameid_version1.0"
_STREAM = re.compile(r"__substg1\.0_([0-9A-Fa-f]{4})([0-9A-Fa-f]{4})")
_TEXT, _TEXT_8, _BINARY, _OBJECT = 0x001F, 0x001E, 0x0102, 0x000D
_DATA, _LONG_NAME, _SHORT_NAME, _DISPLAY_NAME, _TYPE, _CONTENT_ID = 0x3701, 0x3707, 0x3704, 0x3001, 0x370E, 0x3712
_HIDDEN = 0x7FFE
# The sets of names that are numbered ahead of those that a file lists.
_FIRST_SET = 3

# A storage: its streams by name, and the storages in it.
_Path = tuple[str, ...]


def add_outlook(reading: ParseContext, data: bytes) -> None:
    """Appends an item of Outlook as the mail that it is. Raises DocumentError: unsupported, or broken."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            item = _Storages(ole, reading).item(())
    except (OSError, ValueError, IndexError, struct.error, AttributeError, TypeError) as error:
        raise DocumentError("broken", f"a damaged OLE file: {type(error).__name__}") from error
    add_message(reading, entity_of(item))


class _Storages:
    """The storages and streams of an OLE file."""

    def __init__(self, ole: Any, reading: ParseContext) -> None:
        self._ole, self._reading = ole, reading
        self._inside: dict[_Path, dict[str, None]] = {}
        for path in ole.listdir(streams=True, storages=True):
            whole = tuple(path)
            for length in range(len(whole)):
                self._inside.setdefault(whole[:length], {})[whole[length]] = None
        if _PROPERTIES not in self._inside.get((), {}):
            raise DocumentError("unsupported", "the OLE file is no item of Outlook (.msg)")
        self._named = self._names()

    def item(self, path: _Path, depth: int = 0) -> MapiItem:
        """Returns the item in a storage, with the items within it."""
        own = MapiItem(self._values(path, 32 if not path else 24))
        storages = [name for name in self._inside.get(path, ()) if name.startswith("__")]
        for name in storages:
            if name.startswith("__recip_version1.0") and len(own.recipients) < MAX_MAIL_PARTS:
                own.recipients.append(self._values((*path, name), 8))
            elif name.startswith("__attach_version1.0"):
                if len(own.attachments) >= MAX_MAIL_PARTS:
                    own.flags.add("truncated")
                    break
                own.attachments.append(self._attachment((*path, name), own, depth))
        return own

    def _attachment(self, path: _Path, own: MapiItem, depth: int) -> MapiAttachment:
        values = self._values(path, 8)
        attachment = MapiAttachment(
            name=text_of(values, _LONG_NAME, _SHORT_NAME, _DISPLAY_NAME).strip(),
            media_type=text_of(values, _TYPE).strip().lower(),
            content_id=text_of(values, _CONTENT_ID).strip("<> "),
            inline=bool(values.get(_HIDDEN, False)),
        )
        embedded = (*path, f"__substg1.0_{_DATA:04X}{_OBJECT:04X}")
        data = values.get(_DATA)
        if isinstance(data, bytes):
            attachment.data = data
        elif _PROPERTIES in self._inside.get(embedded, {}):
            if depth < MAX_MAIL_DEPTH:
                attachment.item = self.item(embedded, depth + 1)
            else:
                own.flags.add("depth_limit")
        return attachment

    def _read(self, path: _Path) -> bytes:
        self._reading.count(self._ole.get_size(path))
        return bytes(self._ole.openstream(path).read())

    def _values(self, path: _Path, head: int) -> dict[PropertyKey, PropertyValue]:
        """Returns the properties of a storage; `head` bytes precede those of fixed size."""
        streams = self._inside.get(path, {})
        values: dict[int, PropertyValue] = {}
        if _PROPERTIES in streams:
            values |= _fixed_properties(self._read((*path, _PROPERTIES))[head:])
        charset = code_page_charset(values.get(0x3FFD) or values.get(0x3FDE))
        for name in streams:
            match = _STREAM.fullmatch(name)
            if match is None:
                continue
            number, kind = int(match[1], 16), int(match[2], 16)
            if kind in (_TEXT, _TEXT_8, _BINARY):
                values[number] = variable_value(kind, self._read((*path, name)), charset)
        return {self._named.get(number, number): value for number, value in values.items()}

    def _names(self) -> Mapping[int, PropertyKey]:
        """Returns the sets and numbers of named properties, by the numbers that stand for them in this file."""
        streams = self._inside.get((_NAMES,), {})
        wanted = ("__substg1.0_00020102", "__substg1.0_00030102")
        if any(name not in streams for name in wanted):
            return {}
        sets, entries = (self._read((_NAMES, name)) for name in wanted)
        names: dict[int, PropertyKey] = {}
        for at in range(0, len(entries) - 7, 8):
            number, what, index = struct.unpack_from("<IHH", entries, at)
            first = (what >> 1) - _FIRST_SET
            if not what & 1 and first >= 0 and len(guid := sets[16 * first : 16 * first + 16]) == 16:
                names[0x8000 + index] = (guid, number)
        return names


def _fixed_properties(entries: bytes) -> dict[int, PropertyValue]:
    """Returns the properties that a table holds itself: numbers, yes or no, and times."""
    properties: dict[int, PropertyValue] = {}
    for at in range(0, len(entries) - 15, 16):
        kind, number = struct.unpack_from("<HH", entries, at)
        value = fixed_value(kind, entries[at + 8 : at + 16])
        if value is not None:
            properties[number] = value
    return properties
