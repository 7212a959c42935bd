"""The training objective: masked-value losses on whole canvases, and the losses of the pointers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.network.encoder import FLOOR, DecoderOutput
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.support import SIGNS, Statements, stretches, support
from cinnabar.engine.models.reader.scoring.answering import unsigned_odds
from cinnabar.engine.training.batches import TrainingBatch
from cinnabar.engine.training.examples import IGNORE

_BOOLEAN = KINDS.index("boolean")
#: Weight of each part of the loss.
WEIGHTS = {
    "start": 1.0, "end": 0.7, "absent": 1.0, "choice": 0.7, "boolean": 0.7, "rows": 1.5, "row_ranks": 0.5,
    "default": 1.0, "unsigned": 0.3, "tags": 0.5,
}  # fmt: skip


def losses(network: Network, batch: TrainingBatch) -> dict[str, Tensor]:
    """Returns the mean loss of each part over a batch, without parts that have no target."""
    page, board, targets, questions = batch.sheet, batch.board, batch.targets, batch.questions
    held = network.project_windows(network.encode_windows(page))
    read = network.encode_questions(questions)
    vectors, statements = read.vectors, read.statements
    matches = network.matches(page, batch.phrases, board, questions)
    look = network.decode(held, page, board, vectors, matches)
    out: dict[str, Tensor] = {}

    starts = network.starts(look)
    supported, options_supported = _window_support(network, batch, look, statements)
    absent = network.absences(look, starts, targets.starts, supported)
    known = ~targets.absent.isnan()
    if known.any():
        out["absent"] = F.binary_cross_entropy_with_logits(absent[known], targets.absent[known])

    scores = torch.where(targets.starts, starts.float(), FLOOR).log_softmax(-1)
    gold = targets.spans[..., 0].clamp(min=0)
    each = scores.gather(2, gold) + torch.where(targets.spans[..., 0] >= 0, 0.0, FLOOR)
    # Any printing of the value is right.
    at = each.logsumexp(-1)
    pointed = (targets.spans[:, :, 0, 0] >= 0) & ~targets.either
    if pointed.any():
        out["start"] = -at[pointed].mean()
        best = each.detach().argmax(-1, keepdim=True)
        start = gold.gather(2, best)
        end = targets.spans[..., 1].clamp(min=0).gather(2, best)[..., 0]
        tails = network.ends(look, start, page.line)[:, :, 0].float()
        tails = torch.where(targets.ends[:, None], tails, FLOOR)
        out["end"] = F.cross_entropy(tails[pointed], end[pointed])

    given = targets.default != IGNORE
    if given.any():
        asked = board.question[given]
        share = network.defaults(look.slots[given], read.named[asked], read.is_named[asked])
        default = share.gather(1, targets.default[given][:, None])[:, 0]
        # A value that stands for absence may be printed as well ("Fees 0.00"): then both choices are right.
        missing = absent[given]
        either = torch.logaddexp(F.logsigmoid(-missing) + at[given], F.logsigmoid(missing) + default)
        out["default"] = -torch.where(targets.either[given], either, default).mean()
    signed = ~targets.unsigned.isnan()
    if signed.any():
        unsigned = unsigned_odds(network, look.slots[signed])
        out["unsigned"] = F.binary_cross_entropy_with_logits(unsigned, targets.unsigned[signed])

    if (targets.choice != IGNORE).any():
        out["choice"] = _choice_loss(network, batch, look, vectors, options_supported)
    if (targets.boolean != IGNORE).any():
        booleans = network.boolean_scores(look.slots, supported)
        out["boolean"] = F.cross_entropy(
            booleans.flatten(0, 1), targets.boolean.flatten(), ignore_index=IGNORE
        )
    if len(targets.rows):
        out |= _row_losses(network, batch, look)
    if (targets.tags != IGNORE).any():
        tags = held.tags.float()
        out["tags"] = F.cross_entropy(tags.flatten(0, 1), targets.tags.flatten(), ignore_index=IGNORE)
    return out


def _choice_loss(
    network: Network, batch: TrainingBatch, look: DecoderOutput, vectors: Tensor, supported: Tensor
) -> Tensor:
    """Returns the loss of the chosen options, of which `vectors` holds all and `supported` the support."""
    targets = batch.targets
    i, j = targets.choice_at.unbind(-1)
    options = vectors[targets.choice_options.clamp(min=0)]
    scores = network.choices(look.slots[i, j], options, targets.choice_printed, supported).float()
    scores = torch.where(targets.choice_options >= 0, scores, FLOOR)
    return F.cross_entropy(scores, targets.choice, ignore_index=IGNORE)


def _row_losses(network: Network, batch: TrainingBatch, look: DecoderOutput) -> dict[str, Tensor]:
    """Returns the losses of the places at which the items of arrays begin."""
    i, j = batch.targets.rows_at.unbind(-1)
    rows = batch.targets.rows
    tags = network.rows(look)[i, j].float()
    places = batch.sheet.mask[i].float()
    each = F.binary_cross_entropy_with_logits(tags, rows, reduction="none") * places
    out = {"rows": (each.sum(-1) / (3 + rows.sum(-1))).mean()}
    there = rows.sum(-1) > 0
    if there.any():
        # Beginnings are one piece in hundreds, so a loss on each place alone learns slowly. A loss on their rank
        # before all other places learns as fast as a pointer.
        ranked = torch.where(places > 0, tags, FLOOR).log_softmax(-1)
        share = rows / rows.sum(-1, keepdim=True).clamp(min=1)
        out["row_ranks"] = -(ranked * share).sum(-1)[there].mean()
    return out


def _window_support(
    network: Network, batch: TrainingBatch, look: DecoderOutput, statements: Statements
) -> tuple[Tensor, Tensor]:
    """Returns the windows' support for choices and booleans, [N, S, SIGNS], and for options, [C, O, SIGNS].

    A choice gets the maximum over its options.
    """
    page, board, targets = batch.sheet, batch.board, batch.targets
    words = network.encoder.words.weight
    states = look.windows.states
    whole = torch.zeros(*board.question.shape, SIGNS, device=states.device)
    within = stretches(page, board)

    def support_at(at: Tensor, asked: Tensor) -> Tensor:
        i, j = at.unbind(-1)
        return support(words, page.ids[i], states[i], within[i, j], statements[asked])

    options = support_at(targets.choice_at, targets.choice_options.clamp(min=0))
    if len(targets.choice):
        i, j = targets.choice_at.unbind(-1)
        real = torch.where(targets.choice_options[..., None] >= 0, options, 0.0)
        whole = whole.index_put((i, j), real.amax(1))
    asked_at = (board.mask & (board.kind == _BOOLEAN)).nonzero()
    if len(asked_at):
        i, j = asked_at.unbind(-1)
        whole = whole.index_put((i, j), support_at(asked_at, board.question[i, j][:, None])[:, 0])
    return whole, options


def total(parts: dict[str, Tensor]) -> Tensor:
    """Returns the weighted sum of the parts."""
    return torch.stack([WEIGHTS[k] * v for k, v in parts.items()]).sum()
