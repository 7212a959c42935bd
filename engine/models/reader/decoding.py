"""The decoding of slots in the windows of a passage: the network's scores plus the scores of the priors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.choices import is_compared, selectors
from cinnabar.engine.models.integer_products import IntegerLinear
from cinnabar.engine.models.reader.answers.choices import (
    option_scores,
    option_support,
    printed_options,
    tells_presence,
    text_near,
)
from cinnabar.engine.models.reader.answers.described_options import OptionComparer, weighed
from cinnabar.engine.models.reader.answers.scores import WindowScores
from cinnabar.engine.models.reader.answers.spans import end_mask, point, start_masks
from cinnabar.engine.models.reader.form_memory import FormMemory
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import ROWS, Board, Sheet, to_device
from cinnabar.engine.models.reader.inputs.views import Place, View, write_board
from cinnabar.engine.models.reader.inputs.windows import phrases, sheet
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.memory import DecidedChoice, Memory
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.regions import regions
from cinnabar.engine.models.reader.network.states import Decoded, WindowStates
from cinnabar.engine.models.reader.network.support import SIGNS
from cinnabar.engine.models.reader.priors.absence_prior import absence_prior
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page, WordVectors
from cinnabar.engine.models.reader.priors.prior import PriorInput
from cinnabar.engine.models.reader.priors.priors import Priors
from cinnabar.engine.precision import DEFAULT, Precision
from cinnabar.engine.time_limit import check_time
from cinnabar.schemas.form.form import Form, Slot

#: The number of views that go through the decoder together, and those of one request among them.
_VIEWS_AT_ONCE = 8
#: The slots of views that go through it together are padded to a multiple of this.
_SLOTS_PADDED = 8
#: The number of such groups whose word matches with the page are kept over the steps, at most 3 MB each.
_MATCHES_KEPT = 3


@dataclass(frozen=True, slots=True)
class FormRequest:
    """The slots of one request: `own` are their places on the canvas, `places` those of the rows that they lie in."""

    form: Form
    questions: FormMemory
    memory: Memory
    canvas: Canvas
    own: Sequence[int]
    places: Mapping[int, Place]

    def slot(self, k: int) -> Slot:
        """Returns the form's slot at this place on the canvas."""
        return self.canvas.instances[k].slot

    def is_frozen(self, k: int) -> bool:
        """Returns whether the slot's value was known from the start, so that it is not asked for."""
        return bool(self.canvas.known) and self.canvas.known[k]


@dataclass(frozen=True, slots=True)
class WindowsAsked:
    """Views of one request, and the scores of its slots, to which theirs are added."""

    request: FormRequest
    views: Sequence[View]
    found: Mapping[int, WindowScores]

    def parts(self) -> Iterator[WindowsAsked]:
        """Yields the views in groups that go through the decoder together."""
        for first in range(0, len(self.views), _VIEWS_AT_ONCE):
            yield WindowsAsked(self.request, self.views[first : first + _VIEWS_AT_ONCE], self.found)

    @property
    def windows(self) -> list[int]:
        """The window of each view."""
        return [view.window for view in self.views]

    def asked(self, view: View) -> list[int]:
        """Returns the slots of a view that are asked for; they stand before its frozen ones."""
        return [k for k in view.slots if not self.request.is_frozen(k)]

    def shape(self) -> tuple[int, int, int]:
        """Returns the padded numbers of pieces, of slots, and of slots asked for in a view."""
        slots = max(len(view.slots) for view in self.views)
        asked = max(len(self.asked(view)) for view in self.views)
        return self.request.memory.states.shape[1], _padded(slots), _padded(asked)


