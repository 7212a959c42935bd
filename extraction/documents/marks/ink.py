"""Whether a box has been ticked: by the share of ink within its outline, of pixels that are compared with the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
_Floats = npt.NDArray[np.float64]

#: A mark in a document's text: a box that is empty, ticked or in doubt; a line that somebody wrote on or that is empty.
EMPTY, TICKED, DOUBTFUL, WRITTEN, BLANK = "☐", "☒", "⍰", "✍", "____"
# Shares of ink within a box: an empty one has less than the first, a ticked one more than the second. Tuning designs of
# `bench.marks`: empty boxes up to .012, ticked ones from .075, faint ones from .045.
_EMPTY_BELOW, _TICKED_FROM = 0.022, 0.04
# The middle of a box, without an outline that may lean, as shares of its side.
_INSET = 0.24
# Less contrast between the outline and the paper is no outline.
_CONTRAST = 40.0
# Ink of less than the first share of the outline's darkness is grain; from the second on it counts in full.
_GRAIN, _FULL = 0.22, 0.6
# Around a box, between these shares of its side, the paper is mostly bare, except for a label; within a line of letters
# it is not.
_NEAR, _FAR, _CROWDED, _LABELLED = 0.12, 0.32, 0.22, 0.5
# Of each side of an outline at least this share is dark, and of its ends, which letters lack.
_SIDE, _RING = 0.8, 0.82


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark: its box (x0, top, x1, bottom), its sign, and the number of the word that it stands before, if known."""

    box: tuple[float, float, float, float]
    sign: str
    before: int = -1


@dataclass(frozen=True, slots=True)
class Look:
    """A box as it is drawn: the share of its outline that is dark, square or round, of ink in its middle and around.

    joined: two of its sides go on beyond it, as those of a cell do.
    """

    square: float
    round: float
    ink: float
    around: tuple[float, ...]
    joined: bool

    @property
    def is_square(self) -> bool:
        """Returns True if it has four dark sides."""
        return self.square >= _SIDE

    @property
    def is_box(self) -> bool:
        """Returns True if the outline is closed."""
        return self.is_square or self.round >= _RING

    @property
    def is_alone(self) -> bool:
        """Returns True if the paper around it is bare, except for a label on one side."""
        *_, label, fullest = sorted(self.around)
        return label < _CROWDED and fullest < _LABELLED and not self.joined

    @property
    def outline(self) -> float:
        """Returns the share of the outline that is dark, in steps: drawings of one box differ by less."""
        return round(max(self.square, self.round), 1)

    @property
    def sign(self) -> str:
        """Returns whether the box is empty, ticked or in doubt."""
        return EMPTY if self.ink < _EMPTY_BELOW else TICKED if self.ink >= _TICKED_FROM else DOUBTFUL


def look_at(grey: Pixels, box: tuple[float, float, float, float]) -> Look | None:
    """Returns how a box looks on a grey page; None if it lies beyond it or nothing is drawn there.

    box: (x0, top, x1, bottom) in pixels.
    """
    x0, top, x1, bottom = box
    side = max(x1 - x0, bottom - top)
    margin = 0.35 * side
    left, upper = int(max(0, x0 - margin)), int(max(0, top - margin))
    part = grey[upper : int(bottom + margin) + 1, left : int(x1 + margin) + 1].astype(np.float64)
    if min(part.shape, default=0) < 6:
        return None
    paper, ink = np.percentile(part, (85, 4))
    if paper - ink < _CONTRAST:
        return None
    dark = np.clip((paper - part) / (paper - ink), 0.0, 1.0)
    place = (x0 - left, top - upper, x1 - left, bottom - upper)
    sides, ring = _square(dark, place), _round(dark, place)
    return Look(sides, ring, _middle(dark, place), _around(dark, place), _goes_on(dark, place))


