"""Compiles each Triton kernel for a GPU's kinds, and compares each with its definition, on a GPU if there is one.

    python -m bench.kernels_check [--json bench_results/kernels.json] [--only compiled,compared]

Compiling needs no GPU: it tells the registers of a thread, what is spilled to memory, and the shared memory of a
program. The comparison runs in Triton's interpreter where there is no GPU. No failure stops the next row.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.reporting import table
from cinnabar.kernels.paged_attention import WARPS_OF_FLOAT32

#: Of each kernel the types of its arguments: i and l are int32 and int64, h is bfloat16, f float32, b bool; a capital
#: letter is a pointer to such numbers. Then its sizes.
KERNELS = {
    # Heads, heads that share a key head, the width of a head and a power of two, page, lanes, sight, block.
    "paged_attention_triton._attend": ("HHHHLLLLLif", (32, 4, 128, 128, 64, 64, 1, 4)),
    "paged_attention_triton._attend of float32": ("FFFFLLLLLif", (9, 3, 64, 64, 64, 64, 2, 8)),
    "block_scan_triton._emissions": ("ILLFFFFF", (256,)),
    "block_scan_triton._allowed_sums": ("ILLFF", (32, 32)),
    "block_scan_triton._recursions": ("ILLFFFFif", (32, 32)),
    "block_scan_triton._trace": ("ILFFiII", (256,)),
    "block_scan_triton._shares": ("ILLFFIFBFFiIfIF", (256, 32, 32)),
}
#: Options of the launch where they are not the usual ones.
_OPTIONS = {"paged_attention_triton._attend of float32": {"num_warps": WARPS_OF_FLOAT32}}
_TYPES = {"i": "i32", "l": "i64", "h": "bf16", "f": "fp32", "b": "i1"}
#: Compute capabilities: Hopper and Blackwell.
TARGETS = (90, 100)
#: Programs of tests/kernels with their arguments.
COMPARISONS: dict[str, tuple[str, ...]] = {
    "compare_blocks": ("20",),
    "compare_attention": (),
}
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel for a target: registers of a thread, bytes on its stack (spilled ones are there), shared bytes."""

    kernel: str
    target: int
    registers: int
    stack: int
    shared: int


def compiled(name: str, target: int) -> Compiled:
    """Compiles a kernel of `KERNELS` for a compute capability. Raises what Triton's compiler raises."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module, kernel = name.removesuffix(" of float32").split(".")
    function = getattr(importlib.import_module(f"cinnabar.kernels.{module}"), kernel)
    letters, sizes = KERNELS[name]
    arguments, constants = function.arg_names[: len(letters)], function.arg_names[len(letters) :]
    signature = {
        one: ("*" if letter.isupper() else "") + _TYPES[letter.lower()]
        for one, letter in zip(arguments, letters, strict=True)
    }
    source = ASTSource(
        fn=function,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs=dict(zip(constants, sizes, strict=True)),
    )
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options=_OPTIONS.get(name))
    return Compiled(name, target, *_usage(made.asm["cubin"]))


def _usage(cubin: bytes) -> tuple[int, int, int]:
    """Returns registers, stack and shared memory of a program, by the tool that Triton brings."""
    from triton import knobs

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        tool = [knobs.nvidia.cuobjdump.path, "--dump-resource-usage", file.name]
        said = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    found = {key: int(value) for key, value in re.findall(r"\b(REG|STACK|SHARED):(\d+)", said)}
    return found["REG"], found["STACK"], found["SHARED"]


def compared(script: str, *arguments: str) -> str:
    """Runs a comparison of tests/kernels, in the interpreter without a GPU; returns what it says last.

    Raises RuntimeError with the end of its output if they differ.
    """
    import torch

    environment = dict(os.environ) if torch.cuda.is_available() else {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", f"tests.kernels.{script}", *arguments]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-2000:])
    return done.stdout.splitlines()[-1]


def _compiled_rows(kept: list[dict[str, Any]]) -> Iterator[list[str]]:
    for name in KERNELS:
        for target in TARGETS:
            try:
                one = compiled(name, target)
            except Exception as error:
                kept.append({"kernel": name, "target": target, "error": str(error)[:2000]})
                yield [name, f"sm_{target}", f"failed: {str(error).splitlines()[0][:80]}", "", ""]
                continue
            kept.append(asdict(one))
            yield [name, f"sm_{target}", str(one.registers), str(one.stack), str(one.shared)]


def _compared_rows(kept: list[dict[str, Any]]) -> Iterator[list[str]]:
    for script, arguments in COMPARISONS.items():
        try:
            said, error = compared(script, *arguments), ""
        except Exception as raised:
            said, error = "differs", str(raised)
        kept.append({"comparison": script, "said": said, "error": error})
        yield [script, said]
        if error:
            print(error, file=sys.stderr)


def main() -> int:
    """Prints the tables and writes the JSON; returns 1 if a kernel failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=Path("bench_results", "kernels.json"))
    parser.add_argument("--only", default="compiled,compared")
    asked = parser.parse_args()
    if importlib.util.find_spec("triton") is None:
        print("triton is not installed: nothing to check", file=sys.stderr)
        return 1
    # Triton 3.9 warns without it.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "0")
    kept: list[dict[str, Any]] = []
    parts = {
        "compiled": (("kernel", "for", "registers", "bytes of stack", "shared bytes"), _compiled_rows),
        "compared": (("comparison with the definition", "said"), _compared_rows),
    }
    for name in asked.only.split(","):
        head, rows = parts[name]
        print(table(head, []), flush=True)
        for row in rows(kept):
            print("| " + " | ".join(row) + " |", flush=True)
        print(flush=True)
    asked.json.parent.mkdir(parents=True, exist_ok=True)
    asked.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(any(one.get("error") for one in kept))


if __name__ == "__main__":
    sys.exit(main())
