"""Values of form fields and comments, which the text of a page does not hold, and those of an XFA form."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.content.limits import (
    MAX_ANNOTATIONS,
    MAX_FIELD_BYTES,
    MAX_FIELD_OPTIONS,
    MAX_XFA_BYTES,
    MAX_XFA_DEPTH,
    MAX_XFA_PACKETS,
    MAX_XFA_VALUES,
)
from cinnabar.extraction.documents.marks.boxes_and_lines import WRITTEN
from cinnabar.extraction.documents.office.package import local, xml_tree

# A password that was typed into a field is shown to nobody.
_PASSWORD_FIELD = 1 << 13
_UNSEEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
# The annotations whose contents are something that a person wrote. A pop-up repeats the contents of its annotation.
_WRITTEN = (
    pdfium.FPDF_ANNOT_TEXT,
    pdfium.FPDF_ANNOT_FREETEXT,
    pdfium.FPDF_ANNOT_LINE,
    pdfium.FPDF_ANNOT_SQUARE,
    pdfium.FPDF_ANNOT_CIRCLE,
    pdfium.FPDF_ANNOT_POLYGON,
    pdfium.FPDF_ANNOT_POLYLINE,
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
    pdfium.FPDF_ANNOT_STAMP,
    pdfium.FPDF_ANNOT_CARET,
    pdfium.FPDF_ANNOT_INK,
    pdfium.FPDF_ANNOT_FILEATTACHMENT,
)
_BUTTONS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_OFF = "Off"


@dataclass(frozen=True, slots=True)
class Entry:
    """A text beside the page: the value of a field, or a comment.

    label: the field's name, or the comment's author. box: (left, top, right, bottom) in user space, y upwards. drawn:
    the page may show the text itself. unseen: the annotation is hidden.
    """

    label: str
    text: str
    box: tuple[float, float, float, float]
    drawn: bool
    unseen: bool


@dataclass(slots=True)
class PageEntries:
    """The entries of a page; `flatten` says that its annotations have to be drawn into it.

    widgets: the boxes of all fields of the form, as those of entries. buttons: those of check boxes and radio buttons
    that are shown, and whether each is on. struck: the boxes of the lines that are struck out.
    """

    fields: list[Entry] = field(default_factory=list)
    notes: list[Entry] = field(default_factory=list)
    files: list[Any] = field(default_factory=list)
    widgets: list[tuple[float, float, float, float]] = field(default_factory=list)
    buttons: list[tuple[tuple[float, float, float, float], bool]] = field(default_factory=list)
    struck: list[tuple[float, float, float, float]] = field(default_factory=list)
    flatten: bool = False
    cut: bool = False


def page_entries(page: Any, form: Any, groups: set[str]) -> PageEntries:
    """Returns the values of fields and the comments of an open page.

    form: pdfium's form of the document, None if it has none. groups: names of the buttons that were read before; a
    group is read once in a document.
    """
    entries = PageEntries()
    count = pdfium.FPDFPage_GetAnnotCount(page)
    entries.cut = count > MAX_ANNOTATIONS
    for index in range(min(count, MAX_ANNOTATIONS)):
        with _open_annotation(page, index) as annotation:
            if not annotation:
                continue
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                entries.flatten = True
                entries.widgets.append(_box(annotation))
                if form is not None and (on := _is_on(annotation, form)) is not None:
                    entries.buttons.append((_box(annotation), on))
                if form is not None and (entry := _field(annotation, form, groups)) is not None:
                    entries.fields.append(entry)
            elif kind in _WRITTEN:
                if kind == pdfium.FPDF_ANNOT_FILEATTACHMENT:
                    entries.files.append(pdfium.FPDFAnnot_GetFileAttachment(annotation))
                if kind == pdfium.FPDF_ANNOT_STRIKEOUT and not _is_unseen(annotation):
                    entries.struck += _quads(annotation)
                entries.flatten |= kind == pdfium.FPDF_ANNOT_FREETEXT
                text = string_of(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents").strip()
                if text:
                    author = string_of(pdfium.FPDFAnnot_GetStringValue, annotation, b"T").strip()
                    drawn = kind in (pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP)
                    entries.notes.append(Entry(author, text, _box(annotation), drawn, _is_unseen(annotation)))
    return entries


@contextmanager
def _open_annotation(page: Any, index: int) -> Iterator[Any]:
    annotation = pdfium.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation
    finally:
        if annotation:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _field(annotation: Any, form: Any, groups: set[str]) -> Entry | None:
    """Returns the value of a field, None for a field without one."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (-1, pdfium.FPDF_FORMFIELD_PUSHBUTTON):
        return None
    if pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD_FIELD and kind not in (*_BUTTONS, *_CHOICES):
        return None
    name = string_of(pdfium.FPDFAnnot_GetFormFieldName, form, annotation).strip()
    value = string_of(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation).strip()
    drawn = True
    if kind == pdfium.FPDF_FORMFIELD_SIGNATURE:
        # A signature is no text, but whether there is one may be asked.
        value, drawn = WRITTEN if pdfium.FPDFAnnot_HasKey(annotation, b"V") else "", False
    elif kind in _BUTTONS:
        # Each button of a group has the group's value; the box of the one that is on tells the place.
        state = string_of(pdfium.FPDFAnnot_GetStringValue, annotation, b"AS")
        # pdfium takes a button that no appearance is drawn for as off.
        bare = not pdfium.FPDFAnnot_HasKey(annotation, b"AP")
        if kind == pdfium.FPDF_FORMFIELD_RADIOBUTTON and (bare or not state):
            # Only the state of a button that is on tells the group's value; else the tree of the form may.
            if state in ("", _OFF):
                return None
            value = state
        elif bare:
            value = string_of(pdfium.FPDFAnnot_GetStringValue, annotation, b"V") or state
        value, drawn = value or state or _OFF, False
        if name in groups or (value != _OFF and state in ("", _OFF) and kind == pdfium.FPDF_FORMFIELD_RADIOBUTTON):
            return None
        groups.add(name)
    elif kind in _CHOICES:
        value = _chosen(annotation, form) or value
    if not value:
        return None
    label = string_of(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation).strip()
    return Entry(label or name, value, _box(annotation), drawn, _is_unseen(annotation))


