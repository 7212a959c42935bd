"""Compares attention over pages by the Triton kernel with its definition.

Run it with TRITON_INTERPRET=1 on a CPU, or without that on a CUDA device.
"""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import numpy as np
import torch
from tests.kernels.test_paged_attention import PAGE, rows_of

from cinnabar.kernels.paged_attention import PagedRows, Sight, paged_attention, tile_tokens
from cinnabar.kernels.paged_attention_triton import paged_attention_triton

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
#: Heads, key heads and the width of a head.
SHAPES = [(4, 2, 16), (9, 3, 24), (2, 2, 8), (8, 1, 32)]


def main() -> None:
    """Fails where they differ."""
    for number, (heads, groups, width) in enumerate(SHAPES):
        for sight in get_args(Sight):
            draw = np.random.default_rng(number)
            most = tile_tokens(heads // groups)
            rows = rows_of(draw, [4, 1, 8, 70, 3], [31, 1, 16, 90, 64], most, padded=2)
            many = 1 + int(rows.pages.max())
            shapes = ((86, heads, width), (PAGE * many, groups, width), (PAGE * many, groups, width))
            q, keys, values = (torch.from_numpy(draw.normal(size=shape).astype(np.float32)) for shape in shapes)
            expected = paged_attention(q, keys, values, rows, PAGE, sight, 4)
            there = PagedRows(*(getattr(rows, field.name).to(DEVICE) for field in fields(rows)))
            on_it = q.to(DEVICE), keys.to(DEVICE), values.to(DEVICE)
            made = paged_attention_triton(on_it[0], on_it[1], on_it[2], there, PAGE, sight, 4)
            torch.testing.assert_close(made.cpu(), expected, atol=2e-5, rtol=1e-4)
    print("attention agrees")


main()
