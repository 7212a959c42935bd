"""The reader as an engine's model: it encodes a passage once, finds the rows and scores the canvas."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from cinnabar.engine.model import WHOLE, Canvas, Row, Scores, SlotInstance
from cinnabar.engine.models.int8_matmul import use_integer_products
from cinnabar.engine.models.reader.calibration import Calibration
from cinnabar.engine.models.reader.decoding import WindowDecoder, WindowsAsked
from cinnabar.engine.models.reader.inputs.columns import Columns
from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.inputs.mixed_choices import MixedSlot, pointed_at
from cinnabar.engine.models.reader.inputs.tensors import Window, cut, padded_length, sheet, to_device
from cinnabar.engine.models.reader.inputs.views import SlotView, row_places, views_of
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces
from cinnabar.engine.models.reader.memory.form import FormMemory, FormRequest, read_form
from cinnabar.engine.models.reader.memory.passage import LateStates, ListedOption, MatchedRow, Memory
from cinnabar.engine.models.reader.network.encoder import WindowStates
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.reader.scoring.answering import answer, settle_absences, settle_signs
from cinnabar.engine.models.reader.scoring.choices import choice_windows, settle_mixed
from cinnabar.engine.models.reader.scoring.described_options import (
    OptionComparer,
    is_list_of_options,
    listed_rows,
    write_listed,
)
from cinnabar.engine.models.reader.scoring.reranking import RequestSlots, rerank
from cinnabar.engine.models.reader.scoring.rows import (
    add_alike,
    doubtful_beginnings,
    fields_within,
    item_slots,
    nest_rows,
    only_list,
    probabilities,
    refused_beginnings,
    single_item_chance,
    sure_beginnings,
)
from cinnabar.engine.models.reader.scoring.spans import Answers, WindowScores
from cinnabar.engine.models.reader.tables.column_signs import ListFields
from cinnabar.engine.models.reader.tables.joined_tables import group_rows, named_rows
from cinnabar.engine.models.reader.tables.matched_lists import (
    add_missed_rows,
    drop_taken_words,
    list_fields,
    match_lists,
    rows_of_items,
    windows_outside_lists,
    write_cell,
)
from cinnabar.engine.models.reader.tables.parents import add_parents
from cinnabar.engine.models.sentences.encoder import SentenceEncoder
from cinnabar.engine.request import Filler, Passage
from cinnabar.engine.settings import DEFAULT, Precision, in_precision
from cinnabar.engine.tables.table import PrintedTable, tables_of
from cinnabar.engine.work_time import check_time
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.kept_by_weight import KeptByWeight

#: Longer passages, in windows, compute decoder projections anew in each step: they take 2.5 MB a window.
_WINDOWS_PROJECTED = 50
#: In later steps over a longer passage each slot looks again at so many windows that most likely hold its value.
_LOOKED_AT_AGAIN = 4
#: The bytes of the encoded questions that are kept of forms: 30 kB a question, so 1,600 of them.
_KEPT_BYTES = 48 << 20


@dataclass(frozen=True, slots=True)
class _ReadPassage:
    """A passage, its word pieces, and the windows that they are cut into."""

    passage: Passage
    pieces: Pieces
    windows: list[Window]


class ExtractiveReader:
    """The model that ships with the project: a network that points at words, and rules beside it.

    `config` holds the weights of the rules; `precision` is that of the matrix products. Values other than the defaults
    change the fingerprint. `sentences` loads the sentence encoder, which is asked if a form has options to compare;
    without it no options are compared.
    """

    context_tokens = 131072

    def __init__(
        self,
        network: Network,
        wordpieces: WordPieces,
        fingerprint: str,
        device: torch.device | str = "cpu",
        calibration: Calibration | None = None,
        config: PriorConfig = DEFAULT_PRIORS,
        precision: Precision = DEFAULT,
        sentences: Callable[[], SentenceEncoder] | None = None,
    ) -> None:
        network = network.eval().to(device)
        self.network = use_integer_products(network) if precision == "int8" else network
        self.wordpieces = wordpieces
        self.fingerprint = in_precision(config.fingerprint(fingerprint), precision)
        self.calibration = calibration
        self.config = config
        self.precision = precision
        self.device = torch.device(device)
        self.sentences = sentences if config.applies("described_options") else None
        self.comparer = OptionComparer(self.sentences, config.described_options) if self.sentences else None
        self.decoder = WindowDecoder(self.network, wordpieces, self.device, config, precision, self.comparer)
        self._forms = KeptByWeight[str, FormMemory](_KEPT_BYTES, lambda memory: memory.nbytes)
        self._beside: Callable[[], Filler] | None = None

    def beside(self, load: Callable[[], Filler]) -> ExtractiveReader:
        """Returns this reader with a language model that reads a few rows of each table, loaded at the first one."""
        other = copy.copy(self)
        other._beside = load
        return other

    def count_tokens(self, text: str) -> int:
        """Returns the number of word pieces of the text."""
        return self.wordpieces.count(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters of each window that the encoder reads."""
        pieces = self.wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
        starts = [0, *pieces.start[1:].tolist(), len(passage.text)]
        return [(starts[w.first], starts[w.last]) for w in cut(pieces)]

    @torch.inference_mode()
    def encode(self, passages: Sequence[Passage]) -> list[Memory]:
        """Reads each passage once, window by window: the states of a window do not depend on the other windows."""
        with self.decoder.casts_kept():
            read = []
            for passage in passages:
                pieces = self.wordpieces.pieces(passage.text, passage.word_start, passage.word_box)
                read.append(_ReadPassage(passage, pieces, cut(pieces)))
            memories: dict[int, Memory] = {}
            for places in self._together(read):
                own = [read[p] for p in places]
                if len(own[0].windows) > _WINDOWS_PROJECTED and (tables := self._long_tables(own[0])):
                    memories[places[0]] = self._list_memory(own[0], tables)
                else:
                    memories.update(zip(places, self._memories(own, self._states(own)), strict=True))
            return [memories[p] for p in range(len(read))]

    def _together(self, read: Sequence[_ReadPassage]) -> list[list[int]]:
        """Returns the passages that are read together: those of the same padded width, long ones alone."""
        by_width: dict[tuple[int, int], list[int]] = {}
        for p, one in enumerate(read):
            alone = not self.decoder.batches or len(one.windows) > _WINDOWS_PROJECTED
            by_width.setdefault((padded_length(one.windows), p if alone else -1), []).append(p)
        return list(by_width.values())

    def _long_tables(self, one: _ReadPassage) -> list[PrintedTable]:
        """Returns the tables of a passage if long ones make up most of it, an empty list otherwise."""
        if not self.config.applies("bound_tables"):
            return []
        passage, long = one.passage, self.config.bound_tables.long
        tables = tables_of(passage.text, passage.word_start, passage.word_box)
        covered = sum(table.end - table.start for table in tables if len(table.rows) >= long)
        return tables if covered > len(passage.text) / 2 else []

    def _list_memory(self, one: _ReadPassage, tables: list[PrintedTable]) -> Memory:
        """Returns the memory of a passage that is mostly a list: its windows are read when they are looked at."""

        @torch.inference_mode()
        def encode(windows: Sequence[int]) -> Tensor:
            with self.decoder.casts_kept():
                return self._encode([(one.pieces, one.windows[w]) for w in windows], shape[1])

        shape = len(one.windows), padded_length(one.windows), self.network.size.hidden
        reader, columns = MentionReader(one.passage.text, one.passage.locale), Columns(one.pieces)
        states = LateStates(shape, encode)
        return Memory(one.passage, one.pieces, one.windows, states, None, reader, columns, tables=tables)

    def _states(self, read: Sequence[_ReadPassage]) -> Tensor:
        """Returns the states of all windows of some passages: [W, T, H]."""
        windows = [(one.pieces, window) for one in read for window in one.windows]
        return self._encode(windows, padded_length(read[0].windows))

    def _encode(self, windows: Sequence[tuple[Pieces, Window]], longest: int) -> Tensor:
        """Returns the states of windows, padded to the same length: [W, T, H]."""
        states = torch.zeros(len(windows), longest, self.network.size.hidden, device=self.device)
        by_width: dict[int, list[int]] = {}
        for w, (_, window) in enumerate(windows):
            by_width.setdefault(padded_length([window]), []).append(w)
        for width, rows in by_width.items():
            together = max(1, self.decoder.at_once.pieces // width) if self.decoder.batches else 1
            for first in range(0, len(rows), together):
                check_time()
                chosen = rows[first : first + together]
                page = to_device(sheet([windows[w] for w in chosen], above=False), self.device)
                with self.decoder.precision():
                    encoded = self.network.encode_windows(page)
                # Rounded to the precision of the states on disk (`pack`).
                encoded = encoded.bfloat16().float() if self.decoder.low_precision else encoded
                states[:, :width].index_copy_(0, torch.tensor(chosen, device=self.device), encoded)
        return states

    def _memories(self, read: Sequence[_ReadPassage], states: Tensor) -> list[Memory]:
        """Returns the memories of passages with these states: [W, T, H] for the windows of all of them."""
        projected = self._project(states) if len(read[0].windows) <= _WINDOWS_PROJECTED else None
        memories, first = [], 0
        counts = [len(one.windows) for one in read]
        for one, own in zip(read, torch.split(states, counts), strict=True):
            reader, columns = MentionReader(one.passage.text, one.passage.locale), Columns(one.pieces)
            memories.append(Memory(one.passage, one.pieces, one.windows, own, projected, reader, columns, first))
            first += len(one.windows)
        return memories

    def _project(self, states: Tensor) -> WindowStates:
        """Returns the projections of windows' states; a product of integers takes the same values in any batch."""
        with self.decoder.precision():
            if not self.decoder.batches:
                return self.network.project_windows(states)
            together = self.decoder.at_once.windows
            first = self.network.project_windows(states[:together])
            if len(states) <= together:
                return first
            projected = torch.empty(*states.shape[:2], sum(first.sizes), device=states.device)
            projected[:together] = first.projected
            for at in range(together, len(states), together):
                part = states[at : at + together]
                projected[at : at + together] = self.network.project_windows(part).projected
        return WindowStates(states, projected, first.sizes)

    @torch.inference_mode()
    def prepare(self, form: Form) -> None:
        """Encodes the questions of a form, and the meanings of its options."""
        self.form(form)
        if self.comparer is not None:
            self.comparer.prepare(pointed_at(form))

    def form(self, form: Form) -> FormMemory:
        """Returns the encoded questions of a form; they are encoded once."""
        return self._as_it_is(pointed_at(form))

    def _as_it_is(self, form: Form) -> FormMemory:
        """Returns the encoded questions of a form whose choices of codes keep their options."""
        form_memory = self._forms.get(form.fingerprint)
        if form_memory is None:
            made = read_form(form, self.network, self.wordpieces, self.device)
            form_memory = self._forms.put(form.fingerprint, made)
        return form_memory

    @torch.inference_mode()
    def find_rows(self, forms: Sequence[Form], memories: Sequence[Memory]) -> list[list[Row]]:
        """Returns the items of each form's arrays in its passage."""
        with self.decoder.casts_kept():
            read = [(pointed_at(form), memory) for form, memory in zip(forms, memories, strict=True)]
            return [self._find_rows(form, memory) if form.arrays else [] for form, memory in read]

    def _find_rows(self, form: Form, memory: Memory) -> list[Row]:
        if not len(memory.pieces):
            return []
        config, starts = self.config, memory.pieces.start
        anchors: list[list[tuple[int, float]]] = []
        refused: list[Row] = []
        matched = memory.matched_rows[form.fingerprint] = self._match_lists(form, memory)
        told = {at: [(start, row.chance) for start, row in rows.items()] for at, rows in rows_of_items(matched).items()}
        if len(told) == len(form.arrays):
            # No window needs to be asked for rows.
            anchors = add_parents(form, [told[array.index] for array in form.arrays], matched, memory.passage.text)
            return _match_rows(nest_rows(form, anchors), matched)
        all_odds = self.decoder.row_odds(form, self.form(form), memory)
        listed = memory.listed[form.fingerprint] = {}
        least = min(config.rows.least, config.rows.refused, config.doubtful_rows.least)
        for array, odds, fields in zip(form.arrays, all_odds, fields_within(form), strict=True):
            if array.index in told:
                anchors.append(told[array.index])
                continue
            chances = probabilities(odds)
            likely = np.flatnonzero(chances >= least)
            places = [(piece, float(chances[piece])) for piece in likely.tolist()]
            begun = sure_beginnings(places, config.rows)
            if isinstance(array.item, Slot) and array.key is None and array.item.kind in ("number", "integer"):
                begun = add_alike(begun, memory.passage.text, memory.pieces)
            if not begun and config.applies("doubtful_rows"):
                begun = doubtful_beginnings(places, fields, len(starts), config)
            starts_of_array = [(int(starts[piece]), chance) for piece, chance in begun]
            if named := named_rows(array, dict(starts_of_array), memory):
                matched[array.index], known = named, dict(starts_of_array)
                starts_of_array = sorted(({at: row.chance for at, row in named.items()} | known).items())
            starts_of_array = add_missed_rows(starts_of_array, matched.get(array.index, {}), form, memory)
            left = refused_beginnings(places, begun, config.rows)
            doubtful = all(chance < config.described_options.list_rows for _, chance in starts_of_array)
            if doubtful and self.comparer is not None and is_list_of_options(form, array):
                listed[array.index] = self.comparer.list_options(form, array, memory)
                left = []
                starts_of_array = [(one.stretch[0], one.chance) for one in listed[array.index]]
            anchors.append(starts_of_array)
            refused += [Row(array.index, -1, int(starts[piece]), chance, taken=False) for piece, chance in left]
        if config.applies("bound_tables"):
            anchors = add_parents(form, anchors, matched, memory.passage.text)
        only = only_list(form) if config.applies("single_item") else None
        if only is not None and only.index not in listed and not anchors[only.index]:
            chance = self._single_item(form, memory, item_slots(form, only))
            anchors[only.index] = [(WHOLE, chance)] if chance else []
        return [*_match_rows(nest_rows(form, anchors), matched), *refused]

    def _match_lists(self, form: Form, memory: Memory) -> dict[int, dict[int, MatchedRow]]:
        """Returns the rows of the lists that stand in tables, by array and first character."""
        if not self.config.applies("bound_tables"):
            return {}
        config, read = self.config.bound_tables, self.form(form)
        lists = {array.index: list_fields(form, array) for array in form.arrays}
        asked = {
            index: ListFields(
                form, read, index, slots, self._window_scores, self.encode, self.sentences, config, self._beside
            )
            for index, (slots, _) in lists.items()
            if slots
        }
        found: dict[int, dict[int, MatchedRow]] = {}
        for index, rows in zip(asked, match_lists([*asked.values()], memory), strict=True):
            _, inner = lists[index]
            if inner >= 0:
                rows = rows_of_items({index: rows}).get(index, {})
                found[inner], begin = rows, f"{form.arrays[inner].path}/"
                outer = [slot for slot in asked[index].slots if not slot.path.startswith(begin)]
                rows = group_rows(rows, outer, memory.passage.text)
            found[index] = rows
        found = {array: rows for array, rows in found.items() if rows}
        if items := rows_of_items(found):
            memory.promising[form.fingerprint] = windows_outside_lists(items, memory)
        return found

    def _single_item(self, form: Form, memory: Memory, slots: Sequence[Slot]) -> float:
        """Returns the probability that the whole passage is one item with these slots; 0 if it has too few of them."""
        canvas, own = Canvas.open([SlotInstance(0, slot, -1) for slot in slots]), range(len(slots))
        (scores,) = self._window_scores([FormRequest(form, self.form(form), memory, canvas, own, {})])
        out = Answers(len(slots))
        for k in own:
            answer(k, scores[k], memory, canvas, out)
        return single_item_chance(out.absent, self.config.single_item)

    @torch.inference_mode()
    def score(
        self, forms: Sequence[Form], memories: Sequence[Memory], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """Scores the canvas in one pass; no score of a request depends on the other requests."""
        asked, original = forms, canvas
        forms = [pointed_at(form) for form in forms]
        canvas = _as_read(canvas, forms)
        own: list[list[int]] = [[] for _ in forms]
        for k, instance in enumerate(canvas.instances):
            own[instance.request].append(k)
        out = Answers(len(canvas.instances))
        requests: list[FormRequest] = []
        judged: list[FormRequest] = []
        listed: dict[int, ListedOption] = {}
        beside: dict[int, tuple[MatchedRow, Memory]] = {}
        for form, memory, rows_of_form, slots, unread in zip(forms, memories, rows, own, asked, strict=True):
            if not slots or not len(memory.pieces):
                continue
            row_at = row_places(rows_of_form, memory.pieces)
            rowed = [(k, row) for k in slots if (row := canvas.instances[k].row) >= 0]
            # The slots of an item that is the whole passage are asked for as those outside of rows.
            at = {k: row for k, row in rowed if rows_of_form[row].anchor != WHOLE}
            places = {k: row_at[row] for k, row in at.items()}
            matched = self._matched_rows(form, memory, at, rows_of_form, canvas)
            slots = [
                k
                for k in slots
                if k not in matched or not write_cell(k, canvas.instances[k].slot, matched[k], memory, out)
            ]
            beside |= {k: (matched[k], memory) for k in slots if k in matched}
            requests.append(FormRequest(form, self.form(form), memory, canvas, slots, places))
            mixed = [k for k in slots if isinstance(canvas.instances[k].slot, MixedSlot)]
            if mixed:
                judged.append(FormRequest(unread, self._as_it_is(unread), memory, original, mixed, places))
            listed |= listed_rows(form, memory, rows_of_form, at)
        with self.decoder.casts_kept():
            for request, scores in zip(requests, self._window_scores(requests), strict=True):
                self._answer(request, scores, out)
            for request, scores in zip(judged, self._window_scores(judged), strict=True):
                self._settle_mixed(request, scores, canvas, out)
        for k, (bound_row, memory) in beside.items():
            drop_taken_words(k, canvas.instances[k].slot, bound_row, memory, out)
        for k, one in listed.items():
            if not canvas.known or not canvas.known[k]:
                write_listed(k, canvas.instances[k].slot, one, out)
        return out.scores(self.device)

    def _matched_rows(
        self, form: Form, memory: Memory, at: Mapping[int, int], rows: Sequence[Row], canvas: Canvas
    ) -> dict[int, MatchedRow]:
        """Returns the rows of matched tables in which slots stand, but for slots that are known."""
        matched = memory.matched_rows.get(form.fingerprint, {})
        found: dict[int, MatchedRow] = {}
        for k, row in at.items() if matched else ():
            own = matched.get(rows[row].array, {}).get(rows[row].anchor)
            if own is not None and not (canvas.known and canvas.known[k]):
                found[k] = own
        return found

    def _answer(self, request: FormRequest, scores: Mapping[int, WindowScores], out: Answers) -> None:
        """Writes the answers of one request from its scores in each window, and reranks them against each other."""
        memory, canvas, own = request.memory, request.canvas, request.own
        asked = {k for k in own if not request.is_frozen(k)}
        for k in sorted(asked):
            answer(k, scores[k], memory, canvas, out)
        rerank(RequestSlots(own, asked, canvas, memory.pieces), out, self.config)
        settle_signs(self.network, asked, scores, canvas, out)
        settle_absences(self.network, asked, scores, request.questions, canvas, out)

    def _settle_mixed(
        self, judged: FormRequest, scores: Mapping[int, WindowScores], canvas: Canvas, out: Answers
    ) -> None:
        """Joins the answers to mixed choices with those that their options get from the network.

        judged: a request for mixed choices with their options; canvas: the one on which they are pointed at.
        """
        options = Answers(len(out.logits))
        for k in judged.own:
            if not judged.is_frozen(k):
                answer(k, scores[k], judged.memory, judged.canvas, options)
                slot = canvas.instances[k].slot
                assert isinstance(slot, MixedSlot)
                settle_mixed(k, slot, options, out)

    def _window_scores(self, requests: Sequence[FormRequest]) -> list[dict[int, WindowScores]]:
        """Returns the scores of each request's slots in the windows that they look at; frozen slots have none."""
        asked: list[WindowsAsked] = []
        scores: list[dict[int, WindowScores]] = []
        free: list[list[int]] = []
        by_form: dict[str, list[int]] = {}
        for r, request in enumerate(requests):
            by_form.setdefault(request.form.fingerprint, []).append(r)
        homes: dict[int, dict[int, int]] = {}
        for own in by_form.values():
            memories, first = [requests[r].memory for r in own], requests[own[0]]
            homes.update(zip(own, choice_windows(self.network, first.form, first.questions, memories), strict=True))
        for r, request in enumerate(requests):
            outside = {k: request.slot(k) for k in request.own if k not in request.places}
            fixed = {k: homes[r][slot.index] for k, slot in outside.items() if slot.options}
            scores.append({k: WindowScores() for k in request.own})
            free.append([k for k in outside if k not in fixed])
            asked.append(WindowsAsked(request, _views(request, fixed), scores[-1]))
        self.decoder.decode(asked)
        for request, in_windows, slots in zip(requests, scores, free, strict=True):
            memory, key = request.memory, request.form.fingerprint
            if slots and memory.projected is None and key not in memory.promising:
                memory.promising[key] = sorted({w for k in slots for w in in_windows[k].likeliest(_LOOKED_AT_AGAIN)})
        return scores


def _match_rows(rows: Sequence[Row], matched: Mapping[int, Mapping[int, MatchedRow]]) -> list[Row]:
    """Returns the rows, those that stand in a matched table with how surely their columns are their fields'."""
    own = [matched.get(row.array, {}).get(row.anchor) for row in rows]
    return [row if one is None else replace(row, matches=one.matches) for row, one in zip(rows, own, strict=True)]


def _as_read(canvas: Canvas, forms: Sequence[Form]) -> Canvas:
    """Returns the canvas with the slots of these forms, which are those of the requests as the reader reads them."""
    slots = [forms[instance.request].slots[instance.slot.index] for instance in canvas.instances]
    if all(slot is instance.slot for slot, instance in zip(slots, canvas.instances, strict=True)):
        return canvas
    instances = [replace(instance, slot=slot) for instance, slot in zip(canvas.instances, slots, strict=True)]
    return replace(canvas, instances=instances)


def _views(request: FormRequest, fixed: Mapping[int, int]) -> list[SlotView]:
    """Returns the views of the slots that are asked for; each view lists its frozen slots last.

    fixed: the window of each slot that looks at one window alone.
    """
    memory, own, places = request.memory, request.own, request.places
    promising = memory.promising.get(request.form.fingerprint, range(len(memory.windows)))
    views = views_of(own, [places.get(k) for k in own], memory.windows, promising, fixed)
    # The other slots look at the frozen slots; the network answers nothing about these.
    views = [SlotView(v.window, tuple(sorted(v.slots, key=request.is_frozen))) for v in views]
    return [v for v in views if not request.is_frozen(v.slots[0])]
