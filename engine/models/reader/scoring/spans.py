"""From pointer scores to candidates (spans, readings, and the texts that the slots accept), and the scores of slots.

The scores of a request's slots are first those in each window, then those of the canvas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.model import Candidate, Scores
from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader, word_ends, word_starts
from cinnabar.engine.models.reader.inputs.mixed_choices import MixedSlot
from cinnabar.engine.models.reader.inputs.tensors import Sheet, Window
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.network.encoder import FLOOR, DecoderOutput
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.readings.codes import account_at
from cinnabar.schemas.form.form import Slot

#: The number of starts for each slot and window, and of ends for each start.
STARTS, ENDS = 8, 2
#: The most candidates of a slot.
CANDIDATES = 8
#: For texts without a pattern, spans less likely than the likeliest by this are not read: none was ever chosen.
NEGLIGIBLE = 9.0
#: The text, no JSON, of a code that is none of the options of a mixed slot.
UNLISTED = b""
#: Candidates by text, each with the logarithm of its probability.
Merged = dict[bytes, tuple[float, Candidate]]


@dataclass(frozen=True, slots=True)
class Pointed:
    """A value that a slot points at: its spans, as characters of the passage, and its log probability."""

    spans: tuple[tuple[int, int], ...]
    log_probability: float

    @property
    def start(self) -> int:
        """The first character."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """The character behind the last one."""
        return self.spans[-1][1]


def start_masks(
    slots: list[Slot], typed: list[bool], reader: MentionReader, pieces: Pieces, window: Window, width: int
) -> npt.NDArray[np.bool_]:
    """Returns the pieces at which each slot's values may start: [S, T]."""
    words = np.zeros(width, bool)
    words[1 : window.last - window.first + 1] = word_starts(pieces.case[window.first : window.last])
    rows = []
    known: dict[int, npt.NDArray[np.bool_]] = {}
    for slot, is_typed in zip(slots, typed, strict=True):
        if slot.options:
            rows.append(np.zeros(width, bool))
            continue
        if not is_typed:
            rows.append(words)
            continue
        if id(slot.automaton) not in known:
            mask = np.zeros(width, bool)
            mask[reader.places(slot, pieces, window.first, window.last) - window.first + 1] = True
            known[id(slot.automaton)] = mask & words
        rows.append(known[id(slot.automaton)])
    return np.stack(rows)


