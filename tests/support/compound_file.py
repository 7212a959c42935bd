"""Writes OLE files with one stream, for tests."""

from __future__ import annotations

import struct

_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def compound_file(name: str, data: bytes) -> bytes:
    """Returns an OLE file of version 3 with one stream at its top; shorter data is filled up with zeros."""
    data = data.ljust(4096, b"\0")
    data += bytes(-len(data) % 512)
    count = len(data) // 512
    assert count <= 120
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9L", 0, 1, 1, 0, 4096, _END, 0, _END, 0) + struct.pack("<109L", 0, *[_FREE] * 108)
    chain = [_FAT, _END, *range(3, 2 + count), _END]
    fat = struct.pack("<128L", *chain, *[_FREE] * (128 - len(chain)))
    root = _entry("Root Entry", 5, child=1, start=_END, size=0)
    entries = root + _entry(name, 2, child=_FREE, start=2, size=len(data)) + bytes(256)
    return header + fat + entries + data


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    spelled = (name + "\0").encode("utf-16-le")
    entry = spelled.ljust(64, b"\0") + struct.pack("<H2B3L", len(spelled), kind, 1, _FREE, _FREE, child)
    return entry + bytes(36) + struct.pack("<LQ", start, size)
