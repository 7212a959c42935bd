"""How much the reader works on at once, by the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """The most that one operation of the reader gets; no state and no score depends on them.

    pieces: word pieces that the encoder reads together, with 30 KB each. windows: windows that are projected together,
    with 14 MB each. views: views that go through the decoder together, and those of one request among them, with 4 MB
    each.
    """

    pieces: int
    windows: int
    views: int


# On a processor small batches are as fast as large ones, because its caches are small: 100 contracts took 14.6 seconds
# of one core and 968 MB at the peak, and with four times the views and twice the rest 15.3 seconds and 1,377 MB.
_PROCESSOR = BatchSizes(pieces=3_840, windows=6, views=12)
_ACCELERATOR = BatchSizes(pieces=7_680, windows=12, views=48)


def batch_sizes(device: torch.device) -> BatchSizes:
    """Returns the sizes for this device."""
    return _PROCESSOR if device.type == "cpu" else _ACCELERATOR
