"""Linear layers in floats of 8 bits (E4M3, arXiv 2209.05433), for GPUs whose tensor cores multiply these.

A weight has a scale for each output, an input one for each token, so that the largest number of each is the largest
float of 8 bits. Weights take half of the bytes of bfloat16, and products run at twice its rate. Elsewhere the same
rounded numbers are multiplied in float32.
"""

from __future__ import annotations

import torch
from torch import nn

FLOAT8 = torch.float8_e4m3fn
#: The largest float of 8 bits, and the least magnitude of a row.
_LARGEST, _LEAST = 448.0, 1e-12
#: What the tensor cores ask of the sizes of a matrix.
_STEP = 16


class Float8Linear(nn.Module):
    """`nn.Linear` in floats of 8 bits."""

    values: torch.Tensor
    scales: torch.Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.register_buffer("values", torch.empty_like(linear.weight, dtype=FLOAT8, requires_grad=False))
        self.register_buffer("scales", torch.empty(linear.out_features, device=linear.weight.device))
        self.bias = linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: [..., I]; returns [..., O]."""
        return float8_product(x, self.values, self.scales, self.bias)


def round_rows(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (values [N, I] in 8 bits, scales [N] float32) of the rows of a matrix."""
    wide = weight.float()
    scales = wide.abs().amax(-1).clamp_min(_LEAST) / _LARGEST
    return (wide / scales[:, None]).to(FLOAT8), scales


def float8_product(
    x: torch.Tensor, values: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Returns x times the matrix, [..., O] in the dtype of x; values: [O, I], scales: [O]."""
    rows, own = round_rows(x.reshape(-1, x.shape[-1]))
    if x.dtype == torch.bfloat16 and _multiplies(values):
        made = torch._scaled_mm(
            rows, values.t(), scale_a=own[:, None], scale_b=scales[None], out_dtype=x.dtype, use_fast_accum=True
        )
    else:
        made = ((rows.float() @ values.float().t()) * own[:, None] * scales).to(x.dtype)
    made = made if bias is None else made + bias
    return made.view(*x.shape[:-1], len(values))


def _multiplies(values: torch.Tensor) -> bool:
    whole = all(size % _STEP == 0 for size in values.shape)
    return whole and values.is_cuda and torch.cuda.get_device_capability(values.device) >= (8, 9)


def to_float8(module: nn.Module) -> None:
    """Puts such layers, without their numbers, in the place of the projections within a decoder's layers."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear) and name.endswith("_proj"):
            setattr(module, name, Float8Linear(child))
        else:
            to_float8(child)
