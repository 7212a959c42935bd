"""One denoising step, slot by slot in plain Python, as the reference of `commit`.

The posterior over whole values comes from `weigh`, which has its own tests. This file makes all decisions that follow
from it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from cinnabar.engine.batch_state import BatchState
from cinnabar.engine.canvas import MASK, PAD
from cinnabar.engine.effort import Effort
from cinnabar.engine.step import Judgement

#: The largest length of a slot.
LONGEST = 64


def grains(probability: float) -> int:
    """The probability in ten-thousandths."""
    return round(float(probability) * 10_000)


def text_of(tokens: list[int]) -> bytes:
    return bytes(tokens[: tokens.index(PAD)] if PAD in tokens else tokens)


class PlainSlot:
    """A copy of one slot in the batch state."""

    def __init__(self, state: BatchState, at: int) -> None:
        canvas = state.canvas
        self.at, self.slot, self.request = at, canvas.instances[at].slot, canvas.instances[at].request
        self.tokens: list[int] = canvas.tokens[at].tolist()
        self.length = int(canvas.length[at])
        self.firm: list[bool] = state.firm[at].tolist()
        self.sureness: list[float] = state.sureness[at].tolist()
        self.tried: list[int] = state.position_reopened[at].tolist()
        self.given_up = int(state.value_reopened[at])
        self.closed, self.known = bool(state.closed[at]), bool(state.known[at])
        self.excusable = bool(state.excusable[at])
        self.text, self.left_out = canvas.values[at], canvas.left_out[at]
        self.noted, self.found = state.values[at], state.found[at]

    def same(self) -> tuple[Any, ...]:
        """The values that the comparison uses."""
        noted = self.noted
        return (
            self.tokens, self.length, self.firm, [grains(s) for s in self.sureness], self.tried,
            self.given_up, self.closed, self.text, self.left_out, noted.text, noted.absent, noted.missing,
            noted.origin, noted.spans, grains(noted.confidence), grains(noted.absent_confidence),
            grains(noted.rival), None if self.found is None else (self.found[0], grains(self.found[1])),
        )  # fmt: skip


def plain_step(state: BatchState, judged: Judgement, effort: Effort) -> list[PlainSlot]:
    """Every slot after the step; the batch state does not change."""
    slots = [PlainSlot(state, at) for at in range(len(state.canvas.instances))]
    scores, steps = judged.scores, [state.steps[batch] for batch in state.active]
    last = scores.candidate_logits.shape[1] + 1
    ruled_out = torch.zeros(len(slots), last + 1, dtype=torch.bool)
    before = _best_of(judged, ruled_out)
    for s in slots:
        if steps[s.request] < effort.steps:
            held = _reopened(s, judged, effort, before, last)
            if held >= 0:
                ruled_out[s.at, held] = True
    for s in slots:
        _rule_out(s, judged, ruled_out)
    now = _best_of(judged, ruled_out)
    offered = [_offered(s, judged, effort, now, last, effort.steps - steps[s.request] <= 1) for s in slots]
    for request in range(len(state.active)):
        _choose([o for o in offered if o.slot.request == request], effort, effort.steps - steps[request])
    for one in offered:
        _apply(one, judged)
    width = max(s.length for s in slots)
    for s in slots:
        more = width - len(s.tokens)
        if more > 0:
            s.tokens, s.firm = s.tokens + [MASK] * more, s.firm + [False] * more
            s.sureness, s.tried = s.sureness + [1.0] * more, s.tried + [0] * more
    return slots


def _best_of(judged: Judgement, ruled_out: torch.Tensor) -> Any:
    """(posteriors in grains, those of absence, the best of a slot's choices that are not excluded, -1 for none).

    Absence that is the only choice left is as likely as the model said.
    """
    shares = judged.shares(ruled_out)
    posterior = [[grains(p) for p in row] for row in shares.posterior.tolist()]
    possible = shares.possible.tolist()

    def best(at: int, excluded: set[int]) -> tuple[int, int]:
        left = [k for k, may in enumerate(possible[at]) if may and k not in excluded]
        if not left:
            return -1, 0
        choice = min(left, key=lambda k: (-posterior[at][k], k))
        return choice, posterior[at][choice]

    absence = [
        grains(math.exp(mass)) if may == [True, *[False] * (len(may) - 1)] else own[0]
        for mass, may, own in zip(shares.log_allowed.tolist(), possible, posterior, strict=True)
    ]
    return posterior, absence, best


def _reopened(s: PlainSlot, judged: Judgement, effort: Effort, before: Any, last: int) -> int:
    """Open a slot whose value is doubted; the choice that was given up, -1 where none was."""
    posterior, _, best = before
    if s.known or not (s.closed or any(s.firm)) or s.given_up >= effort.reopenings:
        return -1
    held = -1
    if s.left_out:
        held = 0
    elif s.text is None or s.noted.origin == "generated":
        held = last
    else:
        texts = [candidate.text for candidate in judged.scores.candidates[s.at]]
        if s.text in texts:
            held = 1 + texts.index(s.text)
    if s.closed and held == last and s.at not in judged.scores.generating.tolist():
        return -1
    now = posterior[s.at][held] if held >= 0 else 0
    if s.closed and held == last:
        weakest = min(
            [1.0, *(p for p, firm in zip(judged.outlook.posterior[s.at].tolist(), s.firm, strict=True) if firm)]
        )
        now = round(now * weakest)
    instead, other = best(s.at, {held} if s.excusable else {held, 0})
    if not (now < grains(effort.reopen) and other - now >= grains(effort.margin)):
        return -1
    # A found value gives way to absence only if that is surer than the value was.
    if held > 0 and instead == 0 and s.found is not None and other <= grains(s.found[1]):
        return -1
    width = len(s.tokens)
    s.tokens, s.firm, s.sureness = [MASK] * width, [False] * width, [1.0] * width
    s.closed, s.text, s.left_out, s.given_up = False, None, False, s.given_up + 1
    return held


def _rule_out(s: PlainSlot, judged: Judgement, ruled_out: torch.Tensor) -> None:
    """Exclude choices that contradict the committed positions of an open slot."""
    if s.closed:
        return
    ruled_out[s.at, 0] |= any(s.firm)
    for k, candidate in enumerate(judged.scores.candidates[s.at], 1):
        spelled = [*candidate.text, *[PAD] * len(s.tokens)]
        if any(token != MASK and token != spelled[at] for at, token in enumerate(s.tokens)):
            ruled_out[s.at, k] = True


class Offer:
    """The units of one slot that may be committed, and the effects of committing them."""

    def __init__(self, slot: PlainSlot, choice: int, sure: int) -> None:
        self.slot, self.choice, self.sure = slot, choice, sure
        self.spelled = self.growing = self.entire = False
        self.blank: list[int] = []
        self.eligible: list[int] = []
        self.shaky: list[int] = []
        self.units: list[tuple[int, int]] = []  # (grade, position), with position -1 for a whole value
        self.chosen: set[int] = set()


def _offered(s: PlainSlot, judged: Judgement, effort: Effort, now: Any, last: int, due: bool) -> Offer:
    _, _, best = now
    value, sure = best(s.at, {0})
    choice = value
    none = {0} | {
        k for k, c in enumerate(judged.scores.candidates[s.at], 1) if c.origin == "default"
    }  # fmt: skip
    said, chance = best(s.at, set(range(last + 1)) - none)
    if s.excusable and said >= 0 and (value < 0 or sure < grains(effort.answer)):
        choice, sure = said, chance
    if choice in none and s.found is not None and grains(s.found[1]) > sure and not s.slot.path.endswith("/*"):
        texts = [candidate.text for candidate in judged.scores.candidates[s.at]]
        at = 1 + texts.index(s.found[0]) if s.found[0] in texts else -1
        if at > 0 and at in {best(s.at, {*range(last + 1)} - {at})[0]}:
            choice, sure = at, now[0][s.at][at]
    one = Offer(s, choice, sure)
    if s.closed:
        return one
    _note(s, judged, now, one, last)
    one.spelled = choice == last
    if one.spelled:
        goes_on = not bool(judged.outlook.complete[s.at]) or float(judged.outlook.more[s.at]) > 0.50005
        one.growing = goes_on and s.length < LONGEST
        one.spelled = not one.growing
    if one.spelled:
        witness, sureness = judged.outlook.witness[s.at].tolist(), judged.outlook.posterior[s.at].tolist()
        one.blank = [p for p in range(s.length) if s.tokens[p] == MASK]
        for p in one.blank:
            follows = p > 0 and witness[p] == witness[p - 1] == PAD
            if not follows and float(judged.outlook.choices[s.at, p]) >= 1.5:
                one.eligible.append(p)
                one.units.append((grains(one.sure / 10_000 * sureness[p]), p))
        for p in range(len(s.tokens)):
            here, other = grains(sureness[p]), grains(float(judged.outlook.runner_up[s.at, p]))
            doubted = here < grains(effort.reopen) and other - here >= grains(effort.margin)
            if s.firm[p] and doubted and not due and s.tried[p] < effort.reopenings:
                one.shaky.append(p)
    if not one.growing and not (one.eligible or one.shaky):
        one.entire = True
        one.units.append((one.sure, -1))
    return one


def _note(s: PlainSlot, judged: Judgement, now: Any, one: Offer, last: int) -> None:
    """Note the value that the slot has if no later step changes it."""
    posterior, absence, best = now
    guess, _ = best(s.at, {0})
    guess = one.choice if one.choice > 0 else guess
    sure = posterior[s.at][guess] if guess >= 0 else 0
    _, rival = best(s.at, {0, guess})
    nothing, options = absence[s.at], s.slot.options
    most = min(5_000, sure) if len(options) > 1 else 5_000
    s.noted = replace(
        s.noted,
        absent=s.excusable and not any(s.firm) and one.choice <= 0,
        missing=not s.excusable and (nothing > most or one.choice < 0), demanded=not s.excusable,
        confidence=sure / 10_000, absent_confidence=nothing / 10_000, rival=rival / 10_000,
    )  # fmt: skip
    if 0 < guess < last:
        candidate = judged.scores.candidates[s.at][guess - 1]
        s.noted = replace(s.noted, text=candidate.text, spans=candidate.spans, origin=candidate.origin)
        if one.choice > 0 and candidate.origin != "default" and (s.found is None or grains(s.found[1]) < sure):
            s.found = candidate.text, sure / 10_000
    elif guess == last and bool(judged.outlook.complete[s.at]):
        text = text_of(judged.outlook.witness[s.at].tolist())
        s.noted = replace(s.noted, text=text, spans=(), origin="generated")


def _choose(offers: list[Offer], effort: Effort, remaining: int) -> None:
    """The best of a request's units: at least an equal share for each step left, and all above the threshold."""
    units = [
        (-grade, not (position < 0 and one.choice <= 0), at, position)
        for at, one in enumerate(offers)
        for grade, position in one.units
    ]
    quota = -(-len(units) // max(remaining, 1))
    for rank, (grade, _, at, position) in enumerate(sorted(units)):
        if rank < quota or -grade >= grains(effort.threshold):
            offers[at].chosen.add(position)


def _apply(one: Offer, judged: Judgement) -> None:
    """Write the chosen units to the slot."""
    s = one.slot
    witness, sureness = judged.outlook.witness[s.at].tolist(), judged.outlook.posterior[s.at].tolist()
    whole = -1 in one.chosen
    for p in one.chosen - {-1}:
        s.firm[p], s.sureness[p] = True, grains(sureness[p]) / 10_000
    follows = [p for p in one.blank if p > 0 and witness[p] == witness[p - 1] == PAD]
    begun = whole or any(s.firm)
    for p in one.blank:
        forced = float(judged.outlook.choices[s.at, p]) < 1.5
        if p in one.chosen or (forced and begun) or whole:
            s.tokens[p] = witness[p]
    if one.spelled and PAD in s.tokens:
        for p in follows:
            s.tokens[p] = PAD
    if one.shaky:
        for p in one.shaky:
            s.firm[p], s.sureness[p], s.tried[p] = False, 1.0, s.tried[p] + 1
        s.tokens = [token if firm else MASK for token, firm in zip(s.tokens, s.firm, strict=True)]
    if one.spelled and MASK not in s.tokens[: s.length]:
        sure = round(one.sure / 10_000 * min(s.sureness), 4)
        unsure = s.noted.missing or (sure < 0.5 and not s.excusable)
        text = text_of(s.tokens[: s.length])
        s.noted = replace(s.noted, text=text, absent=False, missing=unsure, confidence=sure, spans=(),
                          origin="generated")  # fmt: skip
        s.closed, s.text, s.left_out = True, text, False
    elif whole and not one.spelled:
        null = b"null" if s.slot.nullable else b""
        s.closed, s.left_out = True, s.noted.absent
        s.text = null if s.noted.absent else s.noted.text
    if one.growing:
        s.length *= 2
