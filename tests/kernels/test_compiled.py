"""Triton's compiler accepts each kernel for a GPU; that needs no GPU, while Triton's interpreter accepts more."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from bench.kernels_check import KERNELS, TARGETS, compiled

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed"),
    pytest.mark.slow,
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles_for_a_gpu_and_keeps_its_numbers_in_registers(
    name: str, target: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    made = compiled(name, target)
    # Products in float32 take three of the tensor cores' own, whose parts do not all fit.
    assert 0 < made.registers <= 255 and made.stack <= (256 if "attend of float32" in name else 0)
