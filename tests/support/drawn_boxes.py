"""Boxes and lines on the pixels of a page, for the tests of marks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

#: Pixels to a point.
SCALE = 200 / 72
Page = npt.NDArray[np.uint8]


def page(draw: object, lean: float = 0.0, grain: float = 0.0) -> Page:
    """A page of 400 x 300 points that `draw` draws in points times SCALE, turned by `lean` degrees, with grain."""
    image = Image.new("L", (round(400 * SCALE), round(300 * SCALE)), 255)
    draw(ImageDraw.Draw(image))  # type: ignore[operator]
    turned = np.asarray(image.rotate(lean, Image.Resampling.BICUBIC, fillcolor=255), np.float64)
    noise = np.random.default_rng(1).normal(0, grain, turned.shape) if grain else 0.0
    return np.clip(turned + noise, 0, 255).astype(np.uint8)


def box(pen: ImageDraw.ImageDraw, x: float, y: float, tick: str = "", side: float = 10.0, round_: bool = False) -> None:
    """Draws a box of this side with its left top corner at (x, y) in points."""
    x0, y0, x1, y1 = (value * SCALE for value in (x, y, x + side, y + side))
    (pen.ellipse if round_ else pen.rectangle)([x0, y0, x1, y1], outline=0, width=2)
    if tick == "x":
        pen.line([x0 + 6, y0 + 6, x1 - 6, y1 - 6], 0, 3)
        pen.line([x0 + 6, y1 - 6, x1 - 6, y0 + 6], 0, 3)
    elif tick == "hand":
        pen.line([x0 - 5, y0 + 12, x0 + 12, y1 + 4, x1 + 12, y0 - 14], 40, 4)
    elif tick == "full":
        pen.rectangle([x0, y0, x1, y1], fill=0)