def _padded(slots: int) -> int:
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
        self.config = config
        self.low_precision = precision == "bfloat16"
        self.batches = isinstance(network.ask, IntegerLinear)
        self.comparer = comparer

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
        for first in range(0, len(memory.windows), _VIEWS_AT_ONCE):
            check_time()
            windows = range(first, min(first + _VIEWS_AT_ONCE, len(memory.windows)))
            page = self._page([(memory, w) for w in windows], above=False)
            board = Board.blank(len(windows), count, page.ids.shape[1])
            board.question[:], board.mask[:], board.kind[:] = torch.tensor(questions.arrays), True, ROWS
            board = to_device(board, self.device)
            matches = self._matches(memory, windows, board, questions)
            with self.precision():
                projected = self._projected(memory, windows)
                decoded = self.network.decode(projected, page, board, questions.read.vectors, matches)
                logits = self.network.rows(decoded).float()
            chosen = [memory.windows[w] for w in windows]
            prior = self._priors(form, memory).rows(chosen, form.arrays, logits.shape[-1])
            scores = logits.cpu().numpy() + prior
            for of_window, w in zip(scores, chosen, strict=True):
                core = of_window[:, 1 + w.core_first - w.first : 1 + w.core_last - w.first]
                odds[:, w.core_first : w.core_last] = core
        return odds

    def decode(self, asked: Sequence[WindowsAsked]) -> None:
        """Adds the scores of the slots that are asked for, for each of their views.

        Views of several requests go through the network together if that changes no score: products of integers give
        each row the same result in every batch. Others go alone.
        """
        by_shape: dict[tuple[int, int, int], list[list[WindowsAsked]]] = {}
        for one in asked:
            for part in one.parts():
                batches = by_shape.setdefault(part.shape(), [])
                room = _VIEWS_AT_ONCE - sum(len(other.views) for other in batches[-1]) if batches else 0
                if self.batches and len(part.views) <= room:
                    batches[-1].append(part)
                else:
                    batches.append([part])
        for shape, batches in by_shape.items():
            for batch in batches:
                check_time()
                self._decode(batch, *shape)

    def _decode(self, batch: Sequence[WindowsAsked], width: int, slots: int, size: int) -> None:
        looks = [(one, view) for one in batch for view in one.views]
        page = self._page([(one.request.memory, view.window) for one, view in looks], above=False)
        board = self._board(batch, slots, width)
        at = np.cumsum([0, *(len(one.views) for one in batch)]).tolist()
        matches = [
            self._matches(one.request.memory, one.windows, board.windows(first, last), one.request.questions)
            for one, first, last in zip(batch, at, at[1:], strict=False)
        ]
        with self.precision():
            parts = [self._projected(one.request.memory, one.windows) for one in batch]
            projected = WindowStates.cat(parts)
            vectors = self._vectors(batch, board)
            decoded = self.network.decode(projected, page, board, vectors, torch.cat(matches))
        decoded = Decoded(decoded.slots[:, :size], decoded.windows, decoded.pointer_bias[:, :size])
        # Each view lists its frozen slots last.
        asked = [one.asked(view) for one, view in looks]
        allowed, ends, prior = (self._on_device(array) for array in self._masks(batch, asked, size, width))
        support, most = self._support(looks, asked, size)
        with self.precision():
            scores = self.network.starts(decoded) + prior
            starts, stops, logs, mass = point(self.network, decoded, page, scores, allowed, ends)
            absent = self.network.absences(decoded, scores, allowed, most)
        if self.config.applies("absence_prior"):
            absent = absent + absence_prior(prior, regions(page, board)[:, :size], allowed, self.config)
        columns = (absent, mass, logs, starts, stops)
        of_views = zip(*(column.tolist() for column in columns), strict=True)
        for i, ((one, view), of_view) in enumerate(zip(looks, of_views, strict=True)):
            for j, (k, *scored) in enumerate(zip(asked[i], *of_view, strict=False)):
                found, state = one.found[k], decoded.slots[i, j]
                if (i, j) in support:
                    scored[0], options, found.passages = self._choice(
                        k, view.window, scored[0], state, support[i, j], one.request
                    )
                    found.options.append(options)
                found.add(view.window, state, *scored)

    def _board(self, batch: Sequence[WindowsAsked], slots: int, width: int) -> Board:
        """Returns the slots of the views as the network's board; each request has places among its own questions."""
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
        return to_device(board, self.device)

    def _vectors(self, batch: Sequence[WindowsAsked], board: Board) -> Tensor:
        """Returns the vectors of all requests' questions, and makes the board's places those among all of them."""
        first: dict[str, int] = {}
        vectors: list[Tensor] = []
        before: list[int] = []
        for one in batch:
            known = one.request.questions
            if known.fingerprint not in first:
                first[known.fingerprint] = sum(map(len, vectors))
                vectors.append(known.read.vectors)
            before += [first[known.fingerprint]] * len(one.views)
        board.question += torch.tensor(before, device=self.device)[:, None]
        return torch.cat(vectors)

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

    def _support(
        self, looks: Sequence[tuple[WindowsAsked, View]], asked: Sequence[list[int]], size: int
    ) -> tuple[dict[tuple[int, int], Tensor], Tensor]:
        """Returns how far each view's window supports the options of its slots: [O, SIGNS] by view and slot of it.

        The second result is the maximum over the options, [N, S, SIGNS] for S of `size`, 0 for slots without options.
        """
        support: dict[tuple[int, int], Tensor] = {}
        most = torch.zeros(len(looks), size, SIGNS, device=self.device)
        for i, ((one, view), own) in enumerate(zip(looks, asked, strict=True)):
            request = one.request
            for j, k in enumerate(own):
                if request.slot(k).options:
                    support[i, j] = option_support(
                        self.network, request.form, request.questions, request.memory, request.slot(k),
                        view.window, request.places.get(k),
                    )  # fmt: skip
                    most[i, j] = support[i, j].amax(0)
        return support, most

    def _on_device(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _choice(
        self, k: int, window: int, absent: float, state: Tensor, support: Tensor, request: FormRequest
    ) -> DecidedChoice:
        """Returns the log odds of a choice's absence in a window, the log probabilities of its options, and passages.

        If the likeliest option is not printed, the options are compared with the passages of the document.

        The first look decides. The values that other slots commit later say nothing about a choice, and they misled it:
        the currency of euro invoices became INR at .97 once number and total were committed. Mean F1 of twelve sets
        with choices is .643 with later looks and .646 without.
        """
        memory, slot, place = request.memory, request.slot(k), request.places.get(k)
        key = (request.form.fingerprint, slot.index, window, -1 if place is None else place.anchor)
        if key not in memory.choices:
            text, near = text_near(memory, place)
            printed = printed_options(request.questions, slot, near)
            options = option_scores(self.network, state, request.questions, slot, printed, support)
            best = options.index(max(options))
            applies = self.config.applies("printed_options") and printed[best]
            passages: list[tuple[int, int]] = []
            if applies and tells_presence(slot.options[best], text, near):
                absent -= self.config.printed_options.present
            own = is_compared(slot) and slot.index not in selectors(request.form)
            if self.comparer is not None and place is None and own and not printed[best]:
                compared = self.comparer.similarities(request.form, slot, memory)
                absent, options = weighed(absent, options, compared, printed, self.config.described_options)
                passages = compared.passages
            memory.choices[key] = absent, options, passages
        return memory.choices[key]

    def _page(self, windows: Sequence[tuple[Memory, int]], *, above: bool) -> Sheet:
        """Returns windows of the same padded width as tensors."""
        chosen = [(memory.pieces, memory.windows[w]) for memory, w in windows]
        return to_device(sheet(chosen, windows[0][0].states.shape[1], above=above), self.device)

    def _projected(self, memory: Memory, windows: Sequence[int]) -> WindowStates:
        """Returns the decoder's projections of these windows."""
        if memory.projected is not None:
            return memory.projected.windows(torch.tensor(windows, device=self.device))
        distinct = sorted(set(windows))
        at = torch.tensor([distinct.index(w) for w in windows], device=self.device)
        return self.network.project_windows(memory.states[distinct]).windows(at)

    def _matches(self, memory: Memory, windows: Sequence[int], board: Board, questions: FormMemory) -> Tensor:
        """Returns how similar the words of the board's questions are to those of these windows."""
        key = (questions.fingerprint, *windows, *board.question.flatten().tolist())
        found = memory.matched.get(key)
        if found is None:
            page = self._page([(memory, w) for w in windows], above=True)
            words = phrases([(memory.pieces, memory.windows[w]) for w in windows], self.wordpieces)
            with self.precision():
                found = self.network.matches(page, to_device(words, self.device), board, questions.questions)
            if len(memory.matched) < _MATCHES_KEPT:
                memory.matched[key] = found
        return found

    def _priors(self, form: Form, memory: Memory) -> Priors:
        """Returns the scores of the passage's words for the form, computed once."""
        found = memory.priors.get(form.fingerprint)
        if found is None:
            vectors, letters = self.network.encoder.words.weight, self.network.letters.weight
            words = WordVectors(vectors, letters, self.wordpieces)
            page = Page.of(memory.passage.text, memory.columns, words)
            found = memory.priors[form.fingerprint] = Priors(PriorInput(form, page, self.config))
        return found
