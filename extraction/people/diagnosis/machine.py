"""Checks of the machine: memory, cores, instruction sets, GPU, disk."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cinnabar.extraction.people.diagnosis.findings import Finding, advises, fails, ok

GIB = 1 << 30
#: Memory below which a run may be killed, and below which it will be: over one short mail the engine's process takes
#: 549 MB (2 cores, int8), and each parser's process may take up to 1 GiB.
LITTLE_MEMORY, NO_MEMORY = 2 * GIB, GIB // 2
#: Free disk below which a run may stop, and below which it will.
LITTLE_DISK, NO_DISK = 2 * GIB, GIB // 20
_CGROUP = Path("/sys/fs/cgroup")


def machine() -> Iterator[Finding]:
    """Memory, cores with their instruction sets, a GPU, and the folder for temporary files."""
    yield _memory()
    yield _cores()
    yield _gpu()
    yield disk("temporary files", Path(tempfile.gettempdir()), "set TMPDIR to a folder with more room")


def size(count: float) -> str:
    """Bytes as text."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / (1 << 20):.0f} MiB"


def _memory() -> Finding:
    free, whole = _memory_of_machine()
    limit = _number(_CGROUP / "memory.max")
    if limit is not None and limit < whole:
        used = _number(_CGROUP / "memory.current") or 0
        whole, free = limit, min(free, limit - used)
    measured = f"{size(free)} free of {size(whole)}"
    if free < NO_MEMORY:
        return fails("memory", measured, f"free {size(LITTLE_MEMORY)}, or give the container more")
    if free < LITTLE_MEMORY:
        return advises("memory", measured, "large documents may end a run; free memory, or use --workers 1")
    return ok("memory", measured)


def _memory_of_machine() -> tuple[int, int]:
    """Bytes that are available, and bytes in all."""
    page = os.sysconf("SC_PAGE_SIZE")
    whole = page * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):  # another system than Linux
        free = whole
    return free, whole


def _number(path: Path) -> int | None:
    """The number in a file of the control group; None without a limit."""
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _cores() -> Finding:
    # Cold start: Torch takes a second.
    import torch

    # Cold start: it imports Torch.
    from cinnabar.engine.models.int8_matmul import supports_int8

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    capability = torch.backends.cpu.get_cpu_capability()
    integers = supports_int8(torch.device("cpu"))
    products = "8-bit integers" if integers else "float32"
    measured = f"{cores} of {platform.machine()}, {capability}, products in {products}"
    if not integers:
        slower = "the reader works, but slower: this processor multiplies 8-bit integers inexactly or slowly"
        return advises("cores", measured, slower)
    return ok("cores", measured)


def _gpu() -> Finding:
    # Cold start: Torch takes a second.
    import torch

    if torch.cuda.is_available():
        free, whole = torch.cuda.mem_get_info()
        return ok("GPU", f"{torch.cuda.get_device_name()}, {size(free)} free of {size(whole)}")
    if torch.version.cuda is None and shutil.which("nvidia-smi"):
        return advises("GPU", "PyTorch is a build without CUDA, so it is not used", "install a build with CUDA")
    return ok("GPU", "none; the reader needs none")


def disk(check: str, folder: Path, advice: str) -> Finding:
    """The free disk of a folder."""
    free = shutil.disk_usage(folder).free
    measured = f"{size(free)} free in {folder}"
    if free < NO_DISK:
        return fails(check, measured, advice)
    return advises(check, measured, advice) if free < LITTLE_DISK else ok(check, measured)
