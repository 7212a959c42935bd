"""Chooses, field by field, which of two models has the last word, by corrected documents that both have read."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cinnabar.extraction.learning.evaluation import answers, leaves_of
from cinnabar.extraction.learning.scoring import Prediction
from cinnabar.extraction.plan.thresholds import ESCALATE_AUTO_BELOW
from cinnabar.extraction.reading.pipeline import Job, Read
from cinnabar.extraction.reading.tiers import are_doubtful
from cinnabar.extraction.run.work.labelled_sets import LabelledSet


def doubtful_pointers(read: Prediction) -> set[str]:
    """Returns the pointers of the values that the reader is unsure of: all of a document of an unknown kind."""
    sure = read["confidence"]
    unknown = are_doubtful(sure.values())
    return {at for at, one in sure.items() if unknown or one < ESCALATE_AUTO_BELOW}


def read_until(reads: Sequence[Read], job: Job, end: float) -> dict[str, dict[str, Any]]:
    """Returns the predictions for these documents, of which none begins after `end` (of time.monotonic)."""
    found: dict[str, dict[str, Any]] = {}
    for read in reads:
        if time.monotonic() < end:
            found |= without_texts(answers([read], job))
    return found


def without_texts(answered: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns predictions as they may be written to disk, where no text of a document lies."""
    return {file: {**one, "text": None} for file, one in answered.items()}


def tier_choice(
    labelled: LabelledSet, reader: Mapping[str, Prediction], language: Mapping[str, Prediction]
) -> dict[str, bool]:
    """Returns by pointer whether the language model (True) or the reader is right where the surer of both is wrong.

    A field outside of lists is there if no chance explains in how many documents it is better so. Only values that the
    reader doubts count, since no run asks for others.
    """
    # By pointer, model and whether that is better or worse than the surer value: the number of documents.
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for line in labelled.truths:
        mine, theirs = (predicted.get(line["file"]) for predicted in (reader, language))
        if mine is None or theirs is None:
            continue
        rights = [
            {leaf.pointer: leaf.right for leaf in leaves_of(line, one["record"], **labelled.options)}
            for one in (mine, theirs)
        ]
        outside = {at for at in doubtful_pointers(mine) if not any(step.isdigit() for step in at.split("/"))}
        for at in outside & rights[0].keys() & rights[1].keys() & theirs["confidence"].keys():
            surer = theirs["confidence"][at] > mine["confidence"][at]
            for upper in (True, False):
                if rights[upper][at] != rights[surer][at]:
                    counts[at, upper, rights[upper][at]] += 1
    return {
        at: upper
        for at, upper in sorted({(at, upper) for at, upper, _ in counts})
        if counts[at, upper, True] > counts[at, upper, False]
        and more_than_chance(counts[at, upper, True], counts[at, upper, False])
    }


def more_than_chance(better: int, worse: int) -> bool:
    """Returns whether so many documents of two kinds are no chance, by a two-sided sign test at .1."""
    ways = [math.comb(better + worse, count) for count in range(min(better, worse) + 1)]
    return float(2 * sum(ways)) < 0.1 * 2.0 ** (better + worse)
