"""Finds the documents of a labelled set that training never saw."""

from __future__ import annotations

import hashlib

from cinnabar.engine.training.recipe import Recipe, is_held_back
from cinnabar.extraction.quality.evaluation import EvaluationSet


def held_back_files(labelled: EvaluationSet, recipe: Recipe) -> list[str]:
    """Returns the files that the recipe holds back: a part of each training set, all of any other set."""
    own = recipe.sets.get(labelled.name)
    return [
        line["file"]
        for line in labelled.truths
        if own is None or is_held_back(line["file"], line["truth"], own)
    ]


def mark_of(file: str) -> str:
    """Returns the mark by which a fine-tuned model's folder names a training document of a set."""
    return hashlib.sha256(f"own:{file}".encode()).hexdigest()[:16]
