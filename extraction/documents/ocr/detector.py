"""Finds lines of text on a picture with RapidOCR's detector."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from cinnabar.extraction.documents.ocr.pictures import Pixels
from cinnabar.extraction.documents.ocr.text_lines import TextLine

# The pixels that the network sees of a picture (those of A4 with 1,280 on its longer side), and the most on a side.
# Small pictures grow, twice at most.
_AREA, _SIDE, _GROWTH = 1_280 * 905, 4_096, 2.0
# The network's sides are multiples of this.
_STEP = 32
# A taller picture is read in tiles of so many times its width, of which neighbours share a part. A wide one is not cut,
# because its lines would be.
_TILE, _SHARED = 2.0, 0.25
_MAX_TILES = 40
# RapidOCR's own settings: the least probability of a pixel and of a line, and how far a line's rectangle grows, as a
# share of its area by its outline (the network marks only the core of letters). The least height is in its pixels.
_PIXEL, _LINE, _GROW, _LEAST = 0.3, 0.5, 1.6, 3.0
_MAX_LINES = 3_000


class LineDetector:
    """Finds lines of text; `session` runs the network."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name

    def __call__(self, pixels: Pixels) -> list[TextLine]:
        """Returns the lines of text on a picture, [H, W, 3]."""
        lines: list[TextLine] = []
        for tile, top, own in _tiles(pixels):
            for line in self._lines(tile):
                if own[0] <= line.y < own[1]:
                    lines.append(replace(line, y=line.y + top))
        return lines[:_MAX_LINES]

    def _lines(self, tile: Pixels) -> Iterator[TextLine]:
        high, wide = tile.shape[:2]
        scale = min(_GROWTH, (_AREA / (high * wide)) ** 0.5, _SIDE / max(high, wide))
        size = [max(_STEP, round(side * scale / _STEP) * _STEP) for side in (wide, high)]
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        seen = cv2.resize(tile, size, interpolation=method).astype(np.float32) / 127.5 - 1.0
        (chance,) = self._session.run(None, {self._input: seen.transpose(2, 0, 1)[None]})
        across, down = wide / size[0], high / size[1]
        for x, y, length, height, angle in _rectangles(chance[0, 0]):
            # The rounding of the sides scales the two directions a little differently.
            cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            along, upright = math.hypot(cos * across, sin * down), math.hypot(sin * across, cos * down)
            yield TextLine(x * across, y * down, length * along, height * upright, angle)


def _tiles(pixels: Pixels) -> Iterator[tuple[Pixels, int, tuple[float, float]]]:
    """Yields the tiles of a picture with their top; a tile owns the lines with their middle in an interval of it."""
    high, wide = pixels.shape[:2]
    size = int(_TILE * wide)
    if high <= 1.5 * size:
        yield pixels, 0, (-np.inf, np.inf)
        return
    step = int(size * (1 - _SHARED))
    count = min(_MAX_TILES, -(-(high - size) // step) + 1)
    margin = (size - step) / 2
    for number in range(count):
        top = number * step
        own = (-np.inf if number == 0 else margin, np.inf if number == count - 1 else margin + step)
        yield pixels[top : min(high, top + size)], top, own


def _rectangles(chance: npt.NDArray[np.float32]) -> Iterator[tuple[float, float, float, float, float]]:
    """Yields the rectangles around connected pixels of text: middle, length, height, angle from -90 to 90 degrees."""
    mask = cv2.dilate((chance > _PIXEL).astype(np.uint8), np.ones((2, 2), np.uint8))
    outlines, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    for outline in outlines:
        (x, y), (length, height), angle = cv2.minAreaRect(outline)
        if min(length, height) < _LEAST:
            continue
        left, top, wide, high = cv2.boundingRect(outline)
        inside = np.zeros((high, wide), np.uint8)
        cv2.fillPoly(inside, [outline - np.array([left, top])], 1)
        if cv2.mean(chance[top : top + high, left : left + wide], inside)[0] < _LINE:
            continue
        if length < height:
            length, height, angle = height, length, angle + 90
        grown = _GROW * length * height / (length + height)
        yield x, y, length + grown, height + grown, (angle + 90) % 180 - 90
