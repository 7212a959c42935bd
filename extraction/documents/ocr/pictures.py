"""Pictures for OCR: image files whose pages become parts, decoded upright, in colours on white, within bounds."""

from __future__ import annotations

import io
import struct
import time
import warnings
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFile

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import Fact
from cinnabar.extraction.documents.content.limits import FRAMES_SECONDS, MAX_DECODED, MAX_FRAMES, MAX_PICTURE_BYTES
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extras import install_line

#: Fewer pixels on a side show no letter: such images are lines and counters in mails.
LEAST_SIDE = 8
#: A resolution outside of these is not believed; without one the longer side is as long as A4, within these bounds.
LEAST_DPI, MOST_DPI = 50.0, 1_300.0
Pixels = npt.NDArray[np.uint8]

#: Pillow's names of the formats that are decoded; no other decoder sees the bytes.
DECODED = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "HEIF")
#: More pixels on the longer side say nothing more: they are an A4 page at 400 dots an inch. A side is scaled down only
#: as far as the shorter one keeps `_MIN_SHORT`, because a strip may be as long as it likes.
_MAX_SIDE, _MIN_SHORT = 4_800, 1_600
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class TooManyPixels(ValueError):
    """A picture has more pixels than `MAX_DECODED`; it was not decoded."""


def open_picture(data: bytes) -> Image.Image:
    """Returns a picture of which only the header is read. Raises OSError or ValueError if there is none.

    Raises TooManyPixels before anything is decoded.
    """
    # Pillow's own check warns at half of its limit, and it knows only one limit.
    Image.MAX_IMAGE_PIXELS = None
    if data[4:8] == b"ftyp" and find_spec("pi_heif") is not None:
        # Extra `heic`: images of telephones.
        import pi_heif

        pi_heif.register_heif_opener()
    # Pillow warns of damaged descriptions beside the picture, which nobody reads.
    with warnings.catch_warnings(action="ignore"):
        picture = Image.open(io.BytesIO(data), formats=_decoders())
    check_pixels(picture)
    return picture


def picture_format(data: bytes) -> str:
    """Returns Pillow's name of the format that a file's first bytes are those of, "" for no image."""
    return next((name for name in _decoders() if Image.OPEN[name][1](data[:16])), "")  # type: ignore[misc]


def _decoders() -> list[str]:
    """Returns the formats of `DECODED` that can be decoded: Pillow fails on a format that it does not know."""
    Image.init()
    return [name for name in DECODED if name in Image.OPEN]


def orientation_of(picture: Image.Image) -> int:
    """Returns the orientation in the EXIF data of a picture, from 1 to 8; 1 if there is none or it is broken.

    A TIFF has 1, because Pillow turns it itself.
    """
    # Pillow decodes a whole PNG to look for EXIF data behind the pixels.
    if picture.format == "TIFF" or (picture.format == "PNG" and "exif" not in picture.info):
        return 1
    with suppress(Exception):
        orientation = picture.getexif().get(_ORIENTATION, 1)
        return orientation if orientation in range(1, 9) else 1
    return 1


def check_pixels(picture: Image.Image) -> None:
    """Raises TooManyPixels if a picture, or its frame that is open, is too large to be decoded."""
    width, height = picture.size
    if width * height > MAX_DECODED:
        raise TooManyPixels(f"{width} x {height} pixels, at most {MAX_DECODED} are decoded")


def decode_picture(data: bytes) -> tuple[Pixels, float, bool]:
    """Returns a picture as [H, W, 3] pixels (blue, green, red), its scale to the file's pixels, and True if cut off.

    Raises OSError or ValueError if it cannot be decoded. The missing end of a damaged file is grey.
    """
    picture, damaged = open_picture(data), False
    turn, (wide, high) = _TURNS.get(orientation_of(picture)), picture.size
    scale = min(1.0, max(_MAX_SIDE / max(wide, high), _MIN_SHORT / min(wide, high)))
    if scale < 1.0 and picture.format == "JPEG":
        # The decoder of JPEG leaves out the details, which takes a quarter of the time and memory.
        picture.draft(None, (round(wide * scale), round(high * scale)))
    try:
        picture.load()
    except (OSError, SyntaxError):
        damaged = True
        picture = open_picture(data)
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            picture.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False
    if turn is not None:
        picture = picture.transpose(turn)
    picture = _on_white(picture)
    longer, before = max(picture.size), max(wide, high)
    if longer > before * scale:
        wanted = scale * before / longer
        sides = (max(1, round(side * wanted)) for side in picture.size)
        picture = picture.resize(tuple(sides), Image.Resampling.BOX)  # type: ignore[arg-type]
    pixels = np.ascontiguousarray(np.asarray(picture)[:, :, ::-1])
    return pixels, max(picture.size) / before, damaged


def _on_white(picture: Image.Image) -> Image.Image:
    """Returns a picture in red, green and blue; what is transparent becomes white."""
    if picture.mode.startswith(("I", "F")):
        # Grey values of 16 bits; converting them directly would cut them off at 255.
        low, high = picture.getextrema()
        span = (float(high) - float(low)) or 1.0  # type: ignore[arg-type]
        grey = (np.asarray(picture, np.float32) - float(low)) * (255.0 / span)  # type: ignore[arg-type]
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(white, picture).convert("RGB")
    return picture.convert("RGB")


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
        if min(picture.size) < LEAST_SIDE:
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
        late = number > 0 and time.process_time() - begun > FRAMES_SECONDS
        if number >= MAX_FRAMES or late or builder.pictured > MAX_PICTURE_BYTES // 2:
            builder.flags.add("truncated")
            break
        try:
            picture.seek(number)
            check_pixels(picture)
            if min(picture.size) >= LEAST_SIDE:
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
    if not all(LEAST_DPI <= one <= MOST_DPI for one in (across, down)) or max(across, down) > 4 * min(across, down):
        across = down = min(_HIGH_DPI, max(_LOW_DPI, max(picture.size) / _A4_INCHES))
    # Resolutions are rounded to whole pixels or centimetres.
    return (across, across) if abs(across - down) < 0.05 * across else (across, down)
