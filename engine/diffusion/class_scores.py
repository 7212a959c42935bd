"""Scores of token classes from hidden states, in slices, so that the logits of all positions never exist at once.

Drawing tokens at a temperature: the best of logits with Gumbel noise is a draw from their softmax.

A position has the same noise in each pass, made from the request's seed, its place and the token by a hash (SplitMix64,
Steele et al. 2014) where the logits are. So a draw depends on no other request, a token that is masked again changes
with its context alone, and a schema is enforced as without noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from cinnabar.engine.diffusion.arrays import Bools, Floats, Ints
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

    def on_host(self, classes: int) -> ClassScores:
        """Returns the scores of all positions of the pass, which have this many classes each, on the host."""
        scores = self.scores
        total, best, token = (one.view(-1, classes).cpu().numpy() for one in (scores.total, scores.best, scores.token))
        return ClassScores(total, best, token.astype(np.int64), scores.own.cpu().numpy(), scores.finite.cpu().numpy())


#: What a token that may not be drawn loses, in units of the temperature. If the constraint allows none of the others,
#: the likeliest of these is taken, for they have no noise.
_SAMPLING_LOST = 60.0
#: The step and the multipliers of the hash.
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """The rules by which the tokens of a request are drawn.

    temperature: above 0; at 1 by the model's own probabilities. top_p: the likeliest tokens that together have this
    probability may be drawn. seed: any integer; the same one gives the same answer.
    """

    temperature: float
    top_p: float = 1.0
    seed: int = 0

    def drawn(self, logits: torch.Tensor, place: int) -> torch.Tensor:
        """Returns the logits of one position with its noise, [V]; the best one is 0."""
        scores = logits.float()
        drawn = scores + self.temperature * gumbel(len(logits), self.seed, place, logits.device)
        if self.top_p < 1:
            drawn = torch.where(self._others(scores), scores - _SAMPLING_LOST * self.temperature, drawn)
        # Near 0 even bfloat16 tells the best ones apart; at 40 its steps of .25 preferred the first of the vocabulary.
        return (drawn - drawn.max()).to(logits.dtype)

    def _others(self, logits: torch.Tensor) -> torch.Tensor:
        """Returns which tokens, [V] bool, are none of the likeliest ones, of which there is at least one."""
        shares, order = (logits / self.temperature).softmax(-1).sort(descending=True)
        beyond = torch.cat([shares.new_zeros(1, dtype=torch.bool), shares.cumsum(-1)[:-1] >= self.top_p])
        return torch.zeros_like(beyond).scatter_(0, order, beyond)


def gumbel(many: int, seed: int, place: int, device: torch.device) -> torch.Tensor:
    """Returns Gumbel noise, [many] float32, the same for the same seed and place but for the device's logarithm."""
    key = _mix((_mix(seed & _WORD) + place * _STEP) & _WORD)
    bits = torch.arange(1, many + 1, device=device) * _to_signed(_STEP) + _to_signed(key)
    bits = (bits ^ _right(bits, 30)) * _to_signed(_FIRST)
    bits = (bits ^ _right(bits, 27)) * _to_signed(_SECOND)
    # The upper 23 bits, so that a float32 holds the middle of their steps exactly: never 0 or 1.
    uniform = (_right(bits ^ _right(bits, 31), 41).float() + 0.5) * 2.0**-23
    return -torch.log(-torch.log(uniform))


def _right(bits: torch.Tensor, by: int) -> torch.Tensor:
    """Shifts 64 bits without a sign."""
    return (bits >> by) & ((1 << 64 - by) - 1)


def _mix(word: int) -> int:
    word = ((word ^ word >> 30) * _FIRST) & _WORD
    word = ((word ^ word >> 27) * _SECOND) & _WORD
    return word ^ word >> 31


def _to_signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


#: The rows of logits that are drawn: each with its sampling and its place in the sequence.
Draws = Mapping[int, tuple[Sampling, int]]
NO_DRAWS: Draws = {}


def draw(logits: torch.Tensor, begin: int, draws: Draws) -> torch.Tensor:
    """Adds the noise of the rows that are drawn, in place; begin: the number of the first row. logits: [N, V]."""
    for row, (sampling, place) in draws.items():
        # What is no number is told of by the scores.
        if begin <= row < begin + len(logits):
            logits[row - begin] = sampling.drawn(logits[row - begin], place)
    return logits


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
        draws: Draws = NO_DRAWS,
    ) -> ClassScores:
        """Returns the scores at N positions.

        hidden: [N, D]; held: [N] int64, the token of each, -1 for none. bans: positions (0 to N - 1) with a token that
        shall have no probability there. draws: positions whose tokens are drawn.
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
            logits = _without(draw(logits, low, draws), low, bans).cpu()
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
        draws: Draws = NO_DRAWS,
    ) -> None:
        """Writes the scores at N positions into `out`, on the device; nothing of the size of the vocabulary is copied.

        held: [N] int64, on the device. total, best and token of `out` are [N * C]. The others are as for `scores`.
        """
        order = self._order.to(hidden.device)
        first = torch.from_numpy(self._first).to(hidden.device)
        step = max(1, DEVICE_LOGITS // len(self.order))
        for low in range(0, len(hidden), step):
            logits = decoder.logits(hidden[low : low + step])
            logits = _without(draw(logits, low, draws), low, bans).float()
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
