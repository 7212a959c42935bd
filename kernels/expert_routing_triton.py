"""`ExpertRouting` in Triton, one launch for each step; ties go to the expert of the lower number."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from cinnabar.kernels.expert_routing import ExpertRouting, Placed, RoutingRule

#: Pairs that are read at a time, and numbers of a token that are summed at a time.
_PAIRS, _NUMBERS = 1024, 512
_NONE = tl.constexpr(-1e30)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _choose(  # type: ignore[no-untyped-def]
    scores, bias, experts, weights, scale,
    COUNT: tl.constexpr, WIDE: tl.constexpr, CHOSEN: tl.constexpr, SOFTMAX: tl.constexpr, BIASED: tl.constexpr,
    GROUPS: tl.constexpr, OPENED: tl.constexpr, NORMED: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """One token."""
    token, expert = tl.program_id(0), tl.arange(0, WIDE)
    inside = expert < COUNT
    score = tl.load(scores + token * COUNT + expert, mask=inside, other=0.0)
    if SOFTMAX:
        score = tl.where(inside, score, _NONE)
        raised = tl.where(inside, tl.exp(score - tl.max(score, 0)), 0.0)
        shares = raised / tl.sum(raised, 0)
    else:
        shares = 1.0 / (1.0 + tl.exp(-score))
    choice = shares
    if BIASED:
        choice = choice + tl.load(bias + expert, mask=inside, other=0.0)
    # What is no number must not win over the experts that there are.
    choice = tl.where(inside & (choice == choice), choice, _NONE)
    if GROUPS > 1:
        size: tl.constexpr = COUNT // GROUPS
        of_group = expert // size
        opened = expert < 0
        # As good as its two best experts, a group at a time; then the best groups one by one.
        best = tl.full((WIDE,), _NONE, tl.float32)
        for group in range(GROUPS):
            own = tl.where(of_group == group, choice, _NONE)
            first = tl.max(own, 0)
            rest = tl.where(expert == tl.argmax(own, 0), _NONE, own)
            best = tl.where(expert == group, first + tl.max(rest, 0), best)
        for _ in range(OPENED):
            group = tl.argmax(best, 0)
            opened = opened | (of_group == group)
            best = tl.where(expert == group, _NONE, best)
        choice = tl.where(opened & inside, choice, _NONE)
    slot = tl.arange(0, SLOTS)
    chosen, held = tl.zeros((SLOTS,), tl.int64), tl.zeros((SLOTS,), tl.float32)
    for number in range(CHOSEN):
        one = tl.argmax(choice, 0)
        weight = tl.sum(tl.where(expert == one, shares, 0.0), 0)
        chosen, held = tl.where(slot == number, one.to(tl.int64), chosen), tl.where(slot == number, weight, held)
        choice = tl.where(expert == one, 2 * _NONE, choice)
    if NORMED:
        held = held / (tl.sum(held, 0) + 1e-20)
    tl.store(experts + token * CHOSEN + slot, chosen, mask=slot < CHOSEN)
    tl.store(weights + token * CHOSEN + slot, held * scale, mask=slot < CHOSEN)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _count(experts, ends, pairs, COUNT: tl.constexpr, WIDE: tl.constexpr, PAIRS: tl.constexpr):  # type: ignore[no-untyped-def]
    """One program for all: how many pairs each expert has, summed up."""
    expert, counts = tl.arange(0, WIDE), tl.zeros((WIDE,), tl.int32)
    for begin in range(0, pairs, PAIRS):
        at = begin + tl.arange(0, PAIRS)
        one = tl.load(experts + at, mask=at < pairs, other=0).to(tl.int32)
        counts += tl.histogram(tl.where(at < pairs, one, WIDE - 1), WIDE)
    tl.store(ends + expert, tl.cumsum(counts, 0), mask=expert < COUNT)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _place(experts, ends, token, back, pairs, CHOSEN: tl.constexpr, PAIRS: tl.constexpr):  # type: ignore[no-untyped-def]
    """One expert: the places of its pairs, in the order of tokens."""
    expert = tl.program_id(0)
    place = tl.load(ends + expert - 1, mask=expert > 0, other=0).to(tl.int64)
    for begin in range(0, pairs, PAIRS):
        at = begin + tl.arange(0, PAIRS)
        own = (tl.load(experts + at, mask=at < pairs, other=-1) == expert) & (at < pairs)
        where = place + tl.cumsum(own.to(tl.int64), 0) - 1
        tl.store(token + where, (at // CHOSEN).to(tl.int64), mask=own)
        tl.store(back + at, where, mask=own)
        place += tl.sum(own.to(tl.int64), 0)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _sum(made, back, weights, out, WIDTH: tl.constexpr, CHOSEN: tl.constexpr, NUMBERS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Some numbers of one token."""
    token, dim = tl.program_id(0).to(tl.int64), tl.program_id(1) * NUMBERS + tl.arange(0, NUMBERS)
    inside = dim < WIDTH
    total = tl.zeros((NUMBERS,), tl.float32)
    for number in range(CHOSEN):
        place = tl.load(back + token * CHOSEN + number)
        weight = tl.load(weights + token * CHOSEN + number)
        total += weight * tl.load(made + place * WIDTH + dim, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + token * WIDTH + dim, total.to(out.dtype.element_ty), mask=inside)


class TritonExpertRouting(ExpertRouting):
    """The kernels."""

    def chosen(
        self, scores: torch.Tensor, bias: torch.Tensor | None, routing: RoutingRule
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """See `ExpertRouting.chosen`."""
        shape = (len(scores), routing.chosen)
        experts = torch.empty(shape, dtype=torch.int64, device=scores.device)
        weights = torch.empty(shape, dtype=torch.float32, device=scores.device)
        _choose[(len(scores),)](
            scores, scores if bias is None else bias, experts, weights, routing.scale, routing.count,
            triton.next_power_of_2(routing.count), routing.chosen, routing.softmax, bias is not None, routing.groups,
            routing.chosen_groups, routing.normed and routing.chosen > 1, triton.next_power_of_2(routing.chosen),
        )  # fmt: skip
        return experts, weights

    def place(self, experts: torch.Tensor, count: int) -> Placed:
        """See `ExpertRouting.place`."""
        pairs, device = experts.numel(), experts.device
        ends = torch.empty(count, dtype=torch.int32, device=device)
        token = torch.empty(pairs, dtype=torch.int64, device=device)
        back = torch.empty_like(experts)
        # One class more takes what is no pair.
        _count[(1,)](experts, ends, pairs, count, triton.next_power_of_2(count + 1), _PAIRS)
        _place[(count,)](experts, ends, token, back, pairs, experts.shape[1], _PAIRS)
        return Placed(token, back, ends)

    def sum_weighted(self, made: torch.Tensor, placed: Placed, weights: torch.Tensor) -> torch.Tensor:
        """See `ExpertRouting.sum_weighted`."""
        many, width = len(placed.back), made.shape[1]
        out = torch.empty(many, width, dtype=made.dtype, device=made.device)
        grid = (many, triton.cdiv(width, _NUMBERS))
        _sum[grid](made, placed.back, weights, out, width, placed.back.shape[1], _NUMBERS)
        return out
