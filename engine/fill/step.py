"""One step of a fill: it weighs the model's scores, then commits values and re-opens doubted ones.

`decide` proposes a choice for each slot, `choose` selects the slots to commit now, and `apply` writes them to the batch
state, which all others only read. Every decision rounds probabilities to four places first: the last bits of a matrix
product vary with the shape of a batch, and they must decide nothing. Ties go by kind and place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from cinnabar.engine.fill.batch_state import BatchState
from cinnabar.engine.fill.repair import Alternatives
from cinnabar.engine.fill.writing import WrittenValue
from cinnabar.engine.model import Candidate, Scores
from cinnabar.engine.settings import Effort
from cinnabar.errors import EngineFailure
from cinnabar.kernels.score_limits import FLOOR, POSSIBLE

#: Scores are clamped to this range, so that they stay apart from FLOOR.
WIDEST = 1.0e6
#: Probabilities are rounded to multiples of 1 / GRAIN.
GRAIN = 1.0e4


def round_to_places(probability: torch.Tensor) -> torch.Tensor:
    """Returns the probabilities rounded to four places."""
    return torch.round(probability * GRAIN) / GRAIN


@dataclass(frozen=True, slots=True)
class Shares:
    """Posterior over the choices of a slot: absent, or one of K candidates.

    posterior: [S, K + 1] float32, rounded; column 0 is absent, 1 to K the candidates; a row sums to one if anything is
    possible. possible: [S, K + 1] bool. log_allowed: [S] float32, log share of the model's mass that is allowed.
    """

    posterior: torch.Tensor
    possible: torch.Tensor
    log_allowed: torch.Tensor

    def best(self, excluded: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns (index, posterior), each [S], of the best choice that is not excluded ([S, K + 1] bool).

        Among equals absent goes first, then candidates in their order. The index is -1 if nothing is left.
        """
        left = self.possible & ~excluded
        top, index = torch.where(left, self.posterior, -1.0).max(1)
        # `max` does not promise the first of equals; this does.
        index = (left & (self.posterior >= top.unsqueeze(1))).int().argmax(1)
        return torch.where(top < 0, -1, index), top.clamp_min(0.0)


def weigh(
    absent: torch.Tensor, candidates: torch.Tensor, refused: torch.Tensor, ruled_out: torch.Tensor
) -> Shares:
    """Returns the posterior of every slot over what is allowed.

    absent: [S] logits; candidates: [S, K] logits, -inf beyond a list's end; refused: [S], logit of the mass that the
    automata removed from the candidates; ruled_out: [S, K + 1] bool, choices that are given up.
    """
    offered = torch.cat([absent.unsqueeze(1), candidates, refused.unsqueeze(1)], 1).float()
    everything = torch.where(offered > POSSIBLE, offered.clamp(-WIDEST, WIDEST), FLOOR)
    # The last column, what is refused, is no choice.
    possible = (offered > POSSIBLE) & ~torch.nn.functional.pad(ruled_out, (0, 1), value=True)
    kept = torch.where(possible, everything, FLOOR)
    log_allowed = (kept.logsumexp(1) - everything.logsumexp(1)).clamp_(FLOOR, 0.0)
    posterior = torch.where(possible, kept.softmax(1), 0.0)
    return Shares(round_to_places(posterior[:, :-1]), possible[:, :-1], log_allowed)


def select(
    offered: torch.Tensor,
    confidence: torch.Tensor,
    absent: torch.Tensor,
    request: torch.Tensor,
    remaining: torch.Tensor,
    threshold: float,
) -> torch.Tensor:
    """Returns the offered slots to commit now: [S] bool.

    offered: [S] bool. confidence: [S] float32. absent: [S] bool, slots that go first among equals. request: [S] int64,
    the request of each slot. remaining: [R] int64, steps left for each request, including this one. Every slot at the
    threshold or above is committed. Each request also commits its quota, its offered slots divided by its remaining
    steps: the most confident ones first, then by place.
    """
    slot = offered.nonzero().squeeze(1)
    owner = request[slot]
    grade = torch.round(confidence[slot] * GRAIN).long()
    key = (owner * (int(GRAIN) + 1) + (int(GRAIN) - grade)) * 2 + (~absent[slot]).long()
    order = torch.argsort(key, stable=True)
    count = torch.bincount(owner, minlength=len(remaining))
    quota = (count + remaining - 1) // remaining
    begin = torch.cumsum(count, 0) - count
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - begin[owner[order]]
    chosen = (rank < quota[owner]) | (grade >= round(threshold * GRAIN))
    result = torch.zeros_like(offered)
    result[slot[chosen]] = True
    return result


