"""Scores of token classes from hidden states, in slices, so that the logits of all positions never exist at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from cinnabar.engine.models.language.arrays import Bools, Floats, Ints
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.memory import LOGITS
from cinnabar.kernels.score_limits import FLOOR, LEAST

#: Logits that are reduced at a time: they stay in a core's cache.
REDUCED = 600_000
#: Logits that exist at a time where a device reduces them (bfloat16: 128 MB); a larger product keeps a GPU busier.
DEVICE_LOGITS = 64_000_000
#: Below this, relative to the best token of a position, a term is lost in float32.
_LOST = -87.0


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The scores of C classes at N positions.

    total, best: [N, C] float32, log-sum-exp and maximum over the tokens of each class, normalised over all tokens and
    at least LEAST. token: [N, C] int64, the best token of each class, the first of equals. own: [N] float32, of the
    token that each position holds, FLOOR where it holds none. finite: [N] bool, whether all scores are numbers; where
    not, the others mean nothing.
    """

    total: Floats
    best: Floats
    token: Ints
    own: Floats
    finite: Bools

    def at(self, rows: slice | Ints) -> ClassScores:
        """Returns the scores at some of the positions."""
        return ClassScores(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Reduced:
    """The same on a device, with total, best and token as [N * C], the latter int32; where not finite, LEAST."""

    total: torch.Tensor
    best: torch.Tensor
    token: torch.Tensor
    own: torch.Tensor
    finite: torch.Tensor


@dataclass(frozen=True, slots=True)
class DeviceScores:
    """The scores of some positions, which lie on a device with all others of a pass.

    scores: of all positions, with total, best and token as [S], one position after the other. base: [K] int64, where
    the scores of each of these positions begin. row: [K] int64, its place in `own` and `finite`.
    """

    scores: Reduced
    base: Ints
    row: Ints

    def at(self, rows: slice | Ints) -> DeviceScores:
        """Returns the scores at some of the positions."""
        return DeviceScores(self.scores, self.base[rows], self.row[rows])

    def own_on_host(self, classes: int) -> ClassScores:
        """Returns the scores of these positions, which have this many classes each, on the host."""
        device = self.scores.total.device
        cells = torch.from_numpy(self.base[:, None] + np.arange(classes)).to(device)
        rows = torch.from_numpy(self.row).to(device)
        total, best, token = (
            one[cells].cpu().numpy() for one in (self.scores.total, self.scores.best, self.scores.token)
        )
        own, finite = self.scores.own[rows].cpu().numpy(), self.scores.finite[rows].cpu().numpy()
        return ClassScores(total, best, token.astype(np.int64), own, finite)


class TokenClasses:
    """The tokens of a vocabulary, listed by class.

    token_class: [V] int64, -1 for a token of no class.
    """

    def __init__(self, token_class: Ints, classes: int) -> None:
        self.classes = classes
        sizes = np.bincount(np.where(token_class < 0, classes, token_class), minlength=classes + 1)
        order = np.argsort(np.where(token_class < 0, classes, token_class), kind="stable")
        begin = np.cumsum(sizes) - sizes
        #: Tokens by class, those of no class last; within a class in their order.
        self.order = order
        #: The tokens of each class.
        self.size: Ints = sizes[:classes]
        #: Where the classes begin; the tokens of no class are one more, if there are any.
        self.begin: Ints = begin[: classes + 1] if sizes[classes] else begin[:classes]
        # With numbers of 64 bits `index_select` takes six times as long (64 positions of 150,000 tokens: 31 ms, not 5).
        self._order = torch.from_numpy(order.astype(np.int32))
        self._first = order[begin[:classes]]
        self._several = [(k, int(begin[k]), int(begin[k] + sizes[k])) for k in np.flatnonzero(sizes[:classes] > 1)]

    def scores(
        self,
        decoder: Decoder,
        hidden: torch.Tensor,
        held: Ints,
        bans: Sequence[tuple[int, int]] = (),
    ) -> ClassScores:
        """Returns the scores at N positions.

        hidden: [N, D]; held: [N] int64, the token of each, -1 for none. bans: positions (0 to N - 1) with a token that
        shall have no probability there.
        """
        many, width = len(hidden), len(self.order)
        scores = ClassScores(
            np.empty((many, self.classes), np.float32),
            np.empty((many, self.classes), np.float32),
            np.broadcast_to(self._first, (many, self.classes)).copy(),
            np.full(many, FLOOR, np.float32),
            np.ones(many, np.bool_),
        )
        slice_, step = max(1, LOGITS // width), max(1, REDUCED // width)
        for low in range(0, many, slice_):
            # The reduction runs on the host: with 150,000 tokens it takes a tenth of the time of the last matrix.
            logits = decoder.logits(hidden[low : low + slice_])
            logits = _without(logits, low, bans).cpu()
            for at in range(0, len(logits), step):
                rows = slice(low + at, low + min(at + step, len(logits)))
                self._reduce(logits[at : at + step].float(), held[rows], rows, scores)
        return scores

    def reduce(
        self,
        decoder: Decoder,
        hidden: torch.Tensor,
        held: torch.Tensor,
        bans: Sequence[tuple[int, int]],
        out: Reduced,
    ) -> None:
        """Writes the scores at N positions into `out`, on the device; nothing of the size of the vocabulary is copied.

        held: [N] int64, on the device. total, best and token of `out` are [N * C]. The others are as for `scores`.
        """
        order = self._order.to(hidden.device)
        first = torch.from_numpy(self._first).to(hidden.device)
        step = max(1, DEVICE_LOGITS // len(self.order))
        for low in range(0, len(hidden), step):
            logits = decoder.logits(hidden[low : low + step])
            logits = _without(logits, low, bans).float()
            rows = slice(low, low + len(logits))
            whole, placed = logits.logsumexp(1, keepdim=True), logits.index_select(1, order)
            best, token = logits.index_select(1, first), first.repeat(len(logits), 1)
            total = best.clone()
            for kind, begin, end in self._several:
                part = placed[:, begin:end]
                at = part.argmax(1, keepdim=True)
                best[:, kind], total[:, kind] = part.gather(1, at).squeeze(1), part.logsumexp(1)
                token[:, kind] = order[begin + at].squeeze(1)
            finite = best.isfinite().all(1) & whole.isfinite().squeeze(1)
            own = (logits.gather(1, held[rows].clamp_min(0)[:, None]) - whole).clamp_min(LEAST).squeeze(1)
            cells = slice(rows.start * self.classes, rows.stop * self.classes)
            for kept, scores in ((out.total, total), (out.best, best)):
                kept[cells] = torch.where(finite[:, None], (scores - whole).clamp_min(LEAST), LEAST).flatten()
            out.token[cells] = token.int().flatten()
            out.own[rows] = torch.where(held[rows] < 0, FLOOR, torch.where(finite, own, LEAST))
            out.finite[rows] = finite

    def _reduce(self, logits: torch.Tensor, held: Ints, rows: slice, scores: ClassScores) -> None:
        whole = np.arange(len(logits))
        placed: Floats = logits.index_select(1, self._order).numpy()
        best = np.maximum.reduceat(placed, self.begin, axis=1)
        top = best.max(1, keepdims=True)
        # A NaN is the maximum of its class, so the maxima tell of any.
        finite = scores.finite[rows] = np.isfinite(best).all(1)
        placed[~finite] = best[~finite] = top[~finite] = 0.0
        for kind, begin, end in self._several:
            scores.token[rows, kind] = self.order[begin + placed[:, begin:end].argmax(1)]
        own = np.where(held < 0, FLOOR, logits.numpy()[whole, held])
        placed -= top
        np.maximum(placed, _LOST, out=placed)
        np.exp(placed, out=placed)
        total = np.log(np.add.reduceat(placed, self.begin, axis=1))
        norm = np.log(np.exp(total).sum(1, keepdims=True))
        best -= top
        # A class all of whose tokens are lost beside the best token keeps the score of its own best one.
        total = np.where(best < _LOST + 1, best, np.maximum(total, best))
        kept = self.classes
        scores.total[rows] = np.maximum(total[:, :kept] - norm, LEAST)
        scores.best[rows] = np.maximum(best[:, :kept] - norm, LEAST)
        scores.own[rows] = np.where(held < 0, FLOOR, np.maximum(own - top[:, 0] - norm[:, 0], LEAST))


def _without(logits: torch.Tensor, begin: int, bans: Sequence[tuple[int, int]]) -> torch.Tensor:
    """Takes the probability from banned tokens, in place; begin: the position of the first row."""
    for at, token in bans:
        if begin <= at < begin + len(logits):
            logits[at - begin, token] = max(LEAST, torch.finfo(logits.dtype).min)
    return logits
