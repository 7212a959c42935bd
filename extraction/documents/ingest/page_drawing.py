"""Draws the pages of a file in a parser process, which decodes hostile bytes: PDFs in colour, scans as they are."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Picture
from cinnabar.extraction.documents.content.formats import content_format
from cinnabar.extraction.documents.content.limits import DRAWING_SECONDS, DRAWN_PIXELS, MAX_DRAWN, NEXT_DRAWING_SECONDS
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParseContext, ParserSettings

if TYPE_CHECKING:
    from PIL import Image

#: The worker's name for `draw`.
DRAW = "cinnabar.extraction.documents.ingest.page_drawing:draw"
PDF = "application/pdf"


def draw(data: bytes, path: str, settings: ParserSettings = DEFAULT) -> Document:
    """Returns a document with a picture for each of its first pages, and whatever text comes with them.

    Of a PDF they are the pages from `settings.drawn_from` on, if that is set: this one, and more within a moment.

    Raises DocumentError as the parser does.
    """
    file_format = content_format(data, path)
    if file_format.media_type == PDF:
        return _draw_pdf(data, path, settings)
    reading = ParseContext(settings=replace(settings, ocr="always"), name=path)
    file_format.reader()(reading, data)
    document = reading.builder.build(data, path, file_format.media_type)
    return replace(document, pictures=tuple(_shrunk(document.pictures)))


def _shrunk(pictures: Sequence[Picture]) -> list[Picture]:
    """Returns the first pictures as small JPEGs; one that cannot be decoded is left out."""
    # Cold start: the parent imports this module for its names alone.
    from PIL import Image

    from cinnabar.extraction.documents.ocr.pictures import decode_picture

    begun, small = time.monotonic(), []
    for picture in pictures[:MAX_DRAWN]:
        if time.monotonic() - begun > DRAWING_SECONDS:
            break
        try:
            pixels, reduced, _ = decode_picture(picture.data)
            image = Image.fromarray(np.ascontiguousarray(pixels[:, :, ::-1]))
            jpeg, scale = _jpeg(image, min(1.0, (DRAWN_PIXELS / (image.width * image.height)) ** 0.5))
        # Pillow's decoders fail in several ways on damaged files.
        except Exception:
            continue
        small.append(Picture(picture.part, jpeg, picture.scale * reduced * scale))
    return small


def _jpeg(image: Image.Image, scale: float) -> tuple[bytes, float]:
    # Cold start: as above.
    from PIL import Image

    if scale < 1.0:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    encoded = io.BytesIO()
    image.convert("RGB").save(encoded, "JPEG", quality=72)
    return encoded.getvalue(), scale


def _draw_pdf(data: bytes, path: str, settings: ParserSettings) -> Document:
    """Returns the pages of a PDF in colour; a page that cannot be drawn has no picture."""
    # Cold start: as above; pdfium is loaded in the worker.
    from cinnabar.extraction.documents.pdf.page_content import frame_of, loaded_page
    from cinnabar.extraction.documents.pdf.reader import opened_pdf
    from cinnabar.extraction.documents.pdf.rendering import colour_picture

    reading = ParseContext(settings=settings, name=path)
    builder = reading.builder
    first, seconds = max(settings.drawn_from - 1, 0), NEXT_DRAWING_SECONDS if settings.drawn_from else DRAWING_SECONDS
    with opened_pdf(data, settings.passwords) as pdf:
        begun = time.monotonic()
        groups: set[str] = set()
        for index in range(first, min(len(pdf), first + MAX_DRAWN)):
            if builder.part_count and time.monotonic() - begun > seconds:
                break
            with loaded_page(pdf, index, groups, settings) as (page, _):
                if not page:
                    continue
                frame = frame_of(page)
                picture: Any = colour_picture(page, frame, DRAWN_PIXELS)
                width, height = frame.size
                builder.open("page", page=index + 1, width=width, height=height)
                if picture is not None:
                    builder.show(*picture)
                builder.close()
    if not builder.part_count:
        raise DocumentError("broken", "no page can be drawn")
    return builder.build(data, path, PDF)
