"""Text lines on a picture: rectangles at any angle, the angle of a page, strips to recognise, and marks among words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.content.limits import MAX_PAGE_WORDS
from cinnabar.extraction.documents.marks.scanned import scanned_marks
from cinnabar.extraction.documents.ocr.pictures import Pixels
from cinnabar.extraction.documents.pdf.drawn_marks import put_marks
from cinnabar.extraction.documents.pdf.glyphs import PageWords

#: A rectangle so many times as long as high tells the direction of its text.
TELLING_LINE = 3.0
#: The probability of a mark: a box in doubt has a sign of its own.
MARK_SURE = 0.99
#: OCR is so sure of words that are printed.
PRINTED_WORD = 0.9
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TextLine:
    """A rectangle around words on one line, in pixels: its middle, its length along the text, and its height.

    angle: of the reading direction in degrees, clockwise, 0 for text that runs to the right.
    """

    x: float
    y: float
    length: float
    height: float
    angle: float

    def turn(self, degrees: float) -> TextLine:
        """Returns the same rectangle, read at another angle that differs by a multiple of 90 degrees."""
        sideways = round(degrees / 90) % 2 == 1
        length, height = (self.height, self.length) if sideways else (self.length, self.height)
        return replace(self, length=length, height=height, angle=(self.angle + degrees) % 360)


def page_angle(lines: Sequence[TextLine]) -> float:
    """Returns the angle that most text has, in degrees from -45 to below 135; 0 if no line tells it.

    A line and its reverse have the same one: the shapes of lines do not tell whether a page stands on its head.
    """
    telling = [line for line in lines if line.length >= TELLING_LINE * line.height] or list(lines)
    if not telling:
        return 0.0
    angle = np.array([line.angle for line in telling]) % 180
    weight = np.array([line.length for line in telling])
    sideways = (angle > 45) & (angle < 135)
    middle = 90.0 if weight[sideways].sum() > weight[~sideways].sum() else 0.0
    near = (angle - middle + 90) % 180 - 90
    kept = np.abs(near) < 45
    order = np.argsort(near[kept])
    total = np.cumsum(weight[kept][order])
    return middle + float(near[kept][order][np.searchsorted(total, total[-1] / 2)])


def align_lines(lines: Sequence[TextLine], angle: float) -> list[TextLine]:
    """Returns the lines of a page with this angle, each read along it or, if its shape says so, across it.

    A rectangle about as long as high has no direction of its own, so it is read along the page's.
    """
    turned = []
    for line in lines:
        off = (line.angle - angle + 45) % 360 // 90 * 90  # quarter turns away from the page's direction
        across = off in (90, 270)
        if across and line.length < TELLING_LINE * line.height:
            turned.append(line.turn(-off))
        elif off == 180:
            turned.append(line.turn(180))
        else:
            turned.append(line)
    return turned


def strip(pixels: Pixels, line: TextLine, height: int) -> Pixels:
    """Returns a line of text upright, so many pixels high."""
    scale = line.height / height
    cos, sin = math.cos(math.radians(line.angle)), math.sin(math.radians(line.angle))
    # The line's corner where reading begins.
    x = line.x - (cos * line.length - sin * line.height) / 2
    y = line.y - (sin * line.length + cos * line.height) / 2
    wide = max(1, round(line.length / scale))
    # A transformation reads single pixels of its source, so larger text is cut out in its own size and then reduced
    # by areas.
    zoom = max(1.0, scale)
    step = scale / zoom
    move = np.array([[step * cos, -step * sin, x], [step * sin, step * cos, y]], np.float64)
    size = (max(1, round(wide * zoom)), max(1, round(height * zoom)))
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    upright = cv2.warpAffine(pixels, move, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    if zoom > 1.0:
        upright = cv2.resize(upright, (wide, height), interpolation=cv2.INTER_AREA)
    return np.asarray(upright, np.uint8)


def corners(line: TextLine, first: float, last: float) -> _Floats:
    """Returns the corners [4, 2] of a part of a line; `first` and `last` are shares of its length."""
    cos, sin = math.cos(math.radians(line.angle)), math.sin(math.radians(line.angle))
    along = np.array([first - 0.5, last - 0.5, last - 0.5, first - 0.5]) * line.length
    down = np.array([-0.5, -0.5, 0.5, 0.5]) * line.height
    return np.stack([line.x + along * cos - down * sin, line.y + along * sin + down * cos], axis=1)


def rotate_points(points: _Floats, degrees: float) -> _Floats:
    """Returns points [N, 2] rotated clockwise around the origin."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.stack([points[:, 0] * cos - points[:, 1] * sin, points[:, 0] * sin + points[:, 1] * cos], axis=1)


def marked_page(
    words: PageWords, box: _Floats, sure: _Floats, pixels: Pixels, angle: float, zoom: float
) -> tuple[PageWords, _Floats, _Floats]:
    """Returns the words of a picture with its boxes and lines to write on, their boxes and their probabilities.

    words: upright and in points, `first` counts them. box: [W, 4] in `pixels`, [H, W] or [H, W, 3]. angle: of the page
    in degrees. zoom: points to a pixel.
    """
    grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY) if pixels.ndim == 3 else pixels, np.uint8)
    letters = np.array([bool(word.strip("_")) for word in words.text])
    found = scanned_marks(grey, 1 / zoom, box * zoom, box[letters & (sure >= PRINTED_WORD)] * zoom)
    if not found or len(found) + len(words.text) > MAX_PAGE_WORDS:
        return words, box, sure
    places = np.array([mark.place or mark.box for mark in found])
    level = rotate_points(places[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2), -angle).reshape(-1, 4, 2)
    upright = np.concatenate([level.min(axis=1), level.max(axis=1)], axis=1).tolist()
    words = put_marks(words, [replace(mark, place=tuple(place)) for mark, place in zip(found, upright, strict=True)])
    boxes = np.concatenate([box, np.array([mark.box for mark in found]) / zoom])
    return words, boxes[words.first], np.append(sure, np.full(len(found), MARK_SURE))[words.first]
