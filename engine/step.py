"""One denoising step: what the model's scores mean under the constraint, and what is committed for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from cinnabar.engine.batch_state import BatchState
from cinnabar.engine.canvas import PAD
from cinnabar.engine.constraint import LONGEST, Constraint
from cinnabar.engine.denoising import Shares, doubted, rounded, select, weigh
from cinnabar.engine.effort import Effort
from cinnabar.engine.models.base import Candidate, Scores
from cinnabar.engine.repair import Alternatives
from cinnabar.engine.tokenizer import spell, text_of
from cinnabar.engine.writing import Value
from cinnabar.kernels.tables import FLOOR
from cinnabar.schemas.errors import EngineFailure


@dataclass(slots=True)
class Judgement:
    """Scores under the constraint, for all S slots of the batch at L positions.

    Slots that are not spelled out have log_mass FLOOR. The fields are those of `constraint.Outlook`.
    """

    scores: Scores
    spelled_logit: torch.Tensor
    log_mass: torch.Tensor
    complete: torch.Tensor
    more: torch.Tensor
    witness: torch.Tensor
    posterior: torch.Tensor
    runner_up: torch.Tensor
    choices: torch.Tensor

    def shares(self, ruled_out: torch.Tensor) -> Shares:
        """The posterior over what each slot may be; ruled_out: [S, K + 2] bool."""
        s = self.scores
        return weigh(
            s.absent_logit, s.candidate_logits, self.spelled_logit, self.log_mass, s.refused_logit, ruled_out
        )


def constrain(state: BatchState, scores: Scores, constraint: Constraint) -> Judgement:
    """The constrained posterior and witness of every slot that the model offers to spell out.

    Raises EngineFailure where the scores are not numbers.
    """
    canvas, at, token_logits = state.canvas, scores.generating, scores.token_logits
    slots, width = canvas.tokens.shape
    spelled = scores.generate_logit.new_full((slots,), float("-inf"))
    spelled[at] = scores.generate_logit[at]
    whole = torch.cat([scores.absent_logit, spelled, scores.candidate_logits.flatten(), scores.refused_logit])
    if bool(whole.isnan().any()) or not bool(scores.token_logits.amax(-1).isfinite().all()):
        raise EngineFailure("model", "expected finite scores, got NaN or infinity")
    result = Judgement(
        scores=scores,
        spelled_logit=spelled,
        log_mass=spelled.new_full((slots,), FLOOR, dtype=torch.float32),
        complete=torch.zeros(slots, dtype=torch.bool, device=state.device),
        more=torch.zeros(slots, device=state.device),
        witness=torch.full((slots, width), PAD, dtype=torch.long, device=state.device),
        posterior=torch.zeros(slots, width, device=state.device),
        runner_up=torch.zeros(slots, width, device=state.device),
        choices=torch.ones(slots, width, device=state.device),
    )
    frozen = state.known[at]
    if bool(frozen.any()):
        at, token_logits = at[~frozen], token_logits[~frozen]
    if not len(at):
        return result
    offered = [canvas.instances[i].slot for i in at.tolist()]
    outlook = constraint.outlook(offered, canvas.tokens[at], canvas.length[at], token_logits)
    longest = outlook.witness.shape[1]
    for name in ("log_mass", "complete", "more"):
        getattr(result, name)[at] = getattr(outlook, name)
    for name in ("witness", "posterior", "runner_up", "choices"):
        getattr(result, name)[at, :longest] = getattr(outlook, name)
    return result


def commit(state: BatchState, judged: Judgement, effort: Effort) -> Alternatives:
    """Open again what is doubted, commit what is certain or due, and let slots grow whose value goes on.

    Positions are committed from the witness only, so that what is committed can always be completed. Gives
    what each slot might be as well.
    """
    canvas, scores = state.canvas, judged.scores
    last = scores.candidate_logits.shape[1] + 1
    left = [max(effort.steps - state.steps[batch], 1) for batch in state.active]
    remaining = torch.tensor(left, device=state.device)
    # Steps beyond the effort are there for values that grow; nothing else is begun in them.
    over = torch.tensor([state.steps[batch] >= effort.steps for batch in state.active], device=state.device)
    for batch in state.active:
        state.steps[batch] += 1

    no_absence = torch.zeros(len(canvas.instances), last + 1, dtype=torch.bool, device=state.device)
    no_absence[:, 0] = ~state.excusable
    ruled_out = _reopen_values(state, judged, effort, no_absence, over[state.request])
    shares = judged.shares(_contradicting(state, scores, ruled_out))
    choice, sure = _decide(shares, _defaults(scores, shares), state.excusable, effort.answer)
    _note_values(state, judged, shares, choice)

    opened = ~state.closed
    spelled = opened & (choice == last)
    growing = spelled & (~judged.complete | (rounded(judged.more) > 0.5)) & (canvas.length < LONGEST)
    spelled &= ~growing
    blank = (canvas.tokens < 0) & state.within & spelled.unsqueeze(1)
    due = (remaining == 1)[state.request]
    shaky = (
        state.firm
        & (spelled & ~due).unsqueeze(1)
        & doubted(judged.posterior, judged.runner_up, effort.reopen, effort.margin)
        & (state.position_reopened < effort.reopenings)
    )
    # Only the first PAD ends a value; those after it follow from it.
    tail = torch.zeros_like(blank)
    tail[:, 1:] = (judged.witness[:, 1:] == PAD) & (judged.witness[:, :-1] == PAD)
    forced = blank & (judged.choices < 1.5)
    eligible = blank & ~forced & ~tail
    entire = opened & ~growing & (~spelled | ~(eligible | shaky).any(1))
    certainty = rounded(torch.cat([sure.unsqueeze(1), sure.unsqueeze(1) * judged.posterior], 1))
    chosen = select(
        torch.cat([entire.unsqueeze(1), eligible], 1),
        certainty,
        choice <= 0,
        state.request,
        remaining,
        effort.threshold,
    )

    due_now, picked = chosen[:, 0], chosen[:, 1:]
    state.firm |= picked
    state.sureness = torch.where(picked, rounded(judged.posterior), state.sureness)
    # What is forced is shown to the model once something was chosen: until then it may be absent.
    begun = (state.firm.any(1) | due_now).unsqueeze(1)
    taken = picked | (forced & begun) | (blank & due_now.unsqueeze(1))
    canvas.tokens = torch.where(taken, judged.witness, canvas.tokens)
    ended = spelled & (canvas.tokens == PAD).any(1)
    canvas.tokens = torch.where(blank & tail & ended.unsqueeze(1), PAD, canvas.tokens)
    if bool(shaky.any()):
        state.reopen_positions(shaky)

    finished = spelled & ((canvas.tokens >= 0) | ~state.within).all(1)
    certain = sure.tolist()
    for slot in finished.nonzero().squeeze(1).tolist():
        state.spelled(slot, certain[slot])
    whole = due_now & ~spelled
    for slot in whole.nonzero().squeeze(1).tolist():
        state.settle(slot)
    state.closed |= whole | finished
    if bool(growing.any()):
        state.grow(growing)
    return lambda slot: _alternatives(state, scores, shares, slot)


def _alternatives(state: BatchState, scores: Scores, shares: Shares, slot: int) -> list[tuple[float, Value]]:
    """What a slot might be, with the posterior of each, the best text that was noted for it among them."""
    noted, form_slot = state.values[slot], state.canvas.instances[slot].slot
    posterior = shares.posterior[slot].tolist()
    found = [(posterior[0], replace(noted, absent=True, absent_confidence=posterior[0]))]
    for chance, candidate in zip(posterior[1:-1], scores.candidates[slot], strict=False):
        if form_slot.accepts(candidate.text):
            value = replace(
                noted, text=candidate.text, absent=False, confidence=chance, spans=candidate.spans,
                origin=candidate.origin, missing=False,
            )  # fmt: skip
            found.append((chance, value))
    if noted.absent or not found[1:]:
        found.append((noted.confidence, replace(noted, absent=False)))
    least = form_slot.minimal.encode()
    found.append((0.0, replace(noted, text=least, absent=False, confidence=0.0, spans=(), origin="minimal")))
    return found


def _defaults(scores: Scores, shares: Shares) -> torch.Tensor:
    """[S, K + 2] bool, the candidates that stand for there being no value."""
    result = torch.zeros_like(shares.possible)
    for slot, candidates in enumerate(scores.candidates):
        for k, candidate in enumerate(candidates, 1):
            if candidate.origin == "default":
                result[slot, k] = True
    return result


def _decide(
    shares: Shares, defaults: torch.Tensor, excusable: torch.Tensor, answer: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """(index, posterior), each [S], of what each slot is now: its best value, or none if that is poor.

    None is column 0 or, if it is likelier, one of the `defaults` ([S, K + 2] bool).
    """
    only_absent = torch.zeros_like(shares.possible)
    only_absent[:, 0] = True
    value, sure = shares.best(only_absent)
    none, chance = shares.best(~(only_absent | defaults))
    absent = excusable & (none >= 0) & ((value < 0) | (sure < answer))
    return torch.where(absent, none, value), torch.where(absent, chance, sure)


def _reopen_values(
    state: BatchState, judged: Judgement, effort: Effort, no_absence: torch.Tensor, over: torch.Tensor
) -> torch.Tensor:
    """Open again the slots whose value is doubted; [S, K + 2] bool, the choices that were so given up.

    over: [S] bool, the slots for which it is too late.
    """
    canvas, scores = state.canvas, judged.scores
    last = no_absence.shape[1] - 1
    ruled_out = torch.zeros_like(no_absence)
    started = state.firm.any(1)
    judgeable = (state.closed | started) & ~state.known & ~over & (state.value_reopened < effort.reopenings)
    if not bool(judgeable.any()):
        return ruled_out
    held = torch.full((len(canvas.instances),), -1, dtype=torch.long)
    for slot in judgeable.nonzero().squeeze(1).tolist():
        held[slot] = _index_of(state, scores.candidates[slot], slot, last)
    held = held.to(state.device)
    # A model need not spell out again what is committed; then there is nothing to judge it by.
    spelling = torch.zeros_like(judgeable)
    spelling[scores.generating] = True
    judgeable &= ~(state.closed & (held == last) & ~spelling)
    at = held.clamp_min(0).unsqueeze(1)
    shares = judged.shares(ruled_out)
    now = shares.posterior.gather(1, at).squeeze(1)
    weakest = torch.where(state.firm, judged.posterior, 1.0).amin(1)
    now = torch.where(state.closed & (held == last), now * weakest, now)
    now = torch.where(held < 0, 0.0, now)
    ours = torch.zeros_like(ruled_out).scatter_(1, at, (held >= 0).unsqueeze(1))
    _, other = shares.best(no_absence | ours)
    given_up = judgeable & doubted(now, other, effort.reopen, effort.margin)
    if bool(given_up.any()):
        state.reopen(given_up)
    return ours & given_up.unsqueeze(1)


def _index_of(state: BatchState, candidates: list[Candidate], slot: int, last: int) -> int:
    """The choice that the committed value is: 0 absent, 1 … K a candidate, `last` spelled out, -1 none."""
    text = state.canvas.values[slot]
    if state.canvas.left_out[slot]:
        return 0
    if text is None or state.values[slot].origin == "generated":
        return last
    return next((k for k, candidate in enumerate(candidates, 1) if candidate.text == text), -1)


def _contradicting(state: BatchState, scores: Scores, ruled_out: torch.Tensor) -> torch.Tensor:
    """`ruled_out` and the choices that contradict committed positions: other texts, and none at all."""
    canvas = state.canvas
    placed = (canvas.tokens >= 0) & ~state.closed.unsqueeze(1)
    result = ruled_out.clone()
    result[:, 0] |= state.firm.any(1) & ~state.closed
    width = placed.shape[1]
    for slot in placed.any(1).nonzero().squeeze(1).tolist():
        texts = spell([candidate.text for candidate in scores.candidates[slot]], width).to(state.device)
        other = ((texts != canvas.tokens[slot]) & placed[slot]).any(1)
        result[slot, 1 : len(texts) + 1] |= other
    return result


def _note_values(state: BatchState, judged: Judgement, shares: Shares, choice: torch.Tensor) -> None:
    """Write down, for every open slot, the value that it would take now.

    Where the scores offer none, or none that fits the slot as long as it is, the value noted before stands:
    it agrees with everything committed, since nothing was committed against it.
    """
    scores, last = judged.scores, shares.posterior.shape[1] - 1
    only_absent = torch.zeros_like(shares.possible)
    only_absent[:, 0] = True
    best, _ = shares.best(only_absent)
    guess = torch.where(choice > 0, choice, best)
    certainty = shares.posterior.gather(1, guess.clamp_min(0).unsqueeze(1)).squeeze(1)
    certainty = torch.where(guess < 0, 0.0, certainty)
    taken = torch.zeros_like(only_absent).scatter_(1, guess.clamp_min(0).unsqueeze(1), True)
    _, second = shares.best(only_absent | taken)
    rivals = second.tolist()
    open_slots = (~state.closed).nonzero().squeeze(1).tolist()
    chosen, guesses, sure = choice.tolist(), guess.tolist(), certainty.tolist()
    nothing, mass = shares.posterior[:, 0].tolist(), shares.log_allowed.tolist()
    complete = judged.complete.tolist()
    free = (state.excusable & ~state.firm.any(1)).tolist()
    demanded = (~state.excusable).tolist()
    witness = judged.witness.tolist()
    for slot in open_slots:
        value = replace(
            state.values[slot],
            absent=free[slot] and chosen[slot] <= 0,
            confidence=round(sure[slot], 4),
            absent_confidence=round(nothing[slot], 4),
            missing=demanded[slot] and (nothing[slot] > 0.5 or chosen[slot] < 0),
            allowed_mass=round(mass[slot], 4),
            rival=round(rivals[slot], 4),
        )
        if 0 < guesses[slot] < last:
            candidate = scores.candidates[slot][guesses[slot] - 1]
            form_slot = state.canvas.instances[slot].slot
            if not form_slot.accepts(candidate.text):
                text = candidate.text.decode(errors="replace")
                raise EngineFailure("model", f"{form_slot.path}: the candidate {text} is not allowed here")
            value = replace(value, text=candidate.text, spans=candidate.spans, origin=candidate.origin)
        elif guesses[slot] == last and complete[slot]:
            value = replace(value, text=text_of(witness[slot]), spans=(), origin="generated")
        state.values[slot] = value
