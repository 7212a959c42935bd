"""The values of an XFA form: the elements with text in its XML data."""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.office.package import local, xml_tree

_MAX_PACKETS, _MAX_BYTES, _MAX_DEPTH, _MAX_LEAVES = 64, 16 << 20, 100, 20_000


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
    """Returns the path and the text of each element of XML that has text of its own.

    None stands for XML that is not well-formed, declares a document type or is nested too deep.
    """
    root, damaged = xml_tree(data)
    if root is None or damaged or root.getroottree().docinfo.doctype:
        return None
    texts: list[tuple[str, str]] = []
    waiting: list[tuple[tuple[str, ...], Any]] = [((), root)]
    while waiting and len(texts) < _MAX_LEAVES:
        above, element = waiting.pop()
        path = (*above, local(element))
        if len(path) > _MAX_DEPTH:
            return None
        text = " ".join(" ".join([element.text or "", *(one.tail or "" for one in element)]).split())
        if text:
            # The first two elements only hold the others.
            texts.append((".".join(path[2:] or path), text))
        waiting += [(path, one) for one in reversed(element)]
    return texts


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