def is_doubtful(now: torch.Tensor, other: torch.Tensor, reopen: float, margin: float) -> torch.Tensor:
    """Returns whether to re-open a committed choice: its posterior is low and another one's is clearly higher."""
    return (round_to_places(now) < reopen) & (round_to_places(other) - round_to_places(now) >= margin)


@dataclass(frozen=True, slots=True)
class SlotProposals:
    """The proposed choice of each of the S slots, with the doubted values open again.

    shares: posterior over the K + 1 choices of each slot. choice, sure: [S] int64 and float32, the proposed choice, -1
    for none, and its posterior. unstated: [S] bool, choices that the document does not seem to state. given_up: [S]
    bool, slots with a doubted value. closed: that of the state, with these slots open.
    """

    shares: Shares
    choice: torch.Tensor
    sure: torch.Tensor
    unstated: torch.Tensor
    given_up: torch.Tensor
    closed: torch.Tensor


def commit(state: BatchState, scores: Scores, effort: Effort) -> Alternatives:
    """Re-opens doubted values and commits certain or due ones.

    Returns the alternatives of each slot. Raises EngineFailure if a score is NaN.
    """
    proposal = decide(state, scores, effort)
    apply(state, scores, proposal, choose(state, proposal, effort))
    return lambda slot: _alternatives(state, scores, proposal.shares, slot)


def decide(state: BatchState, scores: Scores, effort: Effort) -> SlotProposals:
    """Proposes a choice for each slot, given all that stays committed. Raises EngineFailure if a score is NaN."""
    every = torch.cat([scores.absent_logit, scores.candidate_logits.flatten(), scores.refused_logit])
    if bool(every.isnan().any()):
        raise EngineFailure("model", "expected numbers as scores, got NaN")
    given_up, ruled_out = _given_up(state, scores, effort)
    shares = _shares(scores, ruled_out)
    classes = torch.zeros_like(state.excusable)
    classes[sorted(scores.classes)] = True
    defaults = _defaults(scores, shares)
    unstated = _unsure_choices(state, scores, shares, effort)
    choice, sure = _best(shares, defaults, state.excusable, classes, unstated, effort)
    choice, sure = _with_likeliest(state, scores, shares, defaults, choice, sure)
    return SlotProposals(shares, choice, sure, unstated, given_up, state.closed & ~given_up)


def choose(state: BatchState, proposal: SlotProposals, effort: Effort) -> torch.Tensor:
    """Selects the slots to commit now, [S] bool."""
    left = [effort.steps - state.steps[batch] for batch in state.active]
    remaining = torch.tensor(left, device=state.device)
    certainty, absent = round_to_places(proposal.sure), proposal.choice <= 0
    return select(~proposal.closed, certainty, absent, state.request, remaining, effort.threshold)


def apply(state: BatchState, scores: Scores, proposal: SlotProposals, chosen: torch.Tensor) -> None:
    """Writes the changes to the batch state, and notes the proposed value of every open slot; chosen: [S] bool."""
    for batch in state.active:
        state.steps[batch] += 1
    if bool(proposal.given_up.any()):
        state.reopen(proposal.given_up)
    _note_values(state, scores, proposal)
    for slot in chosen.nonzero().squeeze(1).tolist():
        state.settle(slot)
    state.closed |= chosen


def _shares(scores: Scores, ruled_out: torch.Tensor) -> Shares:
    """Returns the posterior over the choices of each slot; ruled_out: [S, K + 1] bool."""
    return weigh(scores.absent_logit, scores.candidate_logits, scores.refused_logit, ruled_out)


