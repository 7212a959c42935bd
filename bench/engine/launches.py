"""Counts the launches of a layer in a pass of open blocks on a GPU: by the modules as they are, and fused.

    python -m bench.engine.launches

No GPU takes part: each operation that computes or copies is counted as one launch, and so is each kernel of ours,
whose definition runs in its place. That is what a CUDA graph of such a pass holds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bench.engine.device import random_decoder
from bench.engine.device_shapes import SHAPES
from bench.engine.figures import Figure
from bench.reporting import machine_line, table
from cinnabar.engine.models.language.cache import PagedCache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.models.language.traits import ExpertTraits, Traits
from cinnabar.kernels.expert_routing import ExpertRouting
from cinnabar.kernels.layer_parts import LayerParts
from cinnabar.kernels.paged_attention import PagedRows, Sight

#: Operations that launch nothing: they make views, or tensors without content.
_FREE = (
    "view", "_unsafe_view", "reshape", "transpose", "t", "permute", "expand", "unsqueeze", "squeeze", "slice", "split",
    "split_with_sizes", "select", "as_strided", "detach", "alias", "empty", "empty_like", "unbind", "chunk",
)  # fmt: skip
#: The most launches of a layer that are wanted.
WANTED = 12


class Launches(TorchDispatchMode):
    """Counts operations; `apart` counts a kernel as one."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count, self._paused = 0, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if not self._paused and name not in _FREE:
            self.count += 1
        return func(*args, **(kwargs or {}))

    @contextmanager
    def one(self) -> Iterator[None]:
        """Counts what is done within as one launch."""
        self.count += 1
        self._paused = True
        try:
            yield
        finally:
            self._paused = False


class CountedParts(LayerParts):
    """The definitions, each counted as the launch that its kernel is."""

    def __init__(self, launches: Launches) -> None:
        for name in ("add_norm", "queries", "silu_gate"):
            setattr(self, name, _counted(getattr(self, name), launches))
        self.routing = ExpertRouting()
        for name, many in (("chosen", 1), ("place", 2), ("sum_weighted", 1)):
            setattr(self.routing, name, _counted(getattr(self.routing, name), launches, many))


def _counted(call: Callable[..., Any], launches: Launches, many: int = 1) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        launches.count += many - 1
        with launches.one():
            return call(*arguments)

    return run


def _passes(decoder: Decoder, fused: bool, launches: Launches) -> int:
    cache = PagedCache(decoder.traits, 8, torch.device("cpu"), torch.float32)
    row = cache.open(np.zeros(0, np.int64))
    text = np.arange(decoder.traits.block, dtype=np.int64)
    assert cache.extend(row, len(text))

    def attend(q: torch.Tensor, _: Any, __: Any, ___: PagedRows, ____: int, _____: Sight, ______: int) -> torch.Tensor:
        # One launch, and one that empties what no tile writes.
        launches.count += 2
        return q

    parts = CountedParts(launches) if fused else None
    passes = Passes(decoder, cache, tiled=True, attend=attend, parts=parts)
    piece = Piece(row, 0, text, 0, np.arange(len(text)))
    passes([piece])
    before = launches.count
    with launches:
        passes([piece])
    return launches.count - before


def launches_of(traits: Traits, fused: bool) -> float:
    """Returns the launches of one layer: those of a pass with three layers less those with two."""
    found = []
    for layers in (2, 3):
        decoder = random_decoder(replace(traits, layers=layers), torch.device("cpu"), torch.float32)
        with torch.inference_mode():
            found.append(_passes(decoder, fused, Launches()))
    return found[1] - found[0]


def figures() -> Iterator[Figure]:
    """Yields the launches of a layer of each kind."""
    tiny = replace(SHAPES["tiny"].traits, vocabulary=64, tied=True)
    experts = replace(tiny, experts=ExpertTraits(count=4, chosen=2, inner=16, softmax=True), family="sdar_moe")
    for kind, traits, wanted in (("SDAR", tiny, WANTED), ("SDAR with experts", experts, None)):
        plain, fused = (launches_of(traits, own) for own in (False, True))
        said, kept = ("-", None) if wanted is None else (str(wanted), fused <= wanted)
        yield Figure(f"launches a layer: {kind}, fused", said, f"{fused:.0f}", kept)
        yield Figure(f"launches a layer: {kind}, by modules", "-", f"{plain:.0f}", None)


def main() -> None:
    """Prints the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(f"{machine_line(torch.device('cpu'), 'random weights')}\n")
    print(table(("what", "wanted", "got", ""), [figure.row() for figure in figures()]))


if __name__ == "__main__":
    main()
