"""Decodes the same tasks with numpy and with Triton's kernels, which must give the same records.

Run it as `python -m tests.engine.language.compare_engine KIND`, with TRITON_INTERPRET=1 on a CPU. KIND: a key of
`KINDS`, or `broken`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

import torch
from tests.support.tiny_models import KINDS, TOKENIZER, decoder, record

from cinnabar.engine.language.decoded import Decoded, Undecoded
from cinnabar.engine.language.denoiser import Denoiser
from cinnabar.engine.language.record_graph import graph_of
from cinnabar.engine.language.sequences import Task
from cinnabar.engine.models.backend import KERNELS_VARIABLE
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits


def task(prompt: str, **properties: object) -> Task:
    """A task for a record with these properties."""
    automaton, judge, minimal = record(properties)
    graph = graph_of(automaton, TOKENIZER.vocabulary)
    return Task(TOKENIZER.encode(prompt), graph, int(graph.distance[0]) + 6, judge, minimal)


def tasks() -> list[Task]:
    """Two forms in one batch, so that the graphs and the parts of the blocks differ."""
    return [
        task("total name", kind={"enum": ["ab", "the", "kind", None]}, total={"type": "integer", "maximum": 9999}),
        task("one", kind={"enum": ["ab", "the"]}),
    ]


class Broken(Decoder):
    """Tells NaN in the first pass of the last sequence."""

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """See `Decoder.logits`."""
        made = super().logits(hidden)
        made[-1, 7] = float("nan")
        return made


def decoded(traits: Traits, kernels: str, broken: bool) -> Sequence[Decoded | Undecoded]:
    """The results of all tasks with these kernels."""
    os.environ[KERNELS_VARIABLE] = kernels
    model = decoder(traits, 3)
    if broken:
        model.__class__ = Broken
    return Denoiser(model, TOKENIZER).decode(tasks())


def main(kind: str) -> None:
    broken = kind == "broken"
    traits = replace(KINDS.get(kind, KINDS["block"]), **({} if kind == "causal" else {"block": 4}))
    pairs = zip(*(decoded(traits, kernels, broken) for kernels in ("plain", "triton")), strict=True)
    for plain, fast in pairs:
        if isinstance(plain, Undecoded) or isinstance(fast, Undecoded):
            assert plain == fast and broken, (plain, fast)
            continue
        assert (plain.text, plain.tokens, plain.chosen) == (fast.text, fast.tokens, fast.chosen)
        assert (plain.passes, plain.reopened) == (fast.passes, fast.reopened)
        for one, other in zip(plain.posteriors, fast.posteriors, strict=True):
            assert abs(one - other) < 1e-3, (plain, fast)
        assert abs(plain.log_mass - fast.log_mass) < 1e-2
    print("the records agree")


if __name__ == "__main__":
    main(sys.argv[1])
