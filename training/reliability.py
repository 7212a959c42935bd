"""Draws a reliability diagram: the share of right leaves against their confidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from cinnabar.extraction.learning.scoring import CALIBRATION_BINS, calibration_error

_Rated = Sequence[tuple[float, bool]]


def reliability_svg(panels: Sequence[tuple[str, _Rated]]) -> str:
    """Returns the panels side by side as an SVG: for each bin the share of right leaves against the mean confidence.

    The dashed line is perfect calibration; a bar's opacity grows with the share of leaves in its bin.
    """
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = made.from_string(Path(__file__).with_name("reliability.svg").read_text("utf-8"))
    return template.render(panels=[_panel(title, rated) for title, rated in panels], bins=CALIBRATION_BINS)


def _panel(title: str, rated: _Rated) -> dict[str, Any]:
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, right in rated:
        bins[min(CALIBRATION_BINS - 1, int(confidence * CALIBRATION_BINS))].append((confidence, right))
    most = max(map(len, bins.values()), default=1)
    drawn = [
        {
            "number": number,
            "leaves": len(own),
            "mean": sum(confidence for confidence, _ in own) / len(own),
            "right": sum(right for _, right in own) / len(own),
            "weight": len(own) / most,
        }
        for number, own in sorted(bins.items())
    ]
    error = calibration_error(rated) if rated else 0.0
    return {"title": title, "leaves": len(rated), "error": error, "bins": drawn}
