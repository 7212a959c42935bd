"""Tells on which pages of a packet a document begins, with probabilities (`training.packets.fit` fits the model)."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cinnabar.extraction.reading.packets.signs import Line, PageSigns

#: The file with the model's weights.
FITTED = Path(__file__).with_name("boundaries.json")
#: Names the rules and the weights. The number goes up if the code finds other boundaries with the same weights.
VERSION = f"2-{hashlib.sha256(FITTED.read_bytes()).hexdigest()[:12]}"


def boundaries(pages: Sequence[PageSigns]) -> tuple[dict[int, float], tuple[int, ...]]:
    """Returns the probability that a document begins on each page but the first with words, and the separator sheets.

    A sheet of few words that occurs again, word for word, separates documents. A blank page belongs to the document
    before it.
    """
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.sentences.encoder import load_sentence_encoder

    often = Counter(page.sheet for page in pages if page.sheet)
    sheets = tuple(page.number for page in pages if often[page.sheet] > 1)
    printed = [page for page in pages if page.ends[0] and page.number not in sheets]
    if len(printed) < 2:
        return {}, sheets
    meaning = load_sentence_encoder().embed([text for page in printed for text in page.ends])
    likely = {}
    for at, (before, page) in enumerate(pairwise(printed)):
        between = {*range(before.number + 1, page.number)}
        alike = float(meaning[2 * at + 1] @ meaning[2 * at + 2])
        signs = features(before, page, alike, not between.issubset(sheets), not between.isdisjoint(sheets))
        odds = _fitted()["bias"] + sum(_fitted()["features"][name] * value for name, value in signs.items())
        likely[page.number] = round(float(1 / (1 + np.exp(-odds))), 4)
    return likely, sheets


@lru_cache(maxsize=1)
def _fitted() -> Any:
    return json.loads(FITTED.read_text(encoding="utf-8"))


def features(before: PageSigns, page: PageSigns, alike: float, blank: bool, separator: bool) -> dict[str, float]:
    """Returns what the model weighs of a page and the page before it, as numbers from -1 to 2 by their names.

    `alike` is the cosine of the meanings of one's end and of the other's beginning; `blank` and `separator` tell
    whether a blank page and a separator sheet lie between them.
    """
    ours, alone = {mark[:3] for mark in before.marks}, {mark.number for mark in before.marks if mark.alone}
    known, now = before.identifiers, page.identifiers
    usual = float(np.median([line.height for line in page.lines if line.height > 0] or [math.inf]))
    tallest = max((line.height for line in page.lines if line.top < 0.4), default=0.0)
    letters = [one for line in page.lines[:3] for one in line.text if one.isalpha()]
    labelled = [":" in line[2:26] for line in page.text.split("\n")[:8]]
    item = page.items[0] - before.items[-1] if page.items and before.items else 0
    return {
        "continues": any((mark.key, mark.number - 1, mark.total) in ours for mark in page.marks),
        "follows": any(mark.alone and mark.number - 1 in alone for mark in page.marks),
        "one": any(mark.alone and mark.number == 1 for mark in page.marks),
        "last_of": any(0 < mark.number == mark.total for mark in before.marks),
        "not_last": any(mark.number < mark.total for mark in before.marks),
        "head": _alike(before.lines[:3], page.lines[:3]),
        "foot": _alike(before.lines[-3:], page.lines[-3:]),
        "room": 1 - max((line.bottom for line in before.lines[: -1 if alone else None] if line.bottom > 0), default=1),
        "title": min(2.0, math.log(tallest / usual)) if usual < tallest else 0.0,
        "capitals": sum(map(str.isupper, letters)) / max(1, len(letters)),
        "labels": sum(labelled) / len(labelled),
        "identifiers": len(known & now) / min(len(known), len(now)) if known and now else 0.0,
        "meaning": alike,
        "item": 1.0 if item == 1 else -1.0 if item < 0 and page.items[0] <= 1 else 0.0,
        "size": math.dist(sorted(before.size), sorted(page.size)) > 3,
        "turned": (before.size[0] > before.size[1]) != (page.size[0] > page.size[1]),
        "scanned": before.scanned != page.scanned,
        "blank": blank,
        "separator": separator,
    }


def _alike(ours: Sequence[Line], theirs: Sequence[Line]) -> float:
    """Returns the share of words, numbers aside, that two edges have in common."""
    a, b = ({word for line in lines for word in line.key.split()} for lines in (ours, theirs))
    return len(a & b) / len(a | b) if a | b else 0.0
