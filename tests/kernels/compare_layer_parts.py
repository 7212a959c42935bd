"""Compares the parts of a layer by the Triton kernels with their definitions.

Run it with TRITON_INTERPRET=1 on a CPU, or without that on a CUDA device.
"""

from __future__ import annotations

import torch

from cinnabar.kernels.layer_parts import CacheWrites, HeadNorms, HeadShape, LayerParts, Positioned
from cinnabar.kernels.layer_parts_triton import TritonLayerParts

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
#: Tokens, and heads, key heads, their width and how much of it turns: sizes that are no powers of two, too.
SHAPES = [
    (5, HeadShape(4, 2, 16, 16)),
    (1, HeadShape(9, 3, 24, 24)),
    (3, HeadShape(2, 2, 8, 4)),
    (7, HeadShape(8, 1, 32, 16)),
]


def compare(number: int, many: int, shape: HeadShape, dtype: torch.dtype) -> None:
    """Fails where they differ."""
    draw = torch.Generator().manual_seed(number)

    def drawn(*size: int) -> torch.Tensor:
        return torch.randn(size, generator=draw).to(DEVICE, dtype)

    close = {torch.float32: {"atol": 2e-6, "rtol": 1e-5}, torch.bfloat16: {"atol": 0.05, "rtol": 0.02}}[dtype]
    plain, kernels = LayerParts(), TritonLayerParts()
    x, added, weight = drawn(many, 40), drawn(many, 40), drawn(40)
    for more in (None, added):
        for found, wanted in zip(
            kernels.add_norm(x, more, weight, 1e-6), plain.add_norm(x, more, weight, 1e-6), strict=True
        ):
            torch.testing.assert_close(found, wanted, **close)
    both = drawn(many, 2 * 1030)
    torch.testing.assert_close(kernels.silu_gate(both), plain.silu_gate(both), **close)
    joined = drawn(many, (shape.heads + 2 * shape.key_heads) * shape.width)
    places = torch.randperm(20, generator=draw)[:many].to(DEVICE)
    norms = HeadNorms(drawn(shape.width), drawn(shape.width), 1e-6)
    for normed, scale in ((None, None), (norms, None), (norms, drawn(many))):
        angles = torch.randn(many, shape.rotary, generator=draw).to(DEVICE)
        at = Positioned(angles.cos().to(dtype), angles.sin().to(dtype), scale)
        results = []
        for parts in (plain, kernels):
            held = [torch.zeros(20, shape.key_heads, shape.width, dtype=dtype, device=DEVICE) for _ in range(2)]
            results.append((parts.queries(joined, shape, at, normed, CacheWrites(held[0], held[1], places)), *held))
        for wanted, found in zip(*results, strict=True):
            torch.testing.assert_close(found, wanted, **close)


def main() -> None:
    """Compares all shapes in both types."""
    for number, (many, shape) in enumerate(SHAPES):
        for dtype in (torch.float32, torch.bfloat16):
            compare(number, many, shape, dtype)
    print("the layers' parts agree")


main()
