"""One denoising step: it constrains the model's scores, then commits, re-opens and grows slots.

`decide` proposes a choice for each slot, `choose` selects the slots and positions to commit, re-open or grow now, and
`apply` writes them to the batch state. Only `apply` changes the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from cinnabar.engine.batch_state import BatchState
from cinnabar.engine.canvas import MASK, PAD
from cinnabar.engine.constraint import LONGEST, Constraint, Outlook, blank_outlook
from cinnabar.engine.denoising import Shares, doubted, rounded, select, weigh
from cinnabar.engine.effort import Effort
from cinnabar.engine.models.base import Candidate, Scores
from cinnabar.engine.repair import Alternatives
from cinnabar.engine.tokenizer import spell, text_of
from cinnabar.engine.writing import Value
from cinnabar.schemas.errors import EngineFailure


@dataclass(frozen=True, slots=True)
class Judgement:
    """Scores under the constraint, for all S slots of the batch at L positions.

    spelled_logit: [S] float32, of spelling the value out; -inf where the model does not offer it. outlook: of all
    slots; those that are not spelled out have log_mass FLOOR.
    """

    scores: Scores
    spelled_logit: torch.Tensor
    outlook: Outlook

    def shares(self, ruled_out: torch.Tensor) -> Shares:
        """Returns the posterior over the choices of each slot; ruled_out: [S, K + 2] bool."""
        s, mass = self.scores, self.outlook.log_mass
        return weigh(s.absent_logit, s.candidate_logits, self.spelled_logit, mass, s.refused_logit, ruled_out)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed choice of each of the S slots, with the doubted values open again.

    shares: posterior over the K + 2 choices of each slot. choice, sure: [S] int64 and float32, the proposed choice, -1
    for none, and its posterior. given_up: [S] bool, slots with a doubted value. closed, firm, tokens: those of the
    state, with these slots open.
    """

    judged: Judgement
    shares: Shares
    choice: torch.Tensor
    sure: torch.Tensor
    given_up: torch.Tensor
    closed: torch.Tensor
    firm: torch.Tensor
    tokens: torch.Tensor


@dataclass(frozen=True, slots=True)
class Update:
    """The changes to make now: [S] bool for slots, [S, L] bool for positions.

    spelled: slots that are spelled out and not grown. growing: slots to double. whole: slots to commit. picked:
    positions committed by choice. taken: all positions that get the witness's token. tail: open positions that hold
    PAD if a PAD is before them. shaky: positions to re-open.
    """

    spelled: torch.Tensor
    growing: torch.Tensor
    whole: torch.Tensor
    picked: torch.Tensor
    taken: torch.Tensor
    tail: torch.Tensor
    shaky: torch.Tensor


def constrain(state: BatchState, scores: Scores, constraint: Constraint) -> Judgement:
    """Returns the scores with the constrained posterior and witness of every slot that the model offers to spell out.

    Raises EngineFailure if a score is NaN or infinite.
    """
    canvas, at, token_logits = state.canvas, scores.generating, scores.token_logits
    slots, width = canvas.tokens.shape
    spelled = scores.generate_logit.new_full((slots,), float("-inf"))
    spelled[at] = scores.generate_logit[at]
    whole = torch.cat([scores.absent_logit, spelled, scores.candidate_logits.flatten(), scores.refused_logit])
    if bool(whole.isnan().any()) or not bool(scores.token_logits.amax(-1).isfinite().all()):
        raise EngineFailure("model", "expected finite scores, got NaN or infinity")
    outlook = blank_outlook(slots, width, PAD, state.device)
    frozen = state.known[at]
    if bool(frozen.any()):
        at, token_logits = at[~frozen], token_logits[~frozen]
    if len(at):
        offered = [canvas.instances[i].slot for i in at.tolist()]
        outlook.put(at, constraint.outlook(offered, canvas.tokens[at], canvas.length[at], token_logits))
    return Judgement(scores, spelled, outlook)