def _alternatives(state: BatchState, scores: Scores, shares: Shares, slot: int) -> list[tuple[float, WrittenValue]]:
    """Returns the other values of a slot, each with its posterior; the best text noted so far is among them."""
    noted, form_slot = state.values[slot], state.canvas.instances[slot].slot
    posterior = shares.posterior[slot].tolist()
    alternatives = [(posterior[0], replace(noted, absent=True, absent_confidence=posterior[0]))]
    for chance, candidate in zip(posterior[1:], scores.candidates[slot], strict=False):
        if form_slot.accepts(candidate.text):
            value = replace(
                noted, text=candidate.text, absent=False, confidence=chance, spans=candidate.spans,
                origin=candidate.origin, missing=False,
            )  # fmt: skip
            alternatives.append((chance, value))
    if noted.absent or not alternatives[1:]:
        alternatives.append((noted.confidence, replace(noted, absent=False)))
    least = form_slot.minimal.encode()
    alternatives.append((0.0, replace(noted, text=least, absent=False, confidence=0.0, spans=(), origin="minimal")))
    return alternatives


def _defaults(scores: Scores, shares: Shares) -> torch.Tensor:
    """[S, K + 1] bool, the candidates that stand for absence."""
    places = [
        (slot, k)
        for slot, candidates in enumerate(scores.candidates)
        for k, candidate in enumerate(candidates, 1)
        if candidate.origin == "default"
    ]
    result = torch.zeros_like(shares.possible)
    if places:
        result.index_put_(torch.tensor(places, device=result.device).unbind(1), result.new_ones(()))
    return result


def _unsure_choices(state: BatchState, scores: Scores, shares: Shares, effort: Effort) -> torch.Tensor:
    """Returns [S] bool, the choices whose likeliest option is not sure though absence is possible.

    These are choices whose options no words and no passage show: only the network's word stands behind them. In a row
    with a value that has evidence they count as stated.
    """
    sure = (shares.posterior[:, 0] <= effort.unstated) | (shares.posterior[:, 1:] >= effort.option).any(1)
    told, places = set[tuple[int, int]](), list[tuple[int, int] | None]()
    for instance, own, row in zip(
        state.canvas.instances, scores.candidates, shares.posterior.tolist(), strict=True
    ):
        place = instance.request, instance.row
        if instance.row >= 0 and any(c.spans and p >= effort.answer for c, p in zip(own, row[1:], strict=False)):
            told.add(place)
        bare = len(instance.slot.options) > 1 and all(c.origin == "chosen" and not c.spans for c in own)
        places.append(place if bare else None)
    doubtful = [place is not None and place not in told for place in places]
    return torch.tensor(doubtful, dtype=torch.bool, device=state.device) & ~sure


