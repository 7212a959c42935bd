"""Image files: each page becomes a part with its picture, which OCR reads later."""

from __future__ import annotations

import io
import struct
import time
from importlib.util import find_spec

from PIL import Image

from cinnabar.extraction.documents.content.builder import MAX_PICTURES, DocumentBuilder
from cinnabar.extraction.documents.content.document import Fact
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.ocr.pictures import (
    TooManyPixels,
    check_pixels,
    open_picture,
    orientation_of,
    picture_format,
)
from cinnabar.schemas.errors import DocumentError
from cinnabar.schemas.extras import install_line

MAX_FRAMES = 1_000
# Seconds of processor time for the pages of one file, well below the parser's limit.
_MAX_SECONDS = 15.0
# Fewer pixels on a side show no letter: such images are lines and counters in mails.
_LEAST_SIDE = 8
# A resolution outside of these is not believed; without one the longer side is as long as A4, within these bounds.
_LEAST_DPI, _MOST_DPI = 50.0, 1_300.0
_A4_INCHES, _LOW_DPI, _HIGH_DPI = 11.69, 72.0, 300.0
# Bytes of a text hold none of these controls.
_NO_TEXT = frozenset(range(32)) - frozenset(b"\t\n\r\f")

# Pillow's decoders fail in several ways on damaged files.
_FAILURES = (OSError, ValueError, SyntaxError, ArithmeticError, LookupError, TypeError, AttributeError, struct.error)


def add_image(reading: ParseContext, data: bytes) -> None:
    """Appends an image file: a page with its picture, or, for a TIFF, one for each of its pages.

    Only the header is decoded, except for a TIFF with several pages. Raises DocumentError: broken, unpacked,
    unsupported, image_only for an image too small for a letter.
    """
    if data[4:8] == b"ftyp" and find_spec("pi_heif") is None:
        raise DocumentError("unsupported", f"the content is HEIC; {install_line('heic')} reads it")
    try:
        picture = open_picture(data)
        pages = _add_pages(reading.builder, picture, data)
    except TooManyPixels as error:
        raise DocumentError("unpacked", str(error)) from error
    except _FAILURES as error:
        raise DocumentError("broken", _damage(data)) from error
    # In a mail such images count who reads it.
    if not pages and reading.is_top:
        raise DocumentError("image_only", f"{picture.width} x {picture.height} pixels are too few for a letter")
    if reading.is_top:
        reading.builder.facts["document.pages"] = Fact(pages)


def _damage(data: bytes) -> str:
    """Returns why an image cannot be opened, and what to do; nothing of its content, which may be a text."""
    name = picture_format(data)
    if name:
        return f"the {name} image is damaged in its header or on all its pages; save it again, or get another copy"
    likely = "text" if data and not _NO_TEXT.intersection(data[:200]) else "of another kind or damaged"
    return f"the file is named as an image, and its content is {likely}; correct its name, or get another copy"


def _add_pages(builder: DocumentBuilder, picture: Image.Image, data: bytes) -> int:
    """Appends the pages and returns their number; an animation is one page, its first frame."""
    frames = getattr(picture, "n_frames", 1) if picture.format == "TIFF" else 1
    if frames == 1:
        if min(picture.size) < _LEAST_SIDE:
            return 0
        sideways = orientation_of(picture) in (5, 6, 7, 8)
        size = picture.size[::-1] if sideways else picture.size
        across, down = _resolution(picture)
        if picture.format == "TIFF" and across != down:
            _add_frame(builder, picture, 1)
        else:
            _add_page(builder, data, size, across, 1)
        return 1
    begun, shown = time.process_time(), 0
    for number in range(frames):
        late = number > 0 and time.process_time() - begun > _MAX_SECONDS
        if number >= MAX_FRAMES or late or builder.pictured > MAX_PICTURES // 2:
            builder.flags.add("truncated")
            break
        try:
            picture.seek(number)
            check_pixels(picture)
            if min(picture.size) >= _LEAST_SIDE:
                _add_frame(builder, picture, number + 1)
                shown += 1
        except _FAILURES:
            builder.flags.add("broken_pages")
            if number == frames - 1 and not shown:
                raise
    return shown


def _add_frame(builder: DocumentBuilder, picture: Image.Image, number: int) -> None:
    """Appends a page of a TIFF as a picture of its own, with square pixels."""
    across, down = _resolution(picture)
    frame: Image.Image = picture.copy()
    if across != down:
        # A fax has half as many lines as columns to an inch.
        finer = max(across, down)
        size = (round(frame.width * finer / across), round(frame.height * finer / down))
        frame, across = frame.convert("L").resize(size), finer
    if frame.mode not in ("1", "L", "P", "RGB", "RGBA", "LA", "I;16"):
        frame = frame.convert("RGB")
    encoded = io.BytesIO()
    frame.save(encoded, "PNG", compress_level=1)
    _add_page(builder, encoded.getvalue(), frame.size, across, number)


def _add_page(builder: DocumentBuilder, picture: bytes, size: tuple[int, int], dpi: float, number: int) -> None:
    scale = dpi / 72.0
    builder.open("page", page=number, width=size[0] / scale, height=size[1] / scale, media_type="image/*")
    builder.show(picture, scale)
    builder.close()


def _resolution(picture: Image.Image) -> tuple[float, float]:
    """Returns the pixels to an inch across and down, as the file says or as they are likely."""
    try:
        across, down = (float(one) for one in picture.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        across = down = 0.0
    if not all(_LEAST_DPI <= one <= _MOST_DPI for one in (across, down)) or max(across, down) > 4 * min(across, down):
        across = down = min(_HIGH_DPI, max(_LOW_DPI, max(picture.size) / _A4_INCHES))
    # Resolutions are rounded to whole pixels or centimetres.
    return (across, across) if abs(across - down) < 0.05 * across else (across, down)
