"""Writes encrypted ZIP files, for tests."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib


def encrypted_zip(name: str, data: bytes, password: str) -> bytes:
    """Returns a ZIP file with one member, encrypted in the old way of PKZIP."""
    keys = [0x12345678, 0x23456789, 0x34567890]

    def update(byte: int) -> None:
        keys[0] = zlib.crc32(bytes([byte]), keys[0] ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
        keys[1] = ((keys[1] + (keys[0] & 255)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = zlib.crc32(bytes([keys[1] >> 24]), keys[2] ^ 0xFFFFFFFF) ^ 0xFFFFFFFF

    for byte in password.encode():
        update(byte)
    packed = bytearray()
    for byte in bytes(11) + bytes([zlib.crc32(data) >> 24]) + data:
        key = keys[2] | 2
        packed.append(byte ^ ((key * (key ^ 1) >> 8) & 255))
        update(byte)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), bytes(packed))
    made = held.getvalue()
    changed = bytearray(made)
    for start, flag, crc in ((0, 6, 14), (made.index(b"PK\x01\x02"), 8, 16)):
        changed[start + flag] |= 1
        changed[start + crc : start + crc + 4] = struct.pack("<L", zlib.crc32(data))
        changed[start + crc + 8 : start + crc + 12] = struct.pack("<L", len(data))
    return bytes(changed)
