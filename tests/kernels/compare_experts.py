"""Compares the steps of experts by the Triton kernels with their definitions.

Run it with TRITON_INTERPRET=1 on a CPU, or without that on a CUDA device.
"""

from __future__ import annotations

import torch

from cinnabar.kernels.expert_routing import ExpertRouting, RoutingRule
from cinnabar.kernels.expert_routing_triton import TritonExpertRouting

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
#: Tokens, and how experts are chosen: LLaDA 2's, Qwen3's, one of many, and numbers that are no powers of two.
CASES = [
    (5, RoutingRule(8, 3, False, 4, 2, True, 2.5)),
    (7, RoutingRule(6, 2, True, 1, 1, True, 1.0)),
    (1, RoutingRule(16, 1, True, 1, 1, True, 1.0)),
    (140, RoutingRule(12, 8, False, 3, 3, False, 0.5)),
]


def compare(number: int, many: int, routing: RoutingRule) -> None:
    """Fails where they differ."""
    draw = torch.Generator().manual_seed(number)
    plain, kernels = ExpertRouting(), TritonExpertRouting()
    scores = torch.randn(many, routing.count, generator=draw).to(DEVICE)
    bias = None if routing.softmax else torch.randn(routing.count, generator=draw).to(DEVICE) / 4
    experts, weights = plain.chosen(scores, bias, routing)
    found, held = kernels.chosen(scores, bias, routing)
    assert torch.equal(found, experts), (found, experts)
    torch.testing.assert_close(held, weights)
    wanted, made = plain.place(experts, routing.count), kernels.place(experts, routing.count)
    for name in ("token", "back", "ends"):
        assert torch.equal(getattr(made, name), getattr(wanted, name)), name
    # The interpreter takes long: many tokens are narrow, few are wider than a tile.
    each = torch.randn(experts.numel(), 20 if many > 100 else 530, generator=draw).to(DEVICE)
    torch.testing.assert_close(kernels.sum_weighted(each, wanted, weights), plain.sum_weighted(each, wanted, weights))


def main() -> None:
    """Compares all cases."""
    for number, (many, routing) in enumerate(CASES):
        compare(number, many, routing)
    print("the experts agree")


main()
