"""Draws the wording of a schema: the spelling of its names, synonyms, titles and descriptions."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from training.generator.printing import ascii_fold


def spell(words: str, style: str) -> str:
    """Returns a property's name in one of the usual spellings."""
    folded = ascii_fold(words) if style != "spaces" else words
    parts = [w for w in re.split(r"[^\w]+", folded) if w] or ["field"]
    if style == "camel":
        return parts[0].lower() + "".join(p.capitalize() for p in parts[1:])
    if style == "pascal":
        return "".join(p.capitalize() for p in parts)
    if style == "kebab":
        return "-".join(p.lower() for p in parts)
    if style == "upper":
        return "_".join(p.upper() for p in parts)
    if style == "spaces":
        return " ".join(parts)
    return "_".join(p.lower() for p in parts)


@dataclass(frozen=True, slots=True)
class Wording:
    """The wording of a schema: the spelling of names, and the shares of synonyms, titles and descriptions."""

    style: str
    synonyms: float
    title: float
    description: float
    opaque: bool
    optional: bool


def draw_wording(r: random.Random) -> Wording:
    """Draws a wording; some have only names, some have descriptions under meaningless names."""
    style = r.choice(("snake",) * 5 + ("camel",) * 3 + ("pascal", "kebab", "upper", "spaces"))
    opaque = r.random() < 0.05
    if opaque:
        return Wording(style, 0.5, 0.5, 1.0, True, False)
    synonyms = r.choice((0.0, 0.3, 0.7, 1.0))
    title, description = r.choice(((0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5), (0.3, 0.8)))
    return Wording(style, synonyms, title, description, False, r.random() < 0.25)


def draw_head(
    r: random.Random, w: Wording, names: Sequence[str], notes: Sequence[str], used: set[str]
) -> tuple[str, dict[str, Any]]:
    """Draws an unused name, adds it to the used ones, and returns it with its title and description."""
    words = r.choice(names) if r.random() < w.synonyms else names[0]
    described = bool(notes) and r.random() < w.description
    name = spell(words, w.style)
    if w.opaque and described:
        name = f"{r.choice(('f', 'field_', 'col', 'x'))}{len(used) + 1}"
    base, k = name, 2
    while name in used:
        name, k = f"{base}_{k}", k + 1
    used.add(name)
    head: dict[str, Any] = {}
    if r.random() < w.title and not (w.opaque and described):
        title = r.choice(names) if r.random() < 0.5 else words
        head["title"] = title[:1].upper() + title[1:]
    if described:
        head["description"] = r.choice(notes)
    return name, head
