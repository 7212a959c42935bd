"""The device that runs a model, and the implementation of the kernels: Triton on CUDA, numpy and PyTorch elsewhere.

The environment variable `CINNABAR_KERNELS` demands one, such as `triton` for a CPU in Triton's interpreter.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Literal, cast, get_args

import torch

from cinnabar.errors import UsageError

#: Which implementation runs: numpy and plain PyTorch, or the Triton kernels.
Backend = Literal["plain", "triton"]
#: The environment variable that demands an implementation.
KERNELS_VARIABLE = "CINNABAR_KERNELS"


def device_of(device: str) -> torch.device:
    """`auto` is CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
        raise UsageError(f"device {device}: expected auto, cpu or cuda, and for cuda a CUDA device")
    return torch.device(device)


def backend_of(device: torch.device) -> Backend:
    """Returns the implementation for tensors on a device. Raises UsageError if the demanded one cannot run there."""
    named = os.environ.get(KERNELS_VARIABLE)
    if named and named not in get_args(Backend):
        raise UsageError(f"{KERNELS_VARIABLE}={named}: expected one of {', '.join(get_args(Backend))}")
    if named != "triton":
        # A Python on Windows may have CUDA without Triton.
        chosen = device.type == "cuda" and find_spec("triton") is not None
        return cast(Backend, named or ("triton" if chosen else "plain"))
    if find_spec("triton") is None:
        raise UsageError(f"{KERNELS_VARIABLE}=triton: expected the package triton, it is not installed")
    if device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        wanted = "a CUDA device, or TRITON_INTERPRET=1 for Triton's interpreter"
        raise UsageError(f"{KERNELS_VARIABLE}=triton: expected {wanted}, got the device {device.type}")
    return "triton"
