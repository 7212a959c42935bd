"""Whether bfloat16 pays on a device."""

from __future__ import annotations

import torch


def low_precision(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16.

    A processor without them emulates it: a product of matrices takes four times as long as in float32.
    """
    return device.type == "cuda" or torch.cpu._is_avx512_bf16_supported()
