"""Draws a reliability diagram: the share of right leaves against their confidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from cinnabar.extraction.quality.scoring import CALIBRATION_BINS, calibration_error

_Rated = Sequence[tuple[float, bool]]
# The side of one panel's square, and the room around it, in pixels.
_SIDE, _LEFT, _TOP, _BELOW = 240, 56, 44, 56


def reliability_svg(panels: Sequence[tuple[str, _Rated]]) -> str:
    """Returns the panels side by side as an SVG: for each bin the share of right leaves against the mean confidence.

    The dashed line is perfect calibration; a bar's opacity grows with the share of leaves in its bin.
    """
    width, height = len(panels) * (_SIDE + _LEFT) + 16, _SIDE + _TOP + _BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for at, (title, rated) in enumerate(panels):
        parts += _panel(title, rated, at * (_SIDE + _LEFT) + _LEFT)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(title: str, rated: _Rated, x: int) -> list[str]:
    bottom = _TOP + _SIDE
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, right in rated:
        bins[min(CALIBRATION_BINS - 1, int(confidence * CALIBRATION_BINS))].append((confidence, right))
    error = calibration_error(rated) if rated else 0.0
    parts = [
        f'<text x="{x}" y="{_TOP - 26}" font-size="13">{title}</text>',
        f'<text x="{x}" y="{_TOP - 10}" fill="#555">{len(rated)} leaves, calibration error {error:.3f}</text>',
        f'<rect x="{x}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#999"/>',
    ]
    step = _SIDE / CALIBRATION_BINS
    most = max((len(own) for own in bins.values()), default=1)
    for number, own in sorted(bins.items()):
        share = sum(right for _, right in own) / len(own)
        mean = sum(confidence for confidence, _ in own) / len(own)
        tall, opacity = share * _SIDE, 0.25 + 0.75 * (len(own) / most) ** 0.5
        parts.append(
            f'<rect x="{x + number * step + 1:.1f}" y="{bottom - tall:.1f}" width="{step - 2:.1f}"'
            f' height="{tall:.1f}" fill="#b5342c" fill-opacity="{opacity:.2f}">'
            f"<title>{len(own)} leaves, confidence {mean:.2f}, right {share:.2f}</title></rect>"
        )
        parts.append(f'<circle cx="{x + mean * _SIDE:.1f}" cy="{bottom - tall:.1f}" r="2.5" fill="#222"/>')
    parts.append(
        f'<line x1="{x}" y1="{bottom}" x2="{x + _SIDE}" y2="{_TOP}" stroke="#222" stroke-dasharray="4 3"/>'
    )
    for tick in (0.0, 0.5, 1.0):
        parts.append(
            f'<text x="{x + tick * _SIDE:.0f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        )
        parts.append(
            f'<text x="{x - 6}" y="{bottom - tick * _SIDE + 4:.0f}" text-anchor="end">{tick:g}</text>'
        )
    middle = x + _SIDE / 2
    parts.append(f'<text x="{middle:.0f}" y="{bottom + 36}" text-anchor="middle">confidence</text>')
    parts.append(
        f'<text x="{x - 32}" y="{_TOP + _SIDE / 2:.0f}" text-anchor="middle"'
        f' transform="rotate(-90 {x - 32} {_TOP + _SIDE / 2:.0f})">share of right leaves</text>'
    )
    return parts
