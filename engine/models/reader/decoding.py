"""The decoding of slots in the windows of a passage: the network's scores plus the scores of the priors.

`BatchSizes` says how much of it is done at once, by the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.fill.choices import is_compared, selectors
from cinnabar.engine.models.int8_matmul import Int8Linear
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import ROWS, Board, Sheet, phrases, pieces_above, sheet, to_device
from cinnabar.engine.models.reader.inputs.views import SlotView, write_board
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.memory.form import FormMemory, FormRequest
from cinnabar.engine.models.reader.memory.passage import DecidedChoice, Memory
from cinnabar.engine.models.reader.network.encoder import DecoderOutput, WindowStates
from cinnabar.engine.models.reader.network.network import Network, regions
from cinnabar.engine.models.reader.network.support import SIGNS
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page, WordVectors
from cinnabar.engine.models.reader.priors.prior import PriorInput
from cinnabar.engine.models.reader.priors.priors import Priors, absence_prior
from cinnabar.engine.models.reader.scoring.choices import (
    OptionLook,
    option_scores,
    option_support,
    printed_options,
    tells_presence,
    text_near,
)
from cinnabar.engine.models.reader.scoring.described_options import OptionComparer, weigh_options
from cinnabar.engine.models.reader.scoring.spans import WindowScores, end_mask, point, start_masks
from cinnabar.engine.settings import DEFAULT, Precision
from cinnabar.engine.work_time import check_time
from cinnabar.schemas.form.form import Form

#: The slots of views that go through it together are padded to a multiple of this.
_SLOTS_PADDED = 8
#: The number of views of a passage whose word matches with the page are kept over the steps, at most .4 MB each.
_MATCHES_KEPT = 24
#: The slots times pieces, those before a window among them, whose words are matched together: 60 MB.
_MATCHED_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class WindowsAsked:
    """Views of one request, and the scores of its slots, to which theirs are added."""

    request: FormRequest
    views: Sequence[SlotView]
    scores: Mapping[int, WindowScores]

    def parts(self, most: int) -> Iterator[WindowsAsked]:
        """Yields the views in groups of at most so many."""
        for first in range(0, len(self.views), most):
            yield WindowsAsked(self.request, self.views[first : first + most], self.scores)

    def asked_slots(self, view: SlotView) -> list[int]:
        """Returns the slots of a view that are asked for; they stand before its frozen ones."""
        return [k for k in view.slots if not self.request.is_frozen(k)]

    def questions(self) -> list[int]:
        """Returns the questions of all of the request's slots, ascending."""
        request = self.request
        return sorted({request.questions.slots[request.slot(k).index] for k in request.own})

    def shape(self) -> tuple[int, int, int]:
        """Returns the padded numbers of pieces, of slots, and of slots asked for in a view."""
        slots = max(len(view.slots) for view in self.views)
        asked = max(len(self.asked_slots(view)) for view in self.views)
        return self.request.memory.states.shape[1], _padded_count(slots), _padded_count(asked)


