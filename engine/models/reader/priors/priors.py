"""What headings, labels and tables of a passage say to the pointers of a form's slots, gathered.

They are read once for a form and a passage; what they say is added to what the network says of the pieces of
each window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from cinnabar.engine.models.reader.inputs.windows import Window
from cinnabar.engine.models.reader.priors.example_prior import told_by_examples
from cinnabar.engine.models.reader.priors.heading_prior import told_by_headings
from cinnabar.engine.models.reader.priors.label_prior import labels_of, told_by_labels
from cinnabar.engine.models.reader.priors.list_prior import told_by_listings
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.engine.models.reader.priors.table_prior import OTHERS, OWN, told_of_fields, told_of_rows
from cinnabar.engine.models.reader.priors.tables import tables_of
from cinnabar.schemas.form.form import ArrayNode, Form, Slot

#: How much less likely it is that there is no value where one stands below its field's head, at most, and
#: how much likelier where all cells of the line are other fields'.
PRESENT, EMPTY = 3.0, 1.5
#: How much less likely that is in the record, for what labels and headings say of the likeliest place.
LABELLED = 0.5
#: What a heading says of where the items of a list begin, for what it says of an object: in its block, and
#: outside of it.
HEADED, BESIDE = 1.4, 0.8


class Priors:
    """What the words of a passage say of where the values of a form stand, and where items of lists begin."""

    def __init__(self, form: Form, page: Page) -> None:
        self._pieces = len(page.columns.pieces)
        self._tables = tables_of(form, page)
        self._headed = told_by_headings(form, page)
        labels = labels_of(form, page)
        self._listed, texts = told_by_listings(form, labels, page)
        self._fields = told_by_labels(form, labels, self._pieces)
        self._fields |= told_of_fields(self._tables, self._pieces) | texts
        for path, told in told_by_examples(form, page).items():
            self._fields[path] = self._fields[path] + told if path in self._fields else told
        self._rows = {array.path: self._of_rows(array) for array in form.arrays}

    def starts(self, windows: Sequence[Window], slots: Sequence[Sequence[Slot]], width: int) -> Tensor:
        """How much likelier the slots that look at each of N windows start at each piece: [N, S, T]."""
        said = torch.zeros(len(windows), max(map(len, slots)), width)
        for i, (w, own) in enumerate(zip(windows, slots, strict=True)):
            for j, slot in enumerate(own):
                parent, _, name = slot.path.rpartition("/")
                # Of what an item of a list is the list's heading says nothing.
                of_object = self._headed.get(parent) if name != "*" else None
                for told in (self._fields.get(slot.path), of_object):
                    if told is not None:
                        said[i, j, 1 : w.last - w.first + 1] += torch.from_numpy(told[w.first : w.last])
        return said

    def rows(self, windows: Sequence[Window], arrays: Sequence[ArrayNode], width: int) -> Tensor:
        """How much likelier an item of each of A lists begins at each piece of N windows: [N, A, T]."""
        said = torch.zeros(len(windows), len(arrays), width)
        for i, w in enumerate(windows):
            for j, array in enumerate(arrays):
                told = self._rows[array.path]
                if told is not None:
                    said[i, j, 1 : w.last - w.first + 1] = torch.from_numpy(told[w.first : w.last])
        return said

    def _of_rows(self, array: ArrayNode) -> Floats | None:
        if array.path in self._tables:
            return told_of_rows(self._tables[array.path], self._pieces)
        if array.path in self._listed:
            return self._listed[array.path]
        headed = self._headed.get(array.path)
        if headed is None or headed.max() <= 0:
            return None
        return np.where(headed > 0, HEADED * headed, -BESIDE * headed.max()).astype(np.float32)


def of_absence(told: Tensor, region: Tensor, allowed: Tensor) -> Tensor:
    """How much likelier it is that a slot has no value in a window, by what is told of its pieces: [N, S].

    told: [N, S, T] from `Priors.starts`; region: where pieces stand, seen from the slot's row (regions.py), 0
    for slots outside of rows; allowed: where the slot's values may start, bool.
    """
    outside = region[..., 0] == 0
    own = allowed & (outside[..., None] | (region >= 2) & (region <= 4))
    most = torch.where(own, told, -torch.inf).amax(-1).clamp(max=OWN)
    present = torch.where(outside, LABELLED, PRESENT / OWN) * most.clamp(min=0)
    empty = torch.where(outside, 0.0, EMPTY / OTHERS) * most.clamp(max=0)
    return torch.where(own.any(-1), -present - empty, 0.0)