def commit(state: BatchState, judged: Judgement, effort: Effort) -> Alternatives:
    """Re-opens doubted values, commits certain or due ones, and doubles slots with a longer value.

    Returns the alternatives of each slot.
    """
    proposal = decide(state, judged, effort)
    apply(state, proposal, choose(state, proposal, effort))
    return lambda slot: _alternatives(state, judged.scores, proposal.shares, slot)


def decide(state: BatchState, judged: Judgement, effort: Effort) -> Proposal:
    """Proposes a choice for each slot, given all that stays committed."""
    scores = judged.scores
    given_up, ruled_out = _given_up(state, judged, effort)
    closed, firm = state.closed & ~given_up, state.firm & ~given_up.unsqueeze(1)
    tokens = torch.where(given_up.unsqueeze(1), MASK, state.canvas.tokens)
    ruled_out = ruled_out | _contradicting(scores, closed, firm, tokens)
    shares = judged.shares(ruled_out)
    classes = torch.zeros_like(state.excusable)
    classes[sorted(scores.classes)] = True
    defaults = _defaults(scores, shares)
    choice, sure = _best(shares, defaults, state.excusable, classes, effort)
    choice, sure = _with_found(state, scores, shares, defaults, choice, sure)
    return Proposal(judged, shares, choice, sure, given_up, closed, firm, tokens)


def choose(state: BatchState, proposal: Proposal, effort: Effort) -> Update:
    """Selects the slots and positions to commit, re-open and grow now.

    Positions are committed from the witness only, so that the committed tokens can always be completed.
    """
    canvas, outlook, choice, sure = state.canvas, proposal.judged.outlook, proposal.choice, proposal.sure
    left = [max(effort.steps - state.steps[batch], 1) for batch in state.active]
    remaining = torch.tensor(left, device=state.device)
    opened = ~proposal.closed
    spelled = opened & (choice == _last(proposal.shares))
    growing = spelled & (~outlook.complete | (rounded(outlook.more) > 0.5)) & (canvas.length < LONGEST)
    spelled &= ~growing
    blank = (proposal.tokens < 0) & state.within & spelled.unsqueeze(1)
    due = (remaining == 1)[state.request]
    shaky = (
        proposal.firm
        & (spelled & ~due).unsqueeze(1)
        & doubted(outlook.posterior, outlook.runner_up, effort.reopen, effort.margin)
        & (state.position_reopened < effort.reopenings)
    )
    # Only the first PAD ends a value; those after it follow from it.
    tail = torch.zeros_like(blank)
    tail[:, 1:] = (outlook.witness[:, 1:] == PAD) & (outlook.witness[:, :-1] == PAD)
    forced = blank & (outlook.choices < 1.5)
    eligible = blank & ~forced & ~tail
    entire = opened & ~growing & (~spelled | ~(eligible | shaky).any(1))
    certainty = rounded(torch.cat([sure.unsqueeze(1), sure.unsqueeze(1) * outlook.posterior], 1))
    chosen = select(
        torch.cat([entire.unsqueeze(1), eligible], 1),
        certainty,
        choice <= 0,
        state.request,
        remaining,
        effort.threshold,
    )
    whole, picked = chosen[:, 0], chosen[:, 1:]
    # Forced positions are committed once something was chosen: until then the value may be absent.
    begun = ((proposal.firm | picked).any(1) | whole).unsqueeze(1)
    taken = picked | (forced & begun) | (blank & whole.unsqueeze(1))
    return Update(spelled, growing, whole, picked, taken, blank & tail, shaky)


