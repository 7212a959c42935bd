"""The values of an XFA form: the leaves of its XML data."""

from __future__ import annotations

import ctypes
from typing import Any
from xml.parsers import expat

import pypdfium2.raw as pdfium

_MAX_PACKETS, _MAX_BYTES, _MAX_DEPTH, _MAX_LEAVES = 64, 16 << 20, 100, 20_000


class _Refused(Exception):
    """The XML declares entities, or is nested too deep."""


def xfa_values(document: Any) -> list[tuple[str, str]] | None:
    """Returns the path and the text of each leaf of an XFA form's data; None if the data cannot be read.

    A document without such a form has no leaf.
    """
    count = max(pdfium.FPDF_GetXFAPacketCount(document), 0)
    for index in range(min(count, _MAX_PACKETS)):
        if _packet_name(document, index) == "datasets":
            data = _packet(document, index)
            return None if data is None else leaves(data)
    return []


def leaves(data: bytes) -> list[tuple[str, str]] | None:
    """Returns the path and the text of each leaf of XML; None if it is not well-formed or declares entities."""
    path: list[str] = []
    text: list[str] = []
    found: list[tuple[str, str]] = []
    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise _Refused

    def begin(name: str, _: dict[str, str]) -> None:
        if len(path) >= _MAX_DEPTH:
            raise _Refused
        path.append(name.rpartition(":")[2])
        text.clear()

    def end(_: str) -> None:
        said = " ".join("".join(text).split())
        if said and len(found) < _MAX_LEAVES:
            found.append((".".join(path[2:] or path), said))
        path.pop()
        text.clear()

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = text.append
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _Refused, ValueError):
        return None
    return found


def _packet_name(document: Any, index: int) -> str:
    size = pdfium.FPDF_GetXFAPacketName(document, index, None, 0)
    buffer = ctypes.create_string_buffer(min(max(size, 1), 256))
    pdfium.FPDF_GetXFAPacketName(document, index, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def _packet(document: Any, index: int) -> bytes | None:
    size = ctypes.c_ulong()
    if not pdfium.FPDF_GetXFAPacketContent(document, index, None, 0, size) or not 0 < size.value <= _MAX_BYTES:
        return None
    buffer = ctypes.create_string_buffer(size.value)
    if not pdfium.FPDF_GetXFAPacketContent(document, index, buffer, size.value, size):
        return None
    return buffer.raw[: size.value]
