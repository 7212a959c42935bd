"""Triton's compiler accepts each kernel for a GPU; that needs no GPU, while Triton's interpreter accepts more."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import pytest

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed"),
    pytest.mark.slow,
]

#: Of each kernel the types of its arguments: i and l are int32 and int64, h is bfloat16, f float32, b bool; a capital
#: letter is a pointer to such numbers. Then its sizes.
KERNELS = {
    "class_scores_triton._piece": ("HIIFFIii", (128, 16)),
    "class_scores_triton._piece of float32": ("FIIFFIii", (128, 16)),
    "class_scores_triton._class": ("HLFFIIFFIFBiii", (32, 32)),
    # Heads, heads that share a key head, the width of a head and a power of two, page, lanes, sight, block.
    "paged_attention_triton._attend": ("HHHHLLLLLif", (32, 4, 128, 128, 64, 64, 1, 4)),
    "paged_attention_triton._attend of float32": ("FFFFLLLLLif", (9, 3, 64, 64, 64, 64, 2, 8)),
    "block_scan_triton._emissions": ("ILLFFFFF", (256,)),
    "block_scan_triton._allowed": ("ILLFF", (32, 32)),
    "block_scan_triton._recursions": ("ILLFFFFif", (32, 32)),
    "block_scan_triton._trace": ("ILFFiII", (256,)),
    "block_scan_triton._shares": ("ILLFFIFBFFiIfIF", (256, 32, 32)),
}
TYPES = {"i": "i32", "l": "i64", "h": "bf16", "f": "fp32", "b": "i1"}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles_for_a_gpu(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    module, kernel = name.removesuffix(" of float32").split(".")
    function = getattr(importlib.import_module(f"cinnabar.kernels.{module}"), kernel)
    letters, sizes = KERNELS[name]
    arguments, constants = function.arg_names[: len(letters)], function.arg_names[len(letters) :]
    assert len(constants) == len(sizes), function.arg_names
    signature = {
        one: ("*" if letter.isupper() else "") + TYPES[letter.lower()]
        for one, letter in zip(arguments, letters, strict=True)
    }
    source = ASTSource(
        fn=function,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs=dict(zip(constants, sizes, strict=True)),
    )
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    assert made.asm["cubin"]
