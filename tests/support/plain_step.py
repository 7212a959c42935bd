"""One step of a fill, slot by slot in plain Python, as the reference of `commit`.

The posterior over the choices comes from `weigh`, which has its own tests. This file makes all decisions that follow
from it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from cinnabar.engine.batch_state import BatchState
from cinnabar.engine.model import Scores
from cinnabar.engine.settings import Effort
from cinnabar.engine.step import weigh


def grains(probability: float) -> int:
    """The probability in ten-thousandths."""
    return round(float(probability) * 10_000)


class PlainSlot:
    """A copy of one slot in the batch state."""

    def __init__(self, state: BatchState, at: int) -> None:
        canvas = state.canvas
        self.at, self.slot, self.request = at, canvas.instances[at].slot, canvas.instances[at].request
        self.row = canvas.instances[at].row
        self.given_up = int(state.reopened_times[at])
        self.closed, self.known = bool(state.closed[at]), bool(state.known[at])
        self.excusable = bool(state.excusable[at])
        self.text, self.left_out = canvas.values[at], canvas.left_out[at]
        self.noted, self.likeliest = state.values[at], state.likeliest[at]

    def same(self) -> tuple[Any, ...]:
        """The values that the comparison uses."""
        noted = self.noted
        return (
            self.given_up, self.closed, self.text, self.left_out, noted.text, noted.absent, noted.missing,
            noted.origin, noted.spans, grains(noted.confidence), grains(noted.absent_confidence),
            grains(noted.rival), None if self.likeliest is None else (self.likeliest[0], grains(self.likeliest[1])),
        )  # fmt: skip


def plain_step(state: BatchState, scores: Scores, effort: Effort) -> list[PlainSlot]:
    """Every slot after the step; the batch state does not change."""
    slots = [PlainSlot(state, at) for at in range(len(state.canvas.instances))]
    steps = [state.steps[batch] for batch in state.active]
    ruled_out = torch.zeros(len(slots), scores.candidate_logits.shape[1] + 1, dtype=torch.bool)
    before = _best_of(scores, ruled_out)
    for s in slots:
        held = _reopened(s, scores, effort, before)
        if held >= 0:
            ruled_out[s.at, held] = True
    now = _best_of(scores, ruled_out)
    told = {(s.request, s.row) for s in slots if s.row >= 0 and _has_evidence(s, scores, effort, now)}
    offered = [_offered(s, scores, effort, now, (s.request, s.row) in told) for s in slots]
    for request in range(len(state.active)):
        _choose([o for o in offered if o.slot.request == request], effort, effort.steps - steps[request])
    return slots


def _best_of(scores: Scores, ruled_out: torch.Tensor) -> Any:
    """(posteriors in grains, those of absence, the best of a slot's choices that are not excluded, -1 for none).

    Absence that is the only choice left is as likely as the model said.
    """
    shares = weigh(scores.absent_logit, scores.candidate_logits, scores.refused_logit, ruled_out)
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


def _reopened(s: PlainSlot, scores: Scores, effort: Effort, before: Any) -> int:
    """Open a slot whose value is doubted; the choice that was given up, -1 where none was."""
    posterior, _, best = before
    if s.known or not s.closed or s.given_up >= effort.reopenings:
        return -1
    held = -1
    if s.left_out:
        held = 0
    else:
        texts = [candidate.text for candidate in scores.candidates[s.at]]
        if s.text in texts:
            held = 1 + texts.index(s.text)
    now = posterior[s.at][held] if held >= 0 else 0
    instead, other = best(s.at, {held} if s.excusable else {held, 0})
    if not (now < grains(effort.reopen) and other - now >= grains(effort.margin)):
        return -1
    # A found value gives way to absence only if that is surer than the value was.
    if held > 0 and instead == 0 and s.likeliest is not None and other <= grains(s.likeliest[1]):
        return -1
    s.closed, s.text, s.left_out, s.given_up = False, None, False, s.given_up + 1
    return held


class Offer:
    """The proposed choice of a slot, -1 for none, and its posterior in grains."""

    def __init__(self, slot: PlainSlot, choice: int, sure: int) -> None:
        self.slot, self.choice, self.sure = slot, choice, sure


def _has_evidence(s: PlainSlot, scores: Scores, effort: Effort, now: Any) -> bool:
    likely = (p >= grains(effort.answer) for p in now[0][s.at][1:])
    return any(good and candidate.spans for good, candidate in zip(likely, scores.candidates[s.at], strict=False))


def _unstated(s: PlainSlot, scores: Scores, effort: Effort, now: Any) -> bool:
    """Is it a choice that only the network's word stands behind, and that not for sure?"""
    none, *options = now[0][s.at]
    bare = len(s.slot.options) > 1 and all(c.origin == "chosen" and not c.spans for c in scores.candidates[s.at])
    sure = none <= grains(effort.unstated) or max(options, default=0) >= grains(effort.option)
    return bare and not sure


def _offered(s: PlainSlot, scores: Scores, effort: Effort, now: Any, told: bool) -> Offer:
    posterior, _, best = now
    every = range(scores.candidate_logits.shape[1] + 1)
    value, sure = best(s.at, {0})
    choice = value
    none = {0} | {
        k for k, c in enumerate(scores.candidates[s.at], 1) if c.origin == "default"
    }  # fmt: skip
    said, chance = best(s.at, set(every) - none)
    present = grains(1.0) - sum(posterior[s.at][k] for k in none if best(s.at, set(every) - {k})[0] >= 0)
    unstated = not told and _unstated(s, scores, effort, now)
    poor = value < 0 or present < grains(effort.present) or sure < grains(effort.answer) or unstated
    if s.excusable and said >= 0 and poor:
        choice, sure = said, chance
    if choice in none and s.likeliest is not None and grains(s.likeliest[1]) > sure and not s.slot.path.endswith("/*"):
        texts = [candidate.text for candidate in scores.candidates[s.at]]
        at = 1 + texts.index(s.likeliest[0]) if s.likeliest[0] in texts else -1
        if at > 0 and at in {best(s.at, {*every} - {at})[0]}:
            choice, sure = at, posterior[s.at][at]
    one = Offer(s, choice, sure)
    if not s.closed:
        _note(s, scores, now, one, unstated)
    return one


def _note(s: PlainSlot, scores: Scores, now: Any, one: Offer, unstated: bool) -> None:
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
        absent=s.excusable and one.choice <= 0,
        missing=not s.excusable and (nothing > most or one.choice < 0 or unstated), demanded=not s.excusable,
        confidence=sure / 10_000, absent_confidence=nothing / 10_000, rival=rival / 10_000,
    )  # fmt: skip
    if guess > 0:
        candidate = scores.candidates[s.at][guess - 1]
        s.noted = replace(s.noted, text=candidate.text, spans=candidate.spans, origin=candidate.origin)
        if one.choice > 0 and candidate.origin != "default" and (s.likeliest is None or grains(s.likeliest[1]) < sure):
            s.likeliest = candidate.text, sure / 10_000


def _choose(offers: list[Offer], effort: Effort, remaining: int) -> None:
    """Commit the best of a request's slots: at least an equal share for each step left, and all above the threshold."""
    units = sorted((-one.sure, one.choice > 0, at) for at, one in enumerate(offers) if not one.slot.closed)
    quota = -(-len(units) // remaining)
    for rank, (grade, _, at) in enumerate(units):
        if rank < quota or -grade >= grains(effort.threshold):
            s = offers[at].slot
            s.closed, s.left_out = True, s.noted.absent
            s.text = (b"null" if s.slot.nullable else b"") if s.noted.absent else s.noted.text