def apply(state: BatchState, proposal: Proposal, chosen: Update) -> None:
    """Writes the chosen changes to the batch state, and notes the proposed value of every open slot."""
    canvas, outlook = state.canvas, proposal.judged.outlook
    for batch in state.active:
        state.steps[batch] += 1
    if bool(proposal.given_up.any()):
        state.reopen(proposal.given_up)
    _note_values(state, proposal)
    state.firm |= chosen.picked
    state.sureness = torch.where(chosen.picked, rounded(outlook.posterior), state.sureness)
    canvas.tokens = torch.where(chosen.taken, outlook.witness, canvas.tokens)
    ended = chosen.spelled & (canvas.tokens == PAD).any(1)
    canvas.tokens = torch.where(chosen.tail & ended.unsqueeze(1), PAD, canvas.tokens)
    if bool(chosen.shaky.any()):
        state.reopen_positions(chosen.shaky)
    finished = chosen.spelled & ((canvas.tokens >= 0) | ~state.within).all(1)
    certain = proposal.sure.tolist()
    for slot in finished.nonzero().squeeze(1).tolist():
        state.spelled(slot, certain[slot])
    whole = chosen.whole & ~chosen.spelled
    for slot in whole.nonzero().squeeze(1).tolist():
        state.settle(slot)
    state.closed |= whole | finished
    if bool(chosen.growing.any()):
        state.grow(chosen.growing)


def _alternatives(state: BatchState, scores: Scores, shares: Shares, slot: int) -> list[tuple[float, Value]]:
    """Returns the other values of a slot, each with its posterior; the best text noted so far is among them."""
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
    """[S, K + 2] bool, the candidates that stand for absence."""
    found = [
        (slot, k)
        for slot, candidates in enumerate(scores.candidates)
        for k, candidate in enumerate(candidates, 1)
        if candidate.origin == "default"
    ]
    result = torch.zeros_like(shares.possible)
    if found:
        result.index_put_(torch.tensor(found, device=result.device).unbind(1), result.new_ones(()))
    return result


