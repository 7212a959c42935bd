"""Modules without first values, for weights that come from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

#: The methods of a tensor that draw its values.
_DRAWING = (Tensor.uniform_, Tensor.normal_)


class WithoutDrawing(TorchFunctionMode):
    """Within it the parameters of new modules keep whatever their memory holds.

    To draw the reader's parameters takes 0.13 s, and the pages of memory that nobody writes to are never taken. The
    device `meta` would do the same, but its first use imports parts of torch for 0.6 s.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Leaves out the functions of `torch.nn.init` and all that draws."""
        named = dict(kwargs or {})
        if func in _DRAWING or (isinstance(func, FunctionType) and func.__module__ == "torch.nn.init"):
            return args[0] if args else named["tensor"]
        return func(*args, **named)
