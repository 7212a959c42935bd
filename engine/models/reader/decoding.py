"""The decoding of slots in the windows of a passage: the network's scores plus the scores of the priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.choices import is_compared, selectors
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
from cinnabar.engine.models.reader.inputs.views import Place, View, board_of
from cinnabar.engine.models.reader.inputs.windows import phrases, sheet
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.memory import DecidedChoice, Memory
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.regions import regions
from cinnabar.engine.models.reader.network.states import Decoded
from cinnabar.engine.models.reader.network.support import SIGNS
from cinnabar.engine.models.reader.priors.absence_prior import absence_prior
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page, WordVectors
from cinnabar.engine.models.reader.priors.prior import PriorInput
from cinnabar.engine.models.reader.priors.priors import Priors
from cinnabar.engine.precision import DEFAULT, Precision
from cinnabar.engine.time_limit import check_time
from cinnabar.schemas.form.form import Form, Slot

#: The number of views that go through the decoder together.
_VIEWS_AT_ONCE = 8
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


class WindowDecoder:
    """Decodes slots in windows, and adds the priors to the network's scores."""

    def __init__(
        self, network: Network,
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
            page = self._page(memory, windows)
            board = Board.blank(len(windows), count, page.ids.shape[1])
            board.question[:], board.mask[:], board.kind[:] = torch.tensor(questions.arrays), True, ROWS
            decoded = self._decode_board(memory, windows, page, to_device(board, self.device), questions)
            with self.precision():
                logits = self.network.rows(decoded).float()
            chosen = [memory.windows[w] for w in windows]
            prior = self._priors(form, memory).rows(chosen, form.arrays, logits.shape[-1])
            scores = (logits + prior.to(self.device)).cpu().numpy()
            for of_window, w in zip(scores, chosen, strict=True):
                core = of_window[:, 1 + w.core_first - w.first : 1 + w.core_last - w.first]
                odds[:, w.core_first : w.core_last] = core
        return odds

    def decode(self, views: Sequence[View], request: FormRequest, found: Mapping[int, WindowScores]) -> None:
        """Adds the scores of the slots that are asked for to `found`, for each of their views."""
        for i in range(0, len(views), _VIEWS_AT_ONCE):
            check_time()
            self._decode(views[i : i + _VIEWS_AT_ONCE], request, found)

    def _decode(self, views: Sequence[View], request: FormRequest, found: Mapping[int, WindowScores]) -> None:
        memory = request.memory
        chosen = [v.window for v in views]
        windows = [memory.windows[w] for w in chosen]
        page = self._page(memory, chosen)
        board = to_device(self._board(views, request, page), self.device)
        decoded = self._decode_board(memory, chosen, page, board, request.questions)
        # Each view lists its frozen slots last.
        asked = [[k for k in v.slots if not request.is_frozen(k)] for v in views]
        slots = [[request.slot(k) for k in own] for own in asked]
        size, width = max(map(len, asked)), page.ids.shape[1]
        decoded = Decoded(decoded.slots[:, :size], decoded.windows, decoded.pointer_bias[:, :size])
        allowed = self._allowed(slots, chosen, memory, size, width).to(self.device)
        ends = torch.stack([end_mask(memory.pieces, w, width) for w in windows]).to(self.device)
        support, most = self._support(asked, chosen, request, size)
        prior = self._priors(request.form, memory).starts(windows, slots, width).to(self.device)
        with self.precision():
            scores = self.network.starts(decoded) + prior
            starts, stops, logs, mass = point(self.network, decoded, page, scores, allowed, ends)
            absent = self.network.absences(decoded, scores, allowed, most)
        if self.config.applies("absence_prior"):
            absent = absent + absence_prior(prior, regions(page, board)[:, :size], allowed, self.config)
        columns = (absent, mass, logs, starts, stops)
        of_views = zip(*(column.tolist() for column in columns), strict=True)
        for i, (window, of_view) in enumerate(zip(chosen, of_views, strict=True)):
            for j, (k, *scored) in enumerate(zip(asked[i], *of_view, strict=False)):
                if k in support:
                    scored[0], options, found[k].passages = self._choice(
                        k, window, scored[0], decoded.slots[i, j], support[k], request
                    )
                    found[k].options.append(options)
                found[k].add(window, decoded.slots[i, j], *scored)

    def _board(self, views: Sequence[View], request: FormRequest, page: Sheet) -> Board:
        """Returns the slots of the views as the network's board."""
        memory = request.memory
        return board_of(
            views,
            request.canvas,
            request.questions.slots,
            request.places,
            memory.windows,
            memory.pieces,
            self.wordpieces,
            page.ids.shape[1],
        )

    def _allowed(
        self, slots: Sequence[list[Slot]], chosen: Sequence[int], memory: Memory, size: int, width: int
    ) -> Tensor:
        """Returns the pieces at which each view's slots may start: [N, S, T] bool, for S of `size`, T of `width`."""
        allowed = torch.zeros(len(slots), size, width, dtype=torch.bool)
        for i, (own, w) in enumerate(zip(slots, chosen, strict=True)):
            typed = [kind_of(slot) in TYPED for slot in own]
            masks = start_masks(own, typed, memory.reader, memory.pieces, memory.windows[w], width)
            allowed[i, : len(own)] = masks
        return allowed

    def _support(
        self, asked: Sequence[list[int]], chosen: Sequence[int], request: FormRequest, size: int
    ) -> tuple[dict[int, Tensor], Tensor]:
        """Returns how far each view's window supports the options of its slots: [O, SIGNS] by slot, and their maximum.

        The maximum over the options is [N, S, SIGNS] for S of `size`, 0 for slots without options.
        """
        support: dict[int, Tensor] = {}
        most = torch.zeros(len(asked), size, SIGNS, device=self.device)
        for i, (own, window) in enumerate(zip(asked, chosen, strict=True)):
            for j, k in enumerate(own):
                if request.slot(k).options:
                    support[k] = option_support(
                        self.network, request.form, request.questions, request.memory, request.slot(k),
                        window, request.places.get(k),
                    )  # fmt: skip
                    most[i, j] = support[k].amax(0)
        return support, most

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

    def _page(self, memory: Memory, windows: Sequence[int]) -> Sheet:
        chosen = [(memory.pieces, memory.windows[w]) for w in windows]
        return to_device(sheet(chosen, memory.states.shape[1]), self.device)

    def _decode_board(
        self, memory: Memory, windows: Sequence[int], page: Sheet, board: Board, questions: FormMemory
    ) -> Decoded:
        """Returns the states of the board's slots after they look at these windows."""
        with self.precision():
            if memory.projected is not None:
                projected = memory.projected.windows(torch.tensor(windows, device=self.device))
            else:
                distinct = sorted(set(windows))
                projected = self.network.project_windows(memory.states[distinct])
                at = torch.tensor([distinct.index(w) for w in windows], device=self.device)
                projected = projected.windows(at)
            matches = self._matches(memory, windows, page, board, questions)
            return self.network.decode(projected, page, board, questions.read.vectors, matches)

    def _matches(
        self, memory: Memory, windows: Sequence[int], page: Sheet, board: Board, questions: FormMemory
    ) -> Tensor:
        """Returns how similar the words of the board's questions are to those of these windows."""
        key = (questions.fingerprint, *windows, *board.question.flatten().tolist())
        found = memory.matched.get(key)
        if found is None:
            words = phrases([(memory.pieces, memory.windows[w]) for w in windows], self.wordpieces)
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
