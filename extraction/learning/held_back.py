"""Finds the documents of a labelled set that training never saw."""

from __future__ import annotations

from training.recipe import Recipe, is_held_back

from cinnabar.extraction.run.work.labelled_sets import LabelledSet


def held_back_files(labelled: LabelledSet, recipe: Recipe) -> list[str]:
    """Returns the files that the recipe holds back: a part of each training set, all of any other set."""
    own = recipe.sets.get(labelled.name)
    return [
        line["file"]
        for line in labelled.truths
        if own is None or is_held_back(line["file"], line["truth"], own)
    ]