def _padded_count(slots: int) -> int:
    """Returns the number of slots that so many are padded to."""
    return -(-slots // _SLOTS_PADDED) * _SLOTS_PADDED


class WindowDecoder:
    """Decodes slots in windows, and adds the priors to the network's scores."""

    def __init__(
        self,
        network: Network,
        wordpieces: WordPieces,
        device: torch.device,
        config: PriorConfig,
        precision: Precision = DEFAULT,
        comparer: OptionComparer | None = None,
    ) -> None:
        self.network = network
        self.wordpieces = wordpieces
        self.device = device
        self.at_once = _PROCESSOR if device.type == "cpu" else _ACCELERATOR
        self.config = config
        self.low_precision = precision == "bfloat16"
        self.batches = isinstance(network.ask, Int8Linear)
        self.comparer = comparer
        self._words: WordVectors | None = None

    def precision(self) -> torch.autocast:
        """Returns a context for matrix products in bfloat16, if the reader has that precision."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.low_precision)

    def casts_kept(self) -> torch.autocast:
        """Returns a context around several `precision`: it casts the weights once for all of them."""
        return torch.autocast(self.device.type, enabled=False)

    def row_odds(self, form: Form, questions: FormMemory, memory: Memory) -> Floats:
        """Returns the log odds that an item of each of A arrays begins at each of T pieces: [A, T]."""
        count = len(form.arrays)
        odds = np.full((count, len(memory.pieces)), -np.inf, np.float32)
        for first in range(0, len(memory.windows), self.at_once.views):
            check_time()
            windows = [(memory, w) for w in range(first, min(first + self.at_once.views, len(memory.windows)))]
            page = self._page(windows, above=False)
            board = Board.blank(len(windows), count, page.ids.shape[1])
            board.question[:], board.mask[:], board.kind[:] = torch.tensor(questions.arrays), True, ROWS
            matches = self._matches(windows, board, questions, [questions.arrays] * len(windows))
            board = to_device(board, self.device)
            with self.precision():
                projected = self._project(windows)
                decoded = self.network.decode(projected, page, board, questions.read.vectors, matches)
                logits = self.network.rows(decoded).float()
            chosen = [memory.windows[w] for _, w in windows]
            prior = self._priors(form, memory).rows(chosen, form.arrays, logits.shape[-1])
            scores = logits.cpu().numpy() + prior
            for of_window, w in zip(scores, chosen, strict=True):
                core = of_window[:, 1 + w.core_first - w.first : 1 + w.core_last - w.first]
                odds[:, w.core_first : w.core_last] = core
        return odds

    def decode(self, asked: Sequence[WindowsAsked]) -> None:
        """Adds the scores of the slots that are asked for, for each of their views.

        Views of several requests for one form go through the network together if that changes no score: products of
        integers give each row the same result in every batch. Others go alone.
        """
        by_shape: dict[tuple[str, int, int, int], list[list[WindowsAsked]]] = {}
        for one in asked:
            for part in one.parts(self.at_once.views):
                batches = by_shape.setdefault((part.request.questions.fingerprint, *part.shape()), [])
                room = self.at_once.views - sum(len(other.views) for other in batches[-1]) if batches else 0
                if self.batches and len(part.views) <= room:
                    batches[-1].append(part)
                else:
                    batches.append([part])
        for (_, *shape), batches in by_shape.items():
            for batch in batches:
                check_time()
                self._decode(batch, *shape)

    def _decode(self, batch: Sequence[WindowsAsked], width: int, slots: int, size: int) -> None:
        form, questions = batch[0].request.form, batch[0].request.questions
        looks = [(one, view) for one in batch for view in one.views]
        windows = [(one.request.memory, view.window) for one, view in looks]
        page = self._page(windows, above=False)
        board = self._board(batch, slots, width)
        matches = self._matches(windows, board, questions, [one.questions() for one in batch for _ in one.views])
        board = to_device(board, self.device)
        with self.precision():
            projected = self._project(windows)
            decoded = self.network.decode(projected, page, board, questions.read.vectors, matches)
        decoded = DecoderOutput(decoded.slots[:, :size], decoded.windows, decoded.pointer_bias[:, :size])
        # Each view lists its frozen slots last.
        asked = [one.asked_slots(view) for one, view in looks]
        allowed, ends, prior = (self._on_device(array) for array in self._masks(batch, asked, size, width))
        choices = [
            OptionLook(one.request.memory, one.request.slot(k), view.window, one.request.places.get(k), i, j)
            for i, ((one, view), own) in enumerate(zip(looks, asked, strict=True))
            for j, k in enumerate(own)
            if one.request.slot(k).options
        ]
        support = option_support(self.network, form, questions, choices, page, projected.states)
        most = torch.zeros(len(looks), size, SIGNS, device=self.device)
        if choices:
            at = torch.tensor([(look.view, look.slot_at) for look in choices], device=self.device).unbind(1)
            most.index_put_(at, torch.stack([each for _, each in support]))
        with self.precision():
            scores = self.network.starts(decoded) + prior
            starts, stops, logs, mass = point(self.network, decoded, page, scores, allowed, ends)
            absent = self.network.absences(decoded, scores, allowed, most)
        if self.config.applies("absence_prior"):
            absent = absent + absence_prior(prior, regions(page, board)[:, :size], allowed, self.config)
        columns = [column.tolist() for column in (absent, mass, logs, starts, stops)]
        decided = self._choices(form, questions, choices, decoded.slots, support, columns[0])
        of_views = zip(*columns, strict=True)
        for i, ((one, view), of_view) in enumerate(zip(looks, of_views, strict=True)):
            for j, (k, *scored) in enumerate(zip(asked[i], *of_view, strict=False)):
                of_slot = one.scores[k]
                if (i, j) in decided:
                    scored[0], options, of_slot.passages = decided[i, j]
                    of_slot.options.append(options)
                of_slot.add(view.window, (decoded.slots, i, j), *scored)

    def _board(self, batch: Sequence[WindowsAsked], slots: int, width: int) -> Board:
        """Returns the slots of the views as the network's board, on the CPU."""
        board = Board.blank(sum(len(one.views) for one in batch), slots, width)
        arrays = board.arrays()
        at = 0
        for one in batch:
            request, memory = one.request, one.request.memory
            write_board(
                arrays, at, one.views, request.canvas, request.questions.slots, request.places, memory.windows,
                memory.pieces, self.wordpieces, width,
            )  # fmt: skip
            at += len(one.views)
        return board

    def _masks(
        self, batch: Sequence[WindowsAsked], asked: Sequence[list[int]], size: int, width: int
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], Floats]:
        """Returns the pieces at which each view's slots may start, [N, S, T], and end, [N, T], and their priors.

        The priors are the log odds [N, S, T] of a start.
        """
        allowed = np.zeros((len(asked), size, width), bool)
        ends = np.zeros((len(asked), width), bool)
        priors = []
        at = 0
        for one in batch:
            memory, windows, slots = one.request.memory, [], []
            for view in one.views:
                window, own = memory.windows[view.window], [one.request.slot(k) for k in asked[at]]
                typed = [kind_of(slot) in TYPED for slot in own]
                allowed[at, : len(own)] = start_masks(own, typed, memory.reader, memory.pieces, window, width)
                ends[at] = end_mask(memory.pieces, window, width)
                windows.append(window)
                slots.append(own)
                at += 1
            priors.append(self._priors(one.request.form, memory).starts(windows, slots, size, width))
        return allowed, ends, np.concatenate(priors)

    def _on_device(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _choices(
        self,
        form: Form,
        questions: FormMemory,
        looks: Sequence[OptionLook],
        slots: Tensor,
        support: Sequence[tuple[Tensor, Tensor]],
        absent: Sequence[Sequence[float]],
    ) -> dict[tuple[int, int], DecidedChoice]:
        """Returns for each look at a choice its log odds of absence, log probabilities of options, and passages.

        The keys are views with the places of slots among theirs. slots: [N, S, H], their states; absent: N lists, the
        log odds of absence by the network.
        If the likeliest option is not printed, the options are compared with the passages of the document.

        The first look decides. The values that other slots commit later say nothing about a choice, and they misled it:
        the currency of euro invoices became INR at .97 once number and total were committed. Mean F1 of twelve sets
        with choices is .643 with later looks and .646 without.
        """
        undecided: dict[int, list[int]] = {}
        keys = [
            (form.fingerprint, look.slot.index, look.window, -1 if look.place is None else look.place.anchor)
            for look in looks
        ]
        for at, (look, key) in enumerate(zip(looks, keys, strict=True)):
            if key not in look.memory.choices:
                undecided.setdefault(look.slot.index, []).append(at)
        compared: list[tuple[int, float, list[float], list[bool]]] = []
        for own in undecided.values():
            slot = looks[own[0]].slot
            texts = [text_near(looks[at].memory, looks[at].place) for at in own]
            printed = [printed_options(questions, slot, near) for _, near in texts]
            places = torch.tensor([(looks[at].view, looks[at].slot_at) for at in own], device=self.device)
            supported = torch.stack([support[at][0] for at in own])
            scored = option_scores(self.network, slots[places.unbind(1)], questions, slot, printed, supported)
            own_meaning = is_compared(slot) and slot.index not in selectors(form)
            for at, (text, near), marks, options in zip(own, texts, printed, scored, strict=True):
                look, best = looks[at], options.index(max(options))
                odds = absent[look.view][look.slot_at]
                if (
                    self.config.applies("printed_options")
                    and marks[best]
                    and tells_presence(slot.options[best], text, near, slot.words_of(best))
                ):
                    odds -= self.config.printed_options.present
                look.memory.choices[keys[at]] = odds, options, []
                if self.comparer is not None and look.place is None and own_meaning and not marks[best]:
                    compared.append((at, odds, options, marks))
        if self.comparer is not None and compared:
            self.comparer.read([looks[at].memory for at, *_ in compared])
            for at, odds, options, marks in compared:
                meant = self.comparer.similarities(form, looks[at].slot, looks[at].memory)
                odds, options = weigh_options(odds, options, meant, marks, self.config.described_options)
                looks[at].memory.choices[keys[at]] = odds, options, meant.passages
        return {(look.view, look.slot_at): look.memory.choices[key] for look, key in zip(looks, keys, strict=True)}

    def _page(self, windows: Sequence[tuple[Memory, int]], *, above: bool) -> Sheet:
        """Returns windows of the same padded width as tensors."""
        chosen = [(memory.pieces, memory.windows[w]) for memory, w in windows]
        return to_device(sheet(chosen, windows[0][0].states.shape[1], above=above), self.device)

    def _project(self, windows: Sequence[tuple[Memory, int]]) -> WindowStates:
        """Returns the decoder's projections of these windows."""
        parts = []
        for kept, run in groupby(windows, key=lambda one: one[0].projected):
            own = list(run)
            if kept is not None:
                parts.append(kept.windows([memory.first + w for memory, w in own]))
                continue
            for memory, alone in groupby(own, key=lambda one: one[0]):
                chosen = [w for _, w in alone]
                distinct = sorted(set(chosen))
                projected = self.network.project_windows(memory.states[distinct])
                parts.append(projected.windows([distinct.index(w) for w in chosen]))
        return WindowStates.cat(parts)

    def _matches(
        self, windows: Sequence[tuple[Memory, int]], board: Board, questions: FormMemory, asked_of: Sequence[list[int]]
    ) -> Tensor:
        """Returns how similar the words of the board's questions are to those of these windows; they are kept.

        asked_of: for each window all questions that are asked of its document.
        """
        asked = board.question.numpy()
        keys = [(questions.fingerprint, w, asked[row].tobytes()) for row, (_, w) in enumerate(windows)]
        matches: list[Tensor | None] = [memory.matched.get(key) for (memory, _), key in zip(windows, keys, strict=True)]
        missing = [row for row, own in enumerate(matches) if own is None]
        widest = max((pieces_above(memory.windows[w]) for memory, w in windows), default=0)
        most = max(map(len, asked_of))
        every = np.asarray([[*own, *own[-1:] * (most - len(own))] for own in asked_of], np.int64)
        together = max(1, _MATCHED_AT_ONCE // (asked.shape[1] * (widest + windows[0][0].states.shape[1])))
        for first in range(0, len(missing), together):
            rows = missing[first : first + together]
            chosen = [windows[row] for row in rows]
            page, part = self._page(chosen, above=True), to_device(board.windows(rows), self.device)
            words = phrases([(memory.pieces, memory.windows[w]) for memory, w in chosen], self.wordpieces)
            words, of_document = to_device(words, self.device), self._on_device(every[rows])
            with self.precision():
                read = self.network.matches(page, words, part, questions.questions, of_document)
            for row, own in zip(rows, read.unbind(), strict=True):
                matches[row], memory = own, windows[row][0]
                if len(memory.matched) < _MATCHES_KEPT:
                    memory.matched[keys[row]] = own
            if len(rows) == len(windows):
                return read
        return torch.stack([own for own in matches if own is not None])

    def _priors(self, form: Form, memory: Memory) -> Priors:
        """Returns the scores of the passage's words for the form, computed once."""
        priors = memory.priors.get(form.fingerprint)
        if priors is None:
            if self._words is None:
                tables = (self.network.encoder.words.weight, self.network.letters.weight)
                vectors, ngrams = (table.detach().float().cpu().numpy() for table in tables)
                self._words = WordVectors(vectors, ngrams, self.wordpieces)
            page = Page.of(memory.passage.text, memory.columns, self._words)
            priors = memory.priors[form.fingerprint] = Priors(PriorInput(form, page, self.config))
        return priors


@dataclass(frozen=True, slots=True)
class BatchSizes:
    """The most that one operation of the reader gets; no state and no score depends on them.

    pieces: word pieces that the encoder reads together, with 30 KB each. windows: windows that are projected together,
    with 14 MB each. views: views that go through the decoder together, and those of one request among them, with 4 MB
    each.
    """

    pieces: int
    windows: int
    views: int


# On a processor small batches are as fast as large ones, because its caches are small: 100 contracts took 14.6 seconds
# of one core and 968 MB at the peak, and with four times the views and twice the rest 15.3 seconds and 1,377 MB.
_PROCESSOR = BatchSizes(pieces=3_840, windows=6, views=12)
_ACCELERATOR = BatchSizes(pieces=7_680, windows=12, views=48)
