"""The regions of a window's pieces, relative to the row in which a slot lies."""

from __future__ import annotations

import torch
from torch import Tensor

from cinnabar.engine.models.reader.inputs.tensors import Board, Sheet

#: The number of regions relative to a row's anchor; region 0 is for slots outside of rows.
REGIONS = 7
#: The number of buckets of the distance from a row's anchor.
DISTANCES = 18


def regions(sheet: Sheet, board: Board) -> Tensor:
    """Returns the region of each piece, relative to each slot's row: [N, S, T] int64 in [0, REGIONS)."""
    place = torch.arange(sheet.ids.shape[1], device=sheet.ids.device)[None, None, :]
    anchor, until = board.anchor[..., None], board.until[..., None]
    line = sheet.line[:, None, :]
    own_line = line == sheet.line.gather(1, board.anchor.clamp(min=0))[..., None]
    region = torch.where(own_line, 2, 1)
    region = torch.where(place >= anchor, torch.where(own_line, 3, 4), region)
    region = torch.where(place >= until, torch.where(own_line, 5, 6), region)
    return torch.where(anchor >= 0, region, 0)


def distance_buckets(distance: Tensor) -> Tensor:
    """Returns the bucket, in [0, DISTANCES), of each distance from an anchor, int64.

    Buckets are exact up to 3 pieces after the anchor, then powers of two; before it likewise.
    """
    size = distance.abs().clamp(min=1).float().log2().floor().long().clamp(max=7)
    after = torch.where(distance <= 3, distance.clamp(min=0), 2 + size)
    return torch.where(distance >= 0, after, 10 + size).clamp(0, DISTANCES - 1)
