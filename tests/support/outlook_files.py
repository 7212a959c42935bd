"""Writes files of Outlook for tests: OLE files (MS-CFB), items in them (MS-OXMSG), TNEF streams and packed RTF."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

SECTOR, SMALL, END, FREE, FAT = 512, 64, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
TEXT, TEXT_8, BINARY, NUMBER, TIME, OBJECT = 0x001F, 0x001E, 0x0102, 0x0003, 0x0040, 0x000D
Tree = dict[str, "bytes | Tree"]
Value = str | bytes | int | datetime


@dataclass
class Item:
    """An item: properties by number, or by set and number; recipients; attachments with their own properties."""

    properties: dict[int | tuple[bytes, int], Value] = field(default_factory=dict)
    recipients: list[dict[int, Value]] = field(default_factory=list)
    attachments: list[dict[int, Value | Item]] = field(default_factory=list)
    code_page: int = 0


def msg(item: Item) -> bytes:
    """An `.msg` file."""
    names: list[tuple[bytes, int]] = []
    tree = _storage(item, 32, names)
    sets = sorted({guid for guid, _ in names})
    entries = b"".join(
        struct.pack("<IHH", number, (3 + sets.index(guid)) << 1, index) for index, (guid, number) in enumerate(names)
    )
    tree["__nameid_version1.0"] = {
        "__substg1.0_00020102": b"".join(sets), "__substg1.0_00030102": entries, "__substg1.0_00040102": b"",
    }  # fmt: skip
    return ole(tree)


def _storage(item: Item, head: int, names: list[tuple[bytes, int]]) -> Tree:
    tree: Tree = {}
    numbered: dict[int, Value | Item] = {}
    for key, value in item.properties.items():
        if isinstance(key, tuple):
            if key not in names:
                names.append(key)
            key = 0x8000 + names.index(key)
        numbered[key] = value
    tree |= _properties(numbered, head, names, item.code_page)
    for index, recipient in enumerate(item.recipients):
        tree[f"__recip_version1.0_#{index:08X}"] = _properties(dict(recipient), 8, names, item.code_page)
    for index, attachment in enumerate(item.attachments):
        tree[f"__attach_version1.0_#{index:08X}"] = _properties(attachment, 8, names, item.code_page)
    return tree


def _properties(values: dict[int, Value | Item], head: int, names: list[tuple[bytes, int]], code_page: int) -> Tree:
    tree: Tree = {}
    fixed = [struct.pack("<HHIq", NUMBER, 0x3FFD, 6, code_page)] if code_page else []
    for number, value in values.items():
        if isinstance(value, Item):
            tree[f"__substg1.0_{number:04X}{OBJECT:04X}"] = _storage(value, 24, names)
        elif isinstance(value, str) and code_page:
            tree[f"__substg1.0_{number:04X}{TEXT_8:04X}"] = value.encode(f"cp{code_page}")
        elif isinstance(value, str):
            tree[f"__substg1.0_{number:04X}{TEXT:04X}"] = value.encode("utf-16-le")
        elif isinstance(value, bytes):
            tree[f"__substg1.0_{number:04X}{BINARY:04X}"] = value
        else:
            kind, raw = (TIME, file_time(value)) if isinstance(value, datetime) else (NUMBER, value)
            fixed.append(struct.pack("<HHIq", kind, number, 6, raw))
    return tree | {"__properties_version1.0": bytes(head) + b"".join(fixed)}


def file_time(moment: datetime) -> int:
    return int((moment - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000


def ole(tree: Tree) -> bytes:
    """An OLE file."""
    entries: list[list[object]] = [["Root Entry", 5, FREE, b""]]

    def add(inside: Tree) -> int:
        """The entries of a storage, as a list of right siblings; the number of the first one."""
        first = last = FREE
        for name, content in inside.items():
            number = len(entries)
            entries.append([name, 1 if isinstance(content, dict) else 2, FREE, b"", FREE])
            if last != FREE:
                entries[last][4] = number
            first, last = (number if first == FREE else first), number
            if isinstance(content, dict):
                entries[number][2] = add(content)
            else:
                entries[number][3] = content
        return first

    entries[0].append(FREE)
    entries[0][2] = add(tree)
    sectors: list[bytes] = []
    chain: list[int] = []
    small = bytearray()
    small_chain: list[int] = []

    def store(data: bytes) -> int:
        if not data:
            return END
        first, count = len(sectors), -(-len(data) // SECTOR)
        sectors.extend(data[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, len(data), SECTOR))
        chain.extend([*range(first + 1, first + count), END])
        return first

    def store_small(data: bytes) -> int:
        if not data:
            return END
        first, count = len(small) // SMALL, -(-len(data) // SMALL)
        small.extend(data.ljust(count * SMALL, b"\0"))
        small_chain.extend([*range(first + 1, first + count), END])
        return first

    rows = []
    for name, kind, child, content, sibling in entries[1:]:
        assert isinstance(name, str) and isinstance(content, bytes)
        # Streams below 4,096 bytes lie in small sectors, which are a stream of the root.
        start = 0 if kind == 1 else store(content) if len(content) >= 4096 else store_small(content)
        rows.append(_row(name, kind, sibling, child, start, len(content)))
    rows.insert(0, _row("Root Entry", 5, FREE, entries[0][2], store(bytes(small)), len(small)))
    rows += [bytes(68) + struct.pack("<III", FREE, FREE, FREE) + bytes(48)] * (-len(rows) % 4)
    directory = store(b"".join(rows))
    table = struct.pack(f"<{len(small_chain)}I", *small_chain)
    small_table, small_count = store(table.ljust(-(-len(table) // SECTOR) * SECTOR, b"\xff")), -(-len(table) // SECTOR)
    fat_sectors = 1
    while (len(chain) + fat_sectors) * 4 > fat_sectors * SECTOR:
        fat_sectors += 1
    first_fat = len(sectors)
    chain.extend([FAT] * fat_sectors)
    fat = struct.pack(f"<{len(chain)}I", *chain).ljust(fat_sectors * SECTOR, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, fat_sectors, directory, 0, 4096, small_table, small_count, END, 0)
    assert fat_sectors <= 109
    header += struct.pack("<109I", *(first_fat + i if i < fat_sectors else FREE for i in range(109)))
    return header + b"".join(sectors) + fat


def _row(name: str, kind: object, sibling: object, child: object, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le") + b"\0\0"
    head = raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw), kind, 1, FREE, sibling, child)
    return head + bytes(36) + struct.pack("<IQ", start, size)


def tnef(item: Item) -> bytes:
    """A TNEF stream; attachments have their title and data as attributes, and their other properties encoded."""
    out = [b"\x78\x9f\x3e\x22", struct.pack("<H", 1), attribute(1, 0x9007, 0x0006, struct.pack("<II", 1252, 0))]
    out.append(attribute(1, 0x9003, 0x0006, encoded(item.properties)))
    if item.recipients:
        rows = struct.pack("<I", len(item.recipients)) + b"".join(encoded(dict(one)) for one in item.recipients)
        out.append(attribute(1, 0x9004, 0x0006, rows))
    for attachment in item.attachments:
        out.append(attribute(2, 0x9002, 0x0006, bytes(14)))
        own = dict(attachment)
        if isinstance(data := own.pop(0x3701, None), bytes):
            out.append(attribute(2, 0x800F, 0x0006, data))
        elif isinstance(data, Item):
            own[0x3701] = data
        out.append(attribute(2, 0x8010, 0x0001, b"SHORT.BIN\0"))
        out.append(attribute(2, 0x9005, 0x0006, encoded(own)))
    return b"".join(out)


def attribute(level: int, number: int, kind: int, data: bytes) -> bytes:
    return struct.pack("<BHHI", level, number, kind, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def encoded(values: Mapping[Any, Value | Item]) -> bytes:
    """A list of properties as TNEF has it."""
    out = [struct.pack("<I", len(values))]
    for key, value in values.items():
        number, name = (0x8001, key[0] + struct.pack("<II", 0, key[1])) if isinstance(key, tuple) else (key, b"")
        if isinstance(value, int):
            kind, data = NUMBER, struct.pack("<i", value)
        elif isinstance(value, datetime):
            kind, data = TIME, struct.pack("<q", file_time(value))
        else:
            if isinstance(value, Item):
                kind, raw = OBJECT, bytes.fromhex("0703020000000000c000000000000046") + tnef(value)
            elif isinstance(value, str):
                kind, raw = TEXT, value.encode("utf-16-le") + b"\0\0"
            else:
                kind, raw = BINARY, value
            data = struct.pack("<II", 1, len(raw)) + raw + bytes(-len(raw) % 4)
        out.append(struct.pack("<HH", kind, number) + name + data)
    return b"".join(out)


def packed_rtf(rtf: bytes) -> bytes:
    """RTF in the packed form, without references to earlier text but the one that ends it."""
    body = bytearray()
    for at in range(0, len(rtf), 8):
        piece = rtf[at : at + 8]
        body += bytes([0 if len(piece) == 8 else 1 << len(piece)]) + piece
    if len(rtf) % 8 == 0:
        body += b"\x01"
    end = (207 + len(rtf)) % 4096
    body += struct.pack(">H", end << 4)
    return struct.pack("<II4sI", len(body) + 12, len(rtf), b"LZFu", 0) + bytes(body)