def _middle(dark: _Floats, place: tuple[float, float, float, float]) -> float:
    x0, top, x1, bottom = place
    across, down = _INSET * (x1 - x0), _INSET * (bottom - top)
    inner = dark[round(top + down) : round(bottom - down), round(x0 + across) : round(x1 - across)]
    return float(np.clip((inner - _GRAIN) / (_FULL - _GRAIN), 0.0, 1.0).mean()) if inner.size else 0.0


def _around(dark: _Floats, place: tuple[float, float, float, float]) -> tuple[float, ...]:
    """Returns the shares of ink on the four sides of a box."""
    x0, top, x1, bottom = place
    near, far = _NEAR * (x1 - x0) + 1, _FAR * (x1 - x0) + 1
    down, across = slice(round(max(0, top)), round(bottom)), slice(round(max(0, x0)), round(x1))
    bands = (
        dark[down, round(max(0, x0 - far)) : round(max(0, x0 - near))], dark[down, round(x1 + near) : round(x1 + far)],
        dark[round(max(0, top - far)) : round(max(0, top - near)), across],
        dark[round(bottom + near) : round(bottom + far), across],
    )  # fmt: skip
    return tuple(float((band > 0.45).mean()) if band.size else 0.0 for band in bands)


def _goes_on(dark: _Floats, place: tuple[float, float, float, float]) -> bool:
    x0, top, x1, bottom = place
    for lines, low, high, begin, end in ((dark, top, bottom, x0, x1), (dark.T, x0, x1, top, bottom)):
        far = _FAR * (end - begin)
        for first, last in ((begin - far, begin - 2), (end + 2, end + far)):
            part = lines[:, round(max(0, first)) : round(max(0, last))]
            edges = [part[int(max(0, at - 2)) : int(at + 2) + 1] for at in (low, high)]
            if all(edge.size and float((edge.max(axis=0) > 0.45).mean()) > _SIDE for edge in edges):
                return True
    return False


def _square(dark: _Floats, place: tuple[float, float, float, float]) -> float:
    """Returns the least share of a side that is dark, 0 if a corner is open."""
    x0, top, x1, bottom = place
    reach = max(1.5, 0.1 * (x1 - x0))
    shares = []
    for lines, at, begin, end in (
        (dark, top, x0, x1), (dark, bottom, x0, x1), (dark.T, x0, top, bottom), (dark.T, x1, top, bottom),
    ):  # fmt: skip
        band = lines[int(max(0, at - reach)) : int(at + reach) + 1, int(max(0, round(begin))) : round(end)]
        if not band.size:
            return 0.0
        hit = band.max(axis=0) > 0.45
        corner = max(2, len(hit) // 7)
        if not (hit[:corner].mean() >= 0.5 and hit[-corner:].mean() >= 0.5):
            return 0.0
        shares.append(float(hit.mean()))
    return min(shares)


def _round(dark: _Floats, place: tuple[float, float, float, float]) -> float:
    """Returns the share of the inscribed ellipse that is dark, 0 if the corners around it are dark too."""
    x0, top, x1, bottom = place
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    hits = np.zeros(48)
    for shrink in (1.04, 0.96, 0.9, 0.84):
        x = (x0 + x1) / 2 + np.cos(angle) * shrink * (x1 - x0) / 2
        y = (top + bottom) / 2 + np.sin(angle) * shrink * (bottom - top) / 2
        hits = np.maximum(hits, dark[_within(y, dark.shape[0]), _within(x, dark.shape[1])])
    corners = [
        dark[_within(y, dark.shape[0]), _within(x, dark.shape[1])]
        for x in (np.array([x0 + 1]), np.array([x1 - 1]))
        for y in (np.array([top + 1]), np.array([bottom - 1]))
    ]
    return float((hits > 0.4).mean()) if np.mean(corners) < 0.4 else 0.0


def _within(places: _Floats, size: int) -> npt.NDArray[np.int64]:
    return np.clip(np.round(places).astype(np.int64), 0, size - 1)
