"""Draws pages of a PDF: in grey for OCR, and to see which words show; in colour for a person to look at.

Drawings on an optional layer that is off are switched off.
"""

from __future__ import annotations

import ctypes
import io
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2.raw as pdfium

from cinnabar.extraction.documents.content.limits import MAX_PIXELS
from cinnabar.extraction.documents.pdf.glyphs import Frame, text_of_page

#: Less contrast on a whole page is an empty one.
PAGE_CONTRAST = 24
_Pixels = npt.NDArray[np.uint8]


def page_pixels(
    page: Any, frame: Frame, scale: float, most: int = MAX_PIXELS, colour: bool = False
) -> _Pixels | None:
    """Returns a page as grey pixels [H, W], or in colour [H, W, 4], at most `most`; None if pdfium cannot draw it.

    scale: pixels to a point.
    """
    width, height = frame.size
    if width < 1 or height < 1:
        return None
    scale = min(scale, (most / (width * height)) ** 0.5)
    across, down = max(1, round(width * scale)), max(1, round(height * scale))
    # A page of extreme proportions.
    if across * down > 2 * most:
        return None
    pixels = np.full((down, across, 4) if colour else (down, across), 255, np.uint8)
    kind, flag = (pdfium.FPDFBitmap_BGRx, 0) if colour else (pdfium.FPDFBitmap_Gray, pdfium.FPDF_GRAYSCALE)
    address = ctypes.cast(pixels.ctypes.data, ctypes.c_void_p)
    bitmap = pdfium.FPDFBitmap_CreateEx(across, down, kind, address, pixels.strides[0])
    if not bitmap:
        return None
    flags = flag | pdfium.FPDF_RENDER_LIMITEDIMAGECACHE
    pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, across, down, 0, flags)
    pdfium.FPDFBitmap_Destroy(bitmap)
    return pixels


def colour_picture(page: Any, frame: Frame, most: int) -> tuple[bytes, float] | None:
    """Returns a page in colour, of at most so many pixels, as a JPEG and its pixels to a point; None if it has no size.

    The longer side has at most 150 pixels to an inch.
    """
    pixels = page_pixels(page, frame, 150 / 72, most, colour=True)
    return None if pixels is None else _as_jpeg(np.ascontiguousarray(pixels[:, :, 2::-1]), frame, 72)


def picture_of(page: Any, frame: Frame, dpi: float) -> tuple[bytes, float] | None:
    """Returns a page as a JPEG and its pixels to a point; None for an empty page."""
    pixels = page_pixels(page, frame, dpi / 72)
    if pixels is None or int(pixels.max()) - int(pixels.min()) < PAGE_CONTRAST:
        return None
    return _as_jpeg(pixels, frame, 85)


def _as_jpeg(pixels: _Pixels, frame: Frame, quality: int) -> tuple[bytes, float]:
    # Cold start: pages with a text layer need no pictures.
    from PIL import Image

    encoded = io.BytesIO()
    Image.fromarray(pixels).save(encoded, "JPEG", quality=quality)
    return encoded.getvalue(), pixels.shape[1] / frame.size[0]


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
    if not forms or (whole := page_pixels(page, frame, _SCALE)) is None:
        return False
    before, off = _characters(page), False
    for one in forms:
        pdfium.FPDFPageObj_SetIsActive(one, False)
        without = page_pixels(page, frame, _SCALE)
        if without is not None and np.array_equal(whole, without):
            off = True
        else:
            pdfium.FPDFPageObj_SetIsActive(one, True)
    return off and _characters(page) < before


def _characters(page: Any) -> int:
    with text_of_page(page) as text_page:
        return int(pdfium.FPDFText_CountChars(text_page)) if text_page else 0
