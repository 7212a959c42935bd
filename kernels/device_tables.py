"""The tables of a record's parts on a device, and copies to it that wait for nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from cinnabar.kernels.block_scan import Ints, PartTables


@dataclass(frozen=True, slots=True)
class DevicePart:
    """A part's tables on a device, as one row of int32; `layout` in the kernels tells the places.

    classes: [C], sizes: [C] (tokens of each class); distance: [N]; then by target, by source and by label: the
    segments with the most edges first, where the edges of each begin, and the two other columns of the edges.
    """

    states: int
    classes: int
    edges: int
    packed: torch.Tensor


def device_part(tables: PartTables, classes: Ints, sizes: Ints, distance: Ints, device: torch.device) -> DevicePart:
    """Returns the tables of a part on a device; classes: [C], their numbers in the graph."""
    columns = [classes, sizes, distance]
    source, label = tables.source, tables.label
    target = np.repeat(np.arange(tables.states), np.diff(tables.first))
    for key, near, far, many in (
        (target, source, label, tables.states),
        (source, target, label, tables.states),
        (label, source, target, tables.classes),
    ):
        order = np.argsort(key, kind="stable")
        begin = np.searchsorted(key[order], np.arange(many + 1))
        columns += [np.argsort(-np.diff(begin), kind="stable"), begin, near[order], far[order]]
    packed = torch.from_numpy(np.concatenate(columns).astype(np.int32)).to(device)
    return DevicePart(tables.states, tables.classes, len(source), packed)


def upload(array: npt.NDArray[np.int64], device: torch.device) -> torch.Tensor:
    """Returns the array on a device; a copy from pinned memory does not wait for what the device computes."""
    made = torch.from_numpy(array)
    return made.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else made
