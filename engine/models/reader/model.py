"""The default model behind the engine's seam: encode a passage once, find the rows, score the canvas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.models.base import Row, Scores
from cinnabar.engine.models.reader.answers.answering import align, answer, gather, unshare
from cinnabar.engine.models.reader.answers.choices import options_of, supported, told_windows
from cinnabar.engine.models.reader.answers.row_smoothing import likened, probabilities
from cinnabar.engine.models.reader.answers.rows import DOUBTFUL_FROM, chosen_places, fields_within, nested
from cinnabar.engine.models.reader.answers.scores import Answers, Decided
from cinnabar.engine.models.reader.answers.signs_and_defaults import settle_absences, settle_signs
from cinnabar.engine.models.reader.answers.spans import end_mask, point, start_masks
from cinnabar.engine.models.reader.answers.spelling import spell
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.models.reader.form_memory import FormMemory, read_form
from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import PassageReader
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.models.reader.inputs.tensors import ROWS, Board, Sheet, to_device
from cinnabar.engine.models.reader.inputs.views import Place, View, board_of, row_places, views_of
from cinnabar.engine.models.reader.inputs.windows import Window, cut, padded, phrases, sheet
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces
from cinnabar.engine.models.reader.memory import Memory
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.regions import regions
from cinnabar.engine.models.reader.network.states import Look
from cinnabar.engine.models.reader.network.support import SIGNS
from cinnabar.engine.models.reader.precision import low_precision
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.engine.models.reader.priors.priors import Priors, of_absence
from cinnabar.engine.request import Passage
from cinnabar.schemas.form.form import Form

#: Views that go through the decoder together.
VIEWS_AT_ONCE = 8
#: Of how many such groups is kept, over the steps, how alike their words are to the page: 3 MB each at most.
MATCHES_KEPT = 3
#: Windows of a passage for which everything that slots look at is kept over the steps, 2.5 MB each; of longer
#: ones it is made anew for the windows at hand.
WINDOWS_HELD = 50
#: Of longer passages each slot looks again, in later steps, at as many windows that likely hold its value.
LOOKED_AT_AGAIN = 4
#: Forms whose questions are kept read; the oldest goes first.
FORMS_KEPT = 64


class DefaultModel:
    """The model that ships with the project."""

    context_tokens = 131072

    def __init__(
        self,
        network: Network,
        wordpieces: WordPieces,
        fingerprint: str,
        device: torch.device | str = "cpu",
        calibration: Calibration | None = None,
    ) -> None:
        self.network = network.eval().to(device)
        self.wordpieces = wordpieces
        self.fingerprint = fingerprint
        self.calibration = calibration
        self.device = torch.device(device)
        self._forms: dict[int, tuple[Form, FormMemory]] = {}
        self._low_precision = low_precision(self.device)

    def count_tokens(self, text: str) -> int:
        """Word pieces of the text."""
        return self.wordpieces.count(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """The characters of each window that the encoder reads."""
        pieces = self.wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        starts = [0, *pieces.start[1:].tolist(), len(passage.text)]
        return [(starts[w.first], starts[w.last]) for w in cut(pieces)]

    @torch.inference_mode()
    def encode(self, passages: Sequence[Passage]) -> list[Memory]:
        """Read each passage once, window by window: a window's states do not depend on what else is read."""
        with self._casts_kept():
            return [self._encode(p) for p in passages]

    def _encode(self, passage: Passage) -> Memory:
        pieces = self.wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        windows = cut(pieces)
        width = padded(windows)
        states = torch.zeros(len(windows), width, self.network.size.hidden, device=self.device)
        with self._precision():
            for i, w in enumerate(windows):
                page = to_device(sheet([(pieces, w)]), self.device)
                # Rounded to the precision in which they are kept on disk (`pack`).
                read = self.network.read(page)[0]
                states[i, : page.ids.shape[1]] = read.bfloat16() if self._low_precision else read
        return self._memory(passage, pieces, windows, states)

    def _memory(self, passage: Passage, pieces: Pieces, windows: list[Window], states: Tensor) -> Memory:
        with self._precision():
            held = self.network.hold(states) if len(windows) <= WINDOWS_HELD else None
        return Memory(passage, pieces, windows, states, held, PassageReader(passage.text), Columns(pieces))

    def pack(self, memory: Memory) -> dict[str, Tensor]:
        """The states, in the precision in which they are used: what is unpacked says the same to the bit."""
        states = memory.states.cpu()
        return {"states": states.bfloat16() if self._low_precision else states}

    @torch.inference_mode()
    def unpack(self, passage: Passage, packed: Mapping[str, Tensor]) -> Memory | None:
        """The memory of this passage; None where this is no such passage's."""
        pieces = self.wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        windows = cut(pieces)
        states = packed.get("states")
        if states is None or states.shape != (len(windows), padded(windows), self.network.size.hidden):
            return None
        return self._memory(passage, pieces, windows, states.to(self.device, torch.float32))

    def form(self, form: Form) -> FormMemory:
        """A form's questions, read once."""
        if id(form) not in self._forms:
            memory = read_form(form, self.network, self.wordpieces, self.device)
            if len(self._forms) >= FORMS_KEPT:
                self._forms.pop(next(iter(self._forms)))
            self._forms[id(form)] = (form, memory)
        return self._forms[id(form)][1]

    @torch.inference_mode()
    def find_rows(self, forms: Sequence[Form], memories: Sequence[Memory]) -> list[list[Row]]:
        """The items of each form's arrays in its passage."""
        with self._casts_kept():
            return [self._find_rows(f, m) if f.arrays else [] for f, m in zip(forms, memories, strict=True)]

    def _find_rows(self, form: Form, memory: Memory) -> list[Row]:
        if not len(memory.pieces):
            return []
        starts, anchors = memory.pieces.start, []
        for odds, fields in zip(self._row_odds(form, memory), fields_within(form), strict=True):
            chances = probabilities(likened(odds, memory.columns))
            likely = np.flatnonzero(chances >= DOUBTFUL_FROM).tolist()
            begun = chosen_places([(p, float(chances[p])) for p in likely], fields, len(starts))
            anchors.append([(int(starts[piece]), chance) for piece, chance in begun])
        return nested(form, anchors)

    def _row_odds(self, form: Form, memory: Memory) -> Floats:
        """The log odds that an item of each of A arrays begins at each of T pieces: [A, T]."""
        known, count = self.form(form), len(form.arrays)
        odds = np.full((count, len(memory.pieces)), -np.inf, np.float32)
        for first in range(0, len(memory.windows), VIEWS_AT_ONCE):
            windows = range(first, min(first + VIEWS_AT_ONCE, len(memory.windows)))
            page = self._page(memory, windows)
            board = Board.blank(len(windows), count, page.ids.shape[1])
            board.question[:], board.mask[:], board.kind[:] = torch.tensor(known.arrays), True, ROWS
            look = self._look(memory, windows, page, to_device(board, self.device), known)
            with self._precision():
                logits = self.network.rows(look).float()
            chosen = [memory.windows[w] for w in windows]
            told = self._priors(form, memory).rows(chosen, form.arrays, logits.shape[-1])
            said = (logits + told.to(self.device)).cpu().numpy()
            for own, w in zip(said, chosen, strict=True):
                core = own[:, 1 + w.core_first - w.first : 1 + w.core_last - w.first]
                odds[:, w.core_first : w.core_last] = core
        return odds

    def _page(self, memory: Memory, windows: Sequence[int]) -> Sheet:
        chosen = [(memory.pieces, memory.windows[w]) for w in windows]
        return to_device(sheet(chosen, memory.states.shape[1]), self.device)

    def _look(
        self, memory: Memory, windows: Sequence[int], page: Sheet, board: Board, known: FormMemory
    ) -> Look:
        with self._precision():
            if memory.held is not None:
                held = memory.held.windows(torch.tensor(windows, device=self.device))
            else:
                distinct = sorted(set(windows))
                held = self.network.hold(memory.states[distinct])
                held = held.windows(torch.tensor([distinct.index(w) for w in windows], device=self.device))
            matches = memory.matched.get(asked := (id(known), *windows, *board.question.flatten().tolist()))
            if matches is None:
                words = phrases([(memory.pieces, memory.windows[w]) for w in windows], self.wordpieces)
                words = to_device(words, self.device)
                matches = self.network.matches(page, words, board, known.questions)
                if len(memory.matched) < MATCHES_KEPT:
                    memory.matched[asked] = matches
            return self.network.look(held, page, board, known.read.vectors, matches)

    def _precision(self) -> torch.autocast:
        """bfloat16 where the machine has instructions for it, as in training."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._low_precision)

    def _casts_kept(self) -> torch.autocast:
        """Around many `_precision`: weights are cast once for all of them, not for each."""
        return torch.autocast(self.device.type, enabled=False)

    @torch.inference_mode()
    def score(
        self, forms: Sequence[Form], memories: Sequence[Memory], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """One pass over the canvas; each request goes through the network alone, so batches do not matter."""
        own: list[list[int]] = [[] for _ in forms]
        for k, instance in enumerate(canvas.instances):
            own[instance.request].append(k)
        out = Answers(len(canvas.instances), canvas.tokens.shape[1])
        with self._casts_kept():
            for form, memory, found, slots in zip(forms, memories, rows, own, strict=True):
                if slots and len(memory.pieces):
                    self._score_request(form, memory, found, slots, canvas, out)
        return out.scores(self.device)

    def _score_request(
        self, form: Form, memory: Memory, rows: Sequence[Row], own: list[int], canvas: Canvas, out: Answers
    ) -> None:
        known, pieces = self.form(form), memory.pieces
        row_at = row_places(rows, pieces)
        places: dict[int, Place] = {
            k: row_at[canvas.instances[k].row] for k in own if canvas.instances[k].row >= 0
        }
        promising = memory.promising.get(id(form), range(len(memory.windows)))
        homes = told_windows(self.network, form, known, memory)
        told = {k: homes[s.index] for k in own if k not in places and (s := canvas.instances[k].slot).options}
        views = views_of(own, [places.get(k) for k in own], memory.windows, promising, told)
        # What is frozen is there for the others to look at; nothing is asked about it.
        asked = {k for k in own if not (canvas.known and canvas.known[k])}
        views = [View(v.window, tuple(sorted(v.slots, key=lambda k: k not in asked))) for v in views]
        views = [v for v in views if v.slots[0] in asked]
        decided: dict[int, Decided] = {k: Decided() for k in own}
        for i in range(0, len(views), VIEWS_AT_ONCE):
            self._decide(views[i : i + VIEWS_AT_ONCE], form, memory, known, places, canvas, decided)
        if memory.held is None and id(form) not in memory.promising:
            free = (d for k, d in decided.items() if k not in places and k not in told)
            memory.promising[id(form)] = sorted({w for d in free for w in d.likeliest(LOOKED_AT_AGAIN)})
        for k in sorted(asked):
            answer(k, decided[k], memory, canvas, out)
        align(sorted(asked & places.keys()), memory, canvas, out)
        gather(own, asked, memory, canvas, out)
        unshare(own, asked, canvas, out)
        settle_signs(self.network, asked, decided, canvas, out)
        settle_absences(self.network, asked, decided, known, canvas, out)
        spell(self.network, own, decided, memory, canvas, out)

    def _priors(self, form: Form, memory: Memory) -> Priors:
        """What the passage's words say of the form, read once."""
        if id(form) not in memory.priors:
            words, letters = self.network.encoder.words.weight, self.network.letters.weight
            page = Page.of(memory.passage.text, memory.columns, words, letters, self.wordpieces)
            memory.priors[id(form)] = Priors(form, page)
        return memory.priors[id(form)]

    def _decide(
        self, views: Sequence[View], form: Form, memory: Memory, known: FormMemory, places: dict[int, Place],
        canvas: Canvas, decided: dict[int, Decided],
    ) -> None:  # fmt: skip
        """Let the slots of some views look at their windows; note what each view says of its slots."""
        pieces, windows = memory.pieces, memory.windows
        page = self._page(memory, [v.window for v in views])
        width = page.ids.shape[1]
        board = board_of(views, canvas, known.slots, places, windows, pieces, self.wordpieces, width)
        board = to_device(board, self.device)
        look = self._look(memory, [v.window for v in views], page, board, known)
        # What is frozen stands last in its view.
        asked = [[k for k in v.slots if not (canvas.known and canvas.known[k])] for v in views]
        size = max(map(len, asked))
        look = Look(look.slots[:, :size], look.held, look.pointer_bias[:, :size])
        allowed = torch.zeros(len(views), size, width, dtype=torch.bool)
        borne_out = torch.zeros(len(views), size, SIGNS, device=self.device)
        of_options: dict[int, Tensor] = {}
        asked_slots = [[canvas.instances[k].slot for k in own] for own in asked]
        for i, (v, slots) in enumerate(zip(views, asked_slots, strict=True)):
            for j, (k, slot) in enumerate(zip(asked[i], slots, strict=True)):
                if slot.options:
                    of_options[k] = supported(
                        self.network, form, known, memory, slot, v.window, places.get(k)
                    )
                    borne_out[i, j] = of_options[k].amax(0)
            typed = [kind_of(s) in TYPED for s in slots]
            allowed[i, : len(slots)] = start_masks(
                slots, typed, memory.reader, pieces, windows[v.window], width
            )
        ends = torch.stack([end_mask(pieces, windows[v.window], width) for v in views])
        allowed = allowed.to(self.device)
        chosen = [windows[v.window] for v in views]
        told = self._priors(form, memory).starts(chosen, asked_slots, width).to(self.device)
        with self._precision():
            scores = self.network.starts(look) + told
            starts, stops, logs, mass = point(self.network, look, page, scores, allowed, ends.to(self.device))
            absences = self.network.absences(look, scores, allowed, borne_out)
        region = regions(page, board)[:, :size]
        absent = (absences + of_absence(told, region, allowed)).tolist()
        spell = self.network.spell_gate(look.slots)[..., 0].tolist()
        at, to, log, share = starts.tolist(), stops.tolist(), logs.tolist(), mass.tolist()
        for i, v in enumerate(views):
            for j, k in enumerate(asked[i]):
                d, slot = decided[k], canvas.instances[k].slot
                d.absent.append(absent[i][j])
                d.spell.append(spell[i][j])
                d.mass.append(share[i][j])
                d.windows.append(v.window)
                d.pointed.append(log[i][j])
                d.places.append((at[i][j], to[i][j]))
                d.states.append(look.slots[i, j])
                if slot.options:
                    found, place, state = of_options[k], places.get(k), look.slots[i, j]
                    d.options.append(options_of(self.network, state, known, memory, slot, place, found))