def _is_on(annotation: Any, form: Any) -> bool | None:
    """Returns whether a check box or a radio button is on; None if it is hidden, in doubt, or another field."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind not in _BUTTONS or _is_unseen(annotation):
        return None
    state = string_of(pdfium.FPDFAnnot_GetStringValue, annotation, b"AS")
    told = [state]
    if kind == pdfium.FPDF_FORMFIELD_CHECKBOX and not (state and pdfium.FPDFAnnot_HasKey(annotation, b"AP")):
        own = string_of(pdfium.FPDFAnnot_GetStringValue, annotation, b"V")
        told.append(own or string_of(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation).strip() or _OFF)
    states = {one != _OFF for one in told if one}
    return states.pop() if len(states) == 1 else None


def _chosen(annotation: Any, form: Any) -> str:
    """Returns the labels of the chosen options, which a reader sees in place of their values."""
    count = min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), MAX_FIELD_OPTIONS)
    labels = [
        string_of(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, at).strip()
        for at in range(max(count, 0))
        if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, at)
    ]
    return ", ".join(filter(None, labels))


def _is_unseen(annotation: Any) -> bool:
    return bool(pdfium.FPDFAnnot_GetFlags(annotation) & _UNSEEN)


def _box(annotation: Any) -> tuple[float, float, float, float]:
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, rectangle):
        return 0.0, 0.0, 0.0, 0.0
    left, right = sorted((rectangle.left, rectangle.right))
    bottom, top = sorted((rectangle.bottom, rectangle.top))
    return left, top, right, bottom


def _quads(annotation: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yields the boxes of the lines of text that an annotation marks."""
    quad = pdfium.FS_QUADPOINTSF()
    for at in range(min(pdfium.FPDFAnnot_CountAttachmentPoints(annotation), MAX_ANNOTATIONS)):
        if pdfium.FPDFAnnot_GetAttachmentPoints(annotation, at, quad):
            across, up = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            yield min(across), max(up), max(across), min(up)


def string_of(function: Any, *arguments: Any) -> str:
    """Returns the string that a function of pdfium writes into a buffer, its last two parameters; "" if none."""
    size = int(function(*arguments, None, 0))
    if size <= 2:
        return ""
    size = min(size, MAX_FIELD_BYTES)
    buffer = ctypes.create_string_buffer(size)
    written = int(function(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size))
    return buffer.raw[: min(written, size)].decode("utf-16-le", "replace").split("\0")[0]


def xfa_values(document: Any) -> list[tuple[str, str]] | None:
    """Returns the path and the text of each leaf of an XFA form's data; None if the data cannot be read.

    A document without such a form has no leaf.
    """
    count = max(pdfium.FPDF_GetXFAPacketCount(document), 0)
    for index in range(min(count, MAX_XFA_PACKETS)):
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
    while waiting and len(texts) < MAX_XFA_VALUES:
        above, element = waiting.pop()
        path = (*above, local(element))
        if len(path) > MAX_XFA_DEPTH:
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
    if not pdfium.FPDF_GetXFAPacketContent(document, index, None, 0, size) or not 0 < size.value <= MAX_XFA_BYTES:
        return None
    buffer = ctypes.create_string_buffer(size.value)
    if not pdfium.FPDF_GetXFAPacketContent(document, index, buffer, size.value, size):
        return None
    return buffer.raw[: size.value]
