"""The memory that a language model needs, told by its traits before it is loaded; needs no torch but for a GPU.

Its parts are the weights (`checkpoint.weight_bytes`), the keys and values of each position that is read, and the
temporaries of one pass.
"""

from __future__ import annotations

import ctypes
import mmap
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import Precision

if TYPE_CHECKING:
    import torch

#: The share of the free memory that keys and values may take; passes, documents and their parsers need the rest.
MEMORY_SHARE = 0.5
#: A pass of so many tokens on a CPU gives back the memory of its temporaries, up to 300 MB, which takes 10 ms.
LONG_PASS = 256
#: Bytes of an activation, and of a weight that is no whole number, by precision.
BYTES: dict[Precision, int] = {"float32": 4, "int8": 4, "bfloat16": 2}
#: Tokens of prompts that one pass reads, at most. On a GPU documents/s is what counts: each pass of open blocks reads
#: all weights, so it should have all rows, and of 128 rows with 40 passes each and prompts of 2,000 tokens three begin
#: with each pass.
PREFILL, PREFILL_OF_ACCELERATOR = 512, 8_192
#: Logits that exist at a time (64 MB in float32).
LOGITS = 16_000_000


def position_numbers(traits: Traits) -> int:
    """Returns how many numbers the keys and values of one position are."""
    # Layers with a window keep little more than what lies in it, however long the request is.
    layers = traits.layers if traits.local is None else traits.local.sliding.count(False)
    return 2 * layers * traits.key_heads * traits.head_width


def position_bytes(traits: Traits, precision: Precision) -> int:
    """Returns the bytes of the keys and values of one position; see `position_numbers`."""
    return position_numbers(traits) * BYTES[precision]


def pass_bytes(traits: Traits, precision: Precision, positions: int) -> int:
    """Returns a bound of the bytes of the temporaries of one pass over a request of so many positions.

    They are the mask of attention as truth values and as numbers, the hidden states of one layer, the keys and values
    of one layer once for each head that reads them, and the logits.
    """
    tokens = min(PREFILL, positions)
    size, heads = BYTES[precision], traits.heads * traits.head_width
    # A comparison and its conjunction with another exist beside the mask.
    mask = tokens * positions * (3 + size)
    inner = traits.inner if traits.experts is None else max(traits.inner, traits.experts.chosen * traits.experts.inner)
    # The residual, its norm (in float32, twice), queries in three forms, what attention makes, and the gated net.
    states = tokens * ((2 * traits.width + 4 * heads + 3 * inner) * size + 8 * traits.width)
    spread = 2 * positions * heads * size if traits.heads != traits.key_heads else 0
    logits = max(LOGITS, traits.vocabulary) * (size + 4)
    return mask + states + spread + logits


def cache_budget(free: int) -> int:
    """Returns the bytes that keys and values may take of so many that are free beside the weights."""
    return int(max(free, 0) * MEMORY_SHARE)


def longest_within(traits: Traits, precision: Precision, free: int) -> int:
    """Returns the most positions of a request that runs in so many bytes beside the weights, at most the window."""
    kept, each = cache_budget(free), position_bytes(traits, precision)

    return bisect_right(
        range(1, traits.window + 1),
        False,
        key=lambda length: length * each > kept or pass_bytes(traits, precision, length) > free - kept,
    )


def free_memory(device: torch.device | None = None) -> int | None:
    """Returns the free memory of a device in bytes, the host's by default; None if the system does not tell it."""
    if device is not None and device.type == "cuda":
        # Cold start: Torch takes a second, and the memory of a CPU is known without it.
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    free: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    try:
        # A container's own bound; of what it uses, the file cache can be given back.
        group = Path("/sys/fs/cgroup")
        bound = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        free.append(bound - used + int(stat.get("file", 0)))
    except (OSError, ValueError):
        pass
    return min(free) if free else None


def give_back_memory() -> None:
    """Gives freed memory back to the system, which glibc keeps where large and small pieces took turns.

    Without it a model of 135M weights in 8 bits had .5 to .8 GB more after it was loaded.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def mapped_places() -> list[tuple[int, int]]:
    """Returns the addresses [begin, end) at which files are mapped, none where the system does not tell them."""
    places: list[tuple[int, int]] = []
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            place, _, _, _, inode, *_ = line.split()
            if inode != "0":
                begin, end = place.split("-")
                places.append((int(begin, 16), int(end, 16)))
    return places


def drop_pages(tensor: torch.Tensor, places: Sequence[tuple[int, int]]) -> None:
    """Gives the pages of a tensor in one of these mapped places back to the system, which reads them again if need be.

    What lies in memory alone stays.
    """
    size, at, end = mmap.PAGESIZE, tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
    begin, end = -(-at // size) * size, end // size * size
    if any(first <= begin < end <= last for first, last in places):
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)
