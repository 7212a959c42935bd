"""All priors by name, and their scores for the slots of a form in the windows of a passage.

They are computed once for a form and a passage; their scores are added to the network's for the pieces of each window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cinnabar.engine.models.reader.inputs.windows import Window
from cinnabar.engine.models.reader.priors.example_prior import example_prior
from cinnabar.engine.models.reader.priors.heading_prior import heading_prior
from cinnabar.engine.models.reader.priors.label_prior import label_prior
from cinnabar.engine.models.reader.priors.list_prior import list_prior
from cinnabar.engine.models.reader.priors.name_matching import Floats
from cinnabar.engine.models.reader.priors.prior import Prior, PriorInput
from cinnabar.engine.models.reader.priors.table_prior import table_prior
from cinnabar.schemas.form.form import ArrayNode, Slot

#: The priors of places, in their order: if two score the beginnings of an array's items, the first one counts.
PRIORS: dict[str, Prior] = {
    "label_prior": label_prior,
    "table_prior": table_prior,
    "list_prior": list_prior,
    "heading_prior": heading_prior,
    "example_prior": example_prior,
}


class Priors:
    """The scores of a passage's pieces for the values of a form, and for the items of its lists."""

    def __init__(self, given: PriorInput) -> None:
        self._values: dict[str, Floats] = {}
        self._objects: dict[str, Floats] = {}
        self._rows: dict[str, Floats] = {}
        for name, prior in PRIORS.items():
            if given.config.applies(name):
                scores = prior(given)
                _add(self._values, scores.values)
                _add(self._objects, scores.objects)
                self._rows = {**scores.rows, **self._rows}

    def starts(self, windows: Sequence[Window], slots: Sequence[Sequence[Slot]], size: int, width: int) -> Floats:
        """Returns the log odds that the slots of each of N windows, `size` at most, start at each piece: [N, S, T]."""
        scores = np.zeros((len(windows), size, width), np.float32)
        for i, (w, own) in enumerate(zip(windows, slots, strict=True)):
            for j, slot in enumerate(own):
                parent, _, name = slot.path.rpartition("/")
                # The heading of a list says nothing about the text of an item.
                of_object = self._objects.get(parent) if name != "*" else None
                for prior in (self._values.get(slot.path), of_object):
                    if prior is not None:
                        scores[i, j, 1 : w.last - w.first + 1] += prior[w.first : w.last]
        return scores

    def rows(self, windows: Sequence[Window], arrays: Sequence[ArrayNode], width: int) -> Floats:
        """Returns the log odds that an item of each of A lists begins at each piece of N windows: [N, A, T]."""
        scores = np.zeros((len(windows), len(arrays), width), np.float32)
        for i, w in enumerate(windows):
            for j, array in enumerate(arrays):
                prior = self._rows.get(array.path)
                if prior is not None:
                    scores[i, j, 1 : w.last - w.first + 1] = prior[w.first : w.last]
        return scores


def _add(whole: dict[str, Floats], part: Mapping[str, Floats]) -> None:
    """Adds the scores of one prior to those of the priors before it."""
    for path, scores in part.items():
        whole[path] = whole[path] + scores if path in whole else scores
