"""Decides which places of a page are boxes to tick, by their outline and by each other, and their states."""

from __future__ import annotations

from collections.abc import Sequence

from cinnabar.extraction.documents.marks.ink import Look, Mark, Pixels, look_at

Place = tuple[float, float, float, float]

#: The longest side of a box in points.
MOST = 26.0
#: A page with more boxes is a pattern, such as a code of dots or a map.
MAX_FOUND = 400
# More ink than this share is a solid box.
_SOLID = 0.6


def marks_of(looks: Sequence[tuple[Place, Look]]) -> list[Mark]:
    """Returns the marks of boxes; of solid ones and circles only those beside an equal one.

    A solid square alone may be the bullet of a list or the colour of a legend, a circle alone a letter.
    """
    if len(looks) > MAX_FOUND:
        return []
    marks = []
    for place, look in looks:
        alike = [other for at, other in looks if at != place and _equal(at, place)]
        if look.ink > _SOLID and not any(other.ink <= _SOLID for other in alike):
            continue
        if look.is_square or any(not other.is_square for other in alike):
            marks.append(Mark(place, look.sign))
    return marks


def _equal(one: Place, other: Place) -> bool:
    """Returns True for boxes of about one size in a row or a column, and of the same one elsewhere."""
    sides = one[2] - one[0], other[2] - other[0]
    apart = min(abs(one[0] - other[0]), abs(one[1] - other[1]))
    return max(sides) < (1.25 if apart < 0.6 * max(sides) else 1.06) * min(sides)


def looks_of(grey: Pixels, scale: float, places: Sequence[Place], scan: bool = False) -> list[tuple[Place, Look]]:
    """Returns the places, in points, with a closed outline: of those that overlap the largest, on a scan the clearest.

    grey: [H, W], `scale` pixels to a point. scan: what is among letters may be some of them, and is left out.
    """
    seen: list[tuple[Place, Look]] = []
    for place in places:
        x0, top, x1, bottom = place
        look = look_at(grey, (x0 * scale, top * scale, x1 * scale, bottom * scale))
        if look is not None and look.is_box and (look.is_alone or not scan):
            seen.append((place, look))
    kept: list[tuple[Place, Look]] = []
    for place, look in sorted(seen, key=lambda one: (-one[1].outline if scan else 0.0, one[0][0] - one[0][2])):
        if not any(_overlap(place, at) > 0.3 for at, _ in kept):
            kept.append((place, look))
    return kept


def _overlap(one: Place, other: Place) -> float:
    """Returns the area that two boxes share as a share of the smaller one."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / min((at[2] - at[0]) * (at[3] - at[1]) for at in (one, other))