def point(
    network: Network, decoded: DecoderOutput, page: Sheet, starts: Tensor, allowed: Tensor, end_words: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns the likeliest spans: starts, ends [N, S, STARTS, ENDS] places, their log probabilities, allowed mass.

    starts: [N, S, T] from the network; allowed: [N, S, T] bool; end_words: [N, T] bool. The allowed mass is [N, S]: the
    logarithm of the share of the start pointer's probability that lies on allowed pieces, before the others are masked.
    """
    scores = starts.float()
    everywhere = torch.where(page.mask[:, None], scores, FLOOR)
    masked = torch.where(allowed, scores, FLOOR)
    mass = masked.logsumexp(-1) - everywhere.logsumexp(-1)
    top, start = masked.log_softmax(-1).topk(min(STARTS, masked.shape[-1]), -1)
    tails = network.ends(decoded, start, page.line).float()
    tails = torch.where(end_words[:, None, None], tails, FLOOR)
    end_top, end = tails.log_softmax(-1).topk(min(ENDS, tails.shape[-1]), -1)
    both = top[..., None] + end_top
    both = torch.where(allowed.gather(2, start)[..., None], both, FLOOR)
    return start[..., None].expand_as(end), end, both, mass


def end_mask(pieces: Pieces, window: Window, width: int) -> npt.NDArray[np.bool_]:
    """Returns the pieces at which spans may end: [T]."""
    mask = np.zeros(width, bool)
    mask[1 : window.last - window.first + 1] = word_ends(pieces.case[window.first : window.last])
    return mask


def spans_in_window(
    starts: list[list[int]], ends: list[list[int]], logs: list[list[float]], columns: Columns, window: Window
) -> list[Pointed]:
    """Returns the spans of one slot as characters of the passage."""
    pointed = []
    for start_row, end_row, log_row in zip(starts, ends, logs, strict=True):
        for a, b, log in zip(start_row, end_row, log_row, strict=True):
            if log > FLOOR / 2 and b >= a:
                first, last = a - 1 + window.first, b - 1 + window.first
                if last < window.last:
                    pointed.append(Pointed(columns.spans(first, last), log))
    return pointed


def candidates_of(
    slot: Slot, typed: bool, pointed: list[Pointed], reader: MentionReader
) -> tuple[list[Candidate], list[float]]:
    """Returns the texts that a slot may copy, with their log probabilities, the likeliest first.

    Spans with the same reading are one candidate: its probability is their sum, its evidence the likeliest span. A
    typed slot takes only whole mentions: of those at the start, the one with the nearest end.
    """
    if slot.free and pointed:
        least = max(p.log_probability for p in pointed) - NEGLIGIBLE
        pointed = [p for p in pointed if p.log_probability >= least]
    texts: dict[bytes, tuple[float, Pointed]] = {}
    for p in pointed:
        if typed:
            mentions = reader.mentions_at(slot, p.start)
            if not mentions:
                continue
            start, end, read = min(mentions, key=lambda m: (abs(m[1] - p.end), -m[1]))
            p = Pointed(((min(start, p.start), end),), p.log_probability)
        else:
            # An account number is a value as a whole, also over the end of a line.
            account = account_at(reader.text, p.start)
            if account is not None and p.end < account[0]:
                p = Pointed(((p.start, account[0]),), p.log_probability)
            reading = reader.read(slot, *p.spans)
            if isinstance(slot, MixedSlot):
                reading = reading if reading is not None and slot.takes(reading) else None
                if reading is None and slot.is_unlisted(reader.readings(*p.spans)):
                    reading = UNLISTED
            if reading is None:
                continue
            read = reading
        if read in texts:
            total, best = texts[read]
            texts[read] = (log_sum(total, p.log_probability), max(best, p, key=lambda x: x.log_probability))
        else:
            texts[read] = (p.log_probability, p)
    ranked = sorted(texts.items(), key=lambda t: (-t[1][0], t[1][1].start))[:CANDIDATES]
    return [Candidate(t, p.spans) for t, (_, p) in ranked], [log for _, (log, _) in ranked]


def log_sum(a: float, b: float) -> float:
    """Returns the logarithm of the sum of two probabilities, from their logarithms."""
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high)) if high > -math.inf else high


def add_candidate(found: Merged, candidate: Candidate, log: float) -> None:
    """Adds a candidate to those found; of two with the same text the likelier one gives the spans and origin."""
    before, other = found.get(candidate.text, (-math.inf, candidate))
    found[candidate.text] = (log_sum(before, log), other if before >= log else candidate)


@dataclass(slots=True)
class WindowScores:
    """The scores of one slot in each window that it looked at, before they become one answer.

    absent: logits of the value's absence; mass: the logarithm of the share of the start pointer's probability that lies
    on allowed pieces; pointed: the log probabilities of the spans at `places` (starts, ends); options: log
    probabilities; passages: the one that tells each option, if they were compared with any; states: those of a group of
    views, [N, S, H], with the view and the slot's place in it.
    """

    absent: list[float] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    pointed: list[list[list[float]]] = field(default_factory=list)
    places: list[tuple[list[list[int]], list[list[int]]]] = field(default_factory=list)
    options: list[list[float]] = field(default_factory=list)
    passages: list[tuple[int, int]] = field(default_factory=list)
    states: list[tuple[Tensor, int, int]] = field(default_factory=list)

    def add(
        self,
        window: int,
        state: tuple[Tensor, int, int],
        absent: float,
        mass: float,
        pointed: list[list[float]],
        starts: list[list[int]],
        ends: list[list[int]],
    ) -> None:
        """Adds the scores in one more window; the caller adds those of options."""
        self.windows.append(window)
        self.states.append(state)
        self.absent.append(absent)
        self.mass.append(mass)
        self.pointed.append(pointed)
        self.places.append((starts, ends))

    def likeliest(self, count: int) -> list[int]:
        """Returns the windows that most likely hold the slot's value, the likeliest first."""
        order = sorted(range(len(self.absent)), key=self.absent.__getitem__)
        return [self.windows[i] for i in order[:count]]

    def likeliest_state(self) -> Tensor:
        """Returns the slot's state, [H], in the window that most likely holds its value."""
        states, view, slot = self.states[self.absent.index(min(self.absent))]
        return states[view, slot]


class Answers:
    """The scores of a canvas while they are gathered."""

    def __init__(self, slots: int) -> None:
        self.candidates: list[list[Candidate]] = [[] for _ in range(slots)]
        self.logits: list[list[float]] = [[] for _ in range(slots)]
        # A passage without text has no values.
        self.absent = [0.0] * slots
        self.refused = [-math.inf] * slots
        self.classes: set[int] = set()

    def scores(self, device: torch.device) -> Scores:
        """Returns all scores as tensors."""
        most = max((len(c) for c in self.logits), default=0)
        logits = [[*own, *[-math.inf] * (most - len(own))] for own in self.logits]
        return Scores(
            candidates=self.candidates,
            candidate_logits=torch.tensor(logits, dtype=torch.float32, device=device).view(len(logits), most),
            absent_logit=torch.tensor(self.absent, device=device),
            refused_logit=torch.tensor(self.refused, device=device),
            classes=frozenset(self.classes),
        )
