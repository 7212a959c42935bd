"""Finds drawings of a page that lie on an optional layer which is off."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.pdf.glyphs import Frame
from cinnabar.extraction.documents.pdf.rendering import grey_pixels

# The entry of a drawing that names its layer. A drawing is a stream, and its entries are never packed.
_ON_LAYER = re.compile(rb"/OC\s*(?:\d{1,10}\s+\d{1,10}\s+R|<<)")
# Drawings of a page that are looked at, and pixels to a point.
_MAX_DRAWINGS, _SCALE = 40, 0.5


def has_layers(data: bytes) -> bool:
    """Returns whether a drawing in a PDF may lie on an optional layer."""
    return _ON_LAYER.search(data) is not None


def switch_off_unseen(page: Any, frame: Frame) -> bool:
    """Takes the drawings that leave no mark out of an open page; returns whether text was in them.

    pdfium's text has the words of layers that are off. A drawing is a form in the words of PDF; its entries cannot be
    asked for, but the page looks the same without one that is on such a layer.
    """
    forms = [
        one
        for one in (pdfium.FPDFPage_GetObject(page, at) for at in range(pdfium.FPDFPage_CountObjects(page)))
        if pdfium.FPDFPageObj_GetType(one) == pdfium.FPDF_PAGEOBJ_FORM
    ][:_MAX_DRAWINGS]
    if not forms or (whole := grey_pixels(page, frame, _SCALE)) is None:
        return False
    before, off = _characters(page), False
    for one in forms:
        pdfium.FPDFPageObj_SetIsActive(one, False)
        without = grey_pixels(page, frame, _SCALE)
        if without is not None and np.array_equal(whole, without):
            off = True
        else:
            pdfium.FPDFPageObj_SetIsActive(one, True)
    return off and _characters(page) < before


def _characters(page: Any) -> int:
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return 0
    try:
        return int(pdfium.FPDFText_CountChars(text_page))
    finally:
        pdfium.FPDFText_ClosePage(text_page)