def _best(
    shares: Shares, defaults: torch.Tensor, excusable: torch.Tensor, classes: torch.Tensor, effort: Effort
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (index, posterior), each [S], of each slot's choice: its best value, or absence if that value is poor.

    Absence is column 0 or, if it is likelier, one of the `defaults` ([S, K + 2] bool). Of `classes` ([S] bool) all
    values together count: ten classes share what one printed value has alone. The likeliest needs a least share too.
    """
    only_absent = torch.zeros_like(shares.possible)
    only_absent[:, 0] = True
    value, sure = shares.best(only_absent)
    none, chance = shares.best(~(only_absent | defaults))
    nothing = (only_absent | defaults) & shares.possible
    present = torch.where(classes, 1.0 - torch.where(nothing, shares.posterior, 0.0).sum(1), sure)
    poor = (value < 0) | (present < effort.answer) | (classes & (sure < effort.class_answer))
    absent = excusable & (none >= 0) & poor
    return torch.where(absent, none, value), torch.where(absent, chance, sure)


def _with_found(
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
        found = state.found[slot]
        if found is None or found[1] <= float(rounded(sure[slot])) or _is_item(state, slot):
            continue
        at = next((k for k, one in enumerate(scores.candidates[slot], 1) if one.text == found[0]), -1)
        if at > 0 and bool(shares.possible[slot, at]):
            choice[slot], sure[slot] = at, shares.posterior[slot, at]
    return choice, sure


def _is_item(state: BatchState, slot: int) -> bool:
    """Returns whether a slot is all that a row has."""
    return state.canvas.instances[slot].slot.path.endswith("/*")


def _last(shares: Shares) -> int:
    """Returns the index of the choice to spell a value out."""
    return shares.posterior.shape[1] - 1


def _given_up(state: BatchState, judged: Judgement, effort: Effort) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns [S] bool, the slots with a doubted value, and [S, K + 2] bool, the choices that these give up."""
    scores = judged.scores
    slots, last = len(state.canvas.instances), scores.candidate_logits.shape[1] + 1
    nothing = torch.zeros(slots, last + 1, dtype=torch.bool, device=state.device)
    # Steps beyond the effort serve values that grow; nothing is re-opened in them.
    over = torch.tensor([state.steps[batch] >= effort.steps for batch in state.active], device=state.device)
    judgeable = (state.closed | state.firm.any(1)) & ~state.known & ~over[state.request]
    judgeable &= state.value_reopened < effort.reopenings
    if not bool(judgeable.any()):
        return judgeable, nothing
    index = [
        _index_of(state, scores.candidates[slot], slot, last) if asked else -1
        for slot, asked in enumerate(judgeable.tolist())
    ]
    held = torch.tensor(index, device=state.device)
    # A model need not score a committed spelling again; without token logits it cannot be judged.
    spelling = torch.zeros_like(judgeable)
    spelling[scores.generating] = True
    judgeable &= ~(state.closed & (held == last) & ~spelling)
    at = held.clamp_min(0).unsqueeze(1)
    shares = judged.shares(nothing)
    now = shares.posterior.gather(1, at).squeeze(1)
    weakest = torch.where(state.firm, judged.outlook.posterior, 1.0).amin(1)
    now = torch.where(state.closed & (held == last), now * weakest, now)
    now = torch.where(held < 0, 0.0, now)
    ours = torch.zeros_like(nothing).scatter_(1, at, (held >= 0).unsqueeze(1))
    excluded = ours.clone()
    excluded[:, 0] |= ~state.excusable
    instead, other = shares.best(excluded)
    given_up = judgeable & doubted(now, other, effort.reopen, effort.margin)
    # A found value gives way to another value, but to absence only if that is surer than the value was.
    former = torch.tensor([0.0 if one is None else one[1] for one in state.found], device=state.device)
    given_up &= (instead != 0) | (held <= 0) | (rounded(other) > former)
    return given_up, ours & given_up.unsqueeze(1)


def _index_of(state: BatchState, candidates: list[Candidate], slot: int, last: int) -> int:
    """Returns the choice of the committed value: 0 absent, 1 … K a candidate, `last` spelled out, -1 none."""
    text = state.canvas.values[slot]
    if state.canvas.left_out[slot]:
        return 0
    if text is None or state.values[slot].origin == "generated":
        return last
    return next((k for k, candidate in enumerate(candidates, 1) if candidate.text == text), -1)


def _contradicting(
    scores: Scores, closed: torch.Tensor, firm: torch.Tensor, tokens: torch.Tensor
) -> torch.Tensor:
    """[S, K + 2] bool, the choices of open slots that contradict committed positions: other texts, and absence."""
    placed = (tokens >= 0) & ~closed.unsqueeze(1)
    slots, width = placed.shape
    result = placed.new_zeros(slots, scores.candidate_logits.shape[1] + 2)
    result[:, 0] = firm.any(1) & ~closed
    for slot in placed.any(1).nonzero().squeeze(1).tolist():
        texts = spell([candidate.text for candidate in scores.candidates[slot]], width).to(tokens.device)
        result[slot, 1 : len(texts) + 1] = ((texts != tokens[slot]) & placed[slot]).any(1)
    return result


def _note_values(state: BatchState, proposal: Proposal) -> None:
    """Notes the proposed value of every open slot.

    If the scores offer none, or none that fits the slot's length, the value noted before stays: it agrees with
    everything committed, since nothing was committed against it.
    """
    scores, outlook = proposal.judged.scores, proposal.judged.outlook
    shares, choice, last = proposal.shares, proposal.choice, _last(proposal.shares)
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
    complete = outlook.complete.tolist()
    free = (state.excusable & ~state.firm.any(1)).tolist()
    demanded = (~state.excusable).tolist()
    witness = outlook.witness.tolist()
    for slot in open_slots:
        # A slot of one option, such as a constant, has nothing to miss. Of several options the likeliest may have
        # little, and none of them more.
        options = len(state.canvas.instances[slot].slot.options)
        most = min(0.5, sure[slot]) if options > 1 else 0.5
        value = replace(
            state.values[slot],
            absent=free[slot] and chosen[slot] <= 0,
            confidence=round(sure[slot], 4),
            absent_confidence=round(nothing[slot], 4),
            missing=demanded[slot] and options != 1 and (nothing[slot] > most or chosen[slot] < 0),
            demanded=demanded[slot],
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
            if 0 < chosen[slot] < last and value.origin != "default":
                before = state.found[slot]
                if before is None or before[1] < value.confidence:
                    state.found[slot] = candidate.text, value.confidence
        elif guesses[slot] == last and complete[slot]:
            value = replace(value, text=text_of(witness[slot]), spans=(), origin="generated")
        state.values[slot] = value
