"""Class logits against plain sums and maxima over each class's members."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import torch

from cinnabar.kernels.class_logits import class_logits
from cinnabar.kernels.tables import LEAST, ClassTables

# Each row: slots, positions, vocabulary, class sizes, and the reason.
SHAPES = [
    (1, 1, 3, [1], "the least there is"),
    (2, 16, 258, [1, 94, 1, 1], "the byte alphabet"),
    (3, 7, 257, [128, 129], "odd sizes, all tokens used"),
    (2, 5, 10, [2, 0, 3], "a class without members"),
    (1, 65, 1025, [1024, 1], "one past a block"),
]


@pytest.mark.parametrize(
    ("slots", "length", "vocabulary", "sizes", "reason"), SHAPES, ids=[s[-1] for s in SHAPES]
)
def test_classes_have_the_sum_and_the_maximum_of_their_members(
    slots: int, length: int, vocabulary: int, sizes: list[int], reason: str
) -> None:
    draw = torch.Generator().manual_seed(len(reason))
    scores = (torch.randn(slots, length, vocabulary, generator=draw) * 9).log_softmax(-1).clamp_min(LEAST)
    members, want_sum, want_top = [], [], []
    for s in range(slots):
        token = torch.randperm(vocabulary, generator=draw)
        for size in sizes:
            own, token = token[:size], token[size:]
            members.append(s * vocabulary + own)
            picked = scores[s][:, own]
            want_sum.append(picked.logsumexp(1) if size else torch.full((length,), -1e9))
            want_top.append(picked.amax(1) if size else torch.full((length,), -1e9))
    counts = torch.tensor([len(m) for m in members])
    tables = ClassTables(
        torch.cat(members),
        torch.repeat_interleave(torch.arange(len(members)), counts),
        torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)]),
    )
    total, best = class_logits(scores, tables)
    assert torch.allclose(total.t(), torch.stack(want_sum), atol=1e-5)
    assert torch.equal(best.t(), torch.stack(want_top))


def test_the_setting_chooses_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ModuleType("cinnabar.kernels.class_logits_triton")
    kernel.class_logits_triton = lambda *given: given  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, kernel.__name__, kernel)
    scores = torch.zeros(1, 1, 2)
    tables = ClassTables(torch.arange(2), torch.zeros(2, dtype=torch.long), torch.tensor([0, 2]))
    assert class_logits(scores, tables, "triton") == (scores, tables)
    assert class_logits(scores, tables, "plain")[1].item() == 0.0