def _best(
    shares: Shares,
    defaults: torch.Tensor,
    excusable: torch.Tensor,
    classes: torch.Tensor,
    unstated: torch.Tensor,
    effort: Effort,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (index, posterior), each [S], of each slot's choice: its best value, or absence if that value is poor.

    Absence is column 0 or, if it is likelier, one of the `defaults` ([S, K + 1] bool). All values together need a
    share, because several readings of one place, or ten classes ([S] bool), share what a single value has alone; and
    the likeliest needs a least share. A choice that is `unstated` ([S] bool) has a poor value.
    """
    only_absent = torch.zeros_like(shares.possible)
    only_absent[:, 0] = True
    value, sure = shares.best(only_absent)
    none, chance = shares.best(~(only_absent | defaults))
    nothing = (only_absent | defaults) & shares.possible
    present = round_to_places(1.0 - torch.where(nothing, shares.posterior, 0.0).sum(1))
    least = torch.where(classes, effort.class_answer, effort.answer)
    poor = (value < 0) | (present < effort.present) | (sure < least) | unstated
    absent = excusable & (none >= 0) & poor
    return torch.where(absent, none, value), torch.where(absent, chance, sure)


def _with_likeliest(
    state: BatchState,
    scores: Scores,
    shares: Shares,
    defaults: torch.Tensor,
    choice: torch.Tensor,
    sure: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the choices, with the text that an earlier step found where absence now is less sure than it was then.

    A value of .56 became null for good when a later step gave it .54, though absence had .003. With 16 steps this gave
    7 values of the samples that were null before, 4 of them right. The items of a list of texts are left out: a doubt
    about such an item is one about its row, and the row beside it often has the same words.
    """
    choice, sure = choice.clone(), sure.clone()
    absent = (choice == 0) | ((choice > 0) & defaults.gather(1, choice.clamp_min(0).unsqueeze(1)).squeeze(1))
    for slot in absent.nonzero().squeeze(1).tolist():
        earlier, of_item = state.likeliest[slot], state.canvas.instances[slot].slot.path.endswith("/*")
        if earlier is None or earlier[1] <= float(round_to_places(sure[slot])) or of_item:
            continue
        at = next((k for k, one in enumerate(scores.candidates[slot], 1) if one.text == earlier[0]), -1)
        if at > 0 and bool(shares.possible[slot, at]):
            choice[slot], sure[slot] = at, shares.posterior[slot, at]
    return choice, sure


def _given_up(state: BatchState, scores: Scores, effort: Effort) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns [S] bool, the slots with a doubted value, and [S, K + 1] bool, the choices that these give up."""
    nothing = torch.zeros(
        len(state.canvas.instances), scores.candidate_logits.shape[1] + 1, dtype=torch.bool, device=state.device
    )
    judgeable = state.closed & ~state.known & (state.reopened_times < effort.reopenings)
    if not bool(judgeable.any()):
        return judgeable, nothing
    index = [
        _index_of(state, scores.candidates[slot], slot) if asked else -1
        for slot, asked in enumerate(judgeable.tolist())
    ]
    held = torch.tensor(index, device=state.device)
    at = held.clamp_min(0).unsqueeze(1)
    shares = _shares(scores, nothing)
    now = torch.where(held < 0, 0.0, shares.posterior.gather(1, at).squeeze(1))
    ours = torch.zeros_like(nothing).scatter_(1, at, (held >= 0).unsqueeze(1))
    excluded = ours.clone()
    excluded[:, 0] |= ~state.excusable
    instead, other = shares.best(excluded)
    given_up = judgeable & is_doubtful(now, other, effort.reopen, effort.margin)
    # A found value gives way to another value, but to absence only if that is surer than the value was.
    former = torch.tensor([0.0 if one is None else one[1] for one in state.likeliest], device=state.device)
    given_up &= (instead != 0) | (held <= 0) | (round_to_places(other) > former)
    return given_up, ours & given_up.unsqueeze(1)


def _index_of(state: BatchState, candidates: list[Candidate], slot: int) -> int:
    """Returns the choice of the committed value: 0 absent, 1 … K a candidate, -1 none that is offered now."""
    if state.canvas.left_out[slot]:
        return 0
    text = state.canvas.values[slot]
    return next((k for k, candidate in enumerate(candidates, 1) if candidate.text == text), -1)


def _note_values(state: BatchState, scores: Scores, proposal: SlotProposals) -> None:
    """Notes the proposed value of every open slot; if the scores offer none, the value noted before stays."""
    shares, choice = proposal.shares, proposal.choice
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
    # Absence that is the only choice left is as likely as the model said, not certain.
    alone = shares.possible[:, 0] & (shares.possible.sum(1) == 1)
    absence = torch.where(alone, shares.log_allowed.exp(), shares.posterior[:, 0])
    nothing, mass = absence.tolist(), shares.log_allowed.tolist()
    excusable, unstated = state.excusable.tolist(), proposal.unstated.tolist()
    for slot in open_slots:
        # A slot of one option, such as a constant, has nothing to miss. Of several options the likeliest may have
        # little, and none of them more.
        options = len(state.canvas.instances[slot].slot.options)
        most = min(0.5, sure[slot]) if options > 1 else 0.5
        value = replace(
            state.values[slot],
            absent=excusable[slot] and chosen[slot] <= 0,
            confidence=round(sure[slot], 4),
            absent_confidence=round(nothing[slot], 4),
            missing=not excusable[slot]
            and options != 1
            and (nothing[slot] > most or chosen[slot] < 0 or unstated[slot]),
            demanded=not excusable[slot],
            allowed_mass=round(mass[slot], 4),
            rival=round(rivals[slot], 4),
        )
        if guesses[slot] > 0:
            candidate = scores.candidates[slot][guesses[slot] - 1]
            form_slot = state.canvas.instances[slot].slot
            if not form_slot.accepts(candidate.text):
                text = candidate.text.decode(errors="replace")
                raise EngineFailure("model", f"{form_slot.path}: the candidate {text} is not allowed here")
            value = replace(value, text=candidate.text, spans=candidate.spans, origin=candidate.origin)
            if chosen[slot] > 0 and value.origin != "default":
                before = state.likeliest[slot]
                if before is None or before[1] < value.confidence:
                    state.likeliest[slot] = candidate.text, value.confidence
        state.values[slot] = value
