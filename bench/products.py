"""Counts the torch calls of some work, and times its matrix products alone.

The products are those of the encoder and of the decoder, as large as the work has them: recorded while it runs, and
repeated with other values of the same shapes and types. Their time is the least that the same arithmetic takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

#: The calls that multiply matrices, by the beginning of their names.
_PRODUCTS = (
    "linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "_int_mm", "scaled_dot_product_attention",
    "_scaled_dot_product", "conv1d", "convolution", "mkldnn_convolution",
)  # fmt: skip


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts all torch calls within its context, and keeps the shapes of those that multiply matrices."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = 0
        self.products: list[tuple[Callable[..., Any], Any, Any]] = []

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Counts a call, and makes it."""
        self.calls += 1
        kwargs = kwargs or {}
        if func.overloadpacket.__name__.startswith(_PRODUCTS):
            self.products.append((func, tree_map(_shape, args), tree_map(_shape, kwargs)))
        return func(*args, **kwargs)

    def seconds(self) -> float:
        """Returns the time of the recorded products alone, one after the other, each after a first run."""
        total = 0.0
        ready: dict[str, tuple[Any, Any]] = {}
        with torch.inference_mode():
            for func, args, kwargs in self.products:
                key = f"{func} {args} {kwargs}"
                if key not in ready:
                    ready[key] = tree_map(_filled, args), tree_map(_filled, kwargs)
                    func(*ready[key][0], **ready[key][1])
                given, named = ready[key]
                begun = time.perf_counter()
                func(*given, **named)
                total += time.perf_counter() - begun
        return total


class _Shape:
    """The shape, strides and type of a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.size, self.stride = tuple(tensor.shape), tensor.stride()
        self.dtype, self.device = tensor.dtype, tensor.device

    def __repr__(self) -> str:
        return f"{self.size} {self.stride} {self.dtype}"


def _shape(value: Any) -> Any:
    return _Shape(value) if isinstance(value, Tensor) else value


def _filled(value: Any) -> Any:
    if not isinstance(value, _Shape):
        return value
    tensor = torch.empty_strided(value.size, value.stride, dtype=value.dtype, device=value.device)
    # All that it holds: an expanded tensor has fewer values than places, and those cannot be written one by one.
    held = tensor.as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,))
    _ = held.normal_() if value.dtype.is_floating_point else held.random_(-127, 128)
    return tensor
