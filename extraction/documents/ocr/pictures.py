"""Decodes pictures for OCR: bounded in pixels, upright as their file says, in colours on white."""

from __future__ import annotations

import io
import warnings
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFile

Pixels = npt.NDArray[np.uint8]

#: Pillow's names of the formats that are decoded; no other decoder sees the bytes.
DECODED = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "HEIF")
#: Pixels of a picture: an A3 page at 600 dots an inch has 70 million.
MAX_DECODED = 100_000_000
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
