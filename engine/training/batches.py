"""Collates training windows into the tensors of a batch: sheet, board and targets, with questions reworded."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.models.reader.inputs.mentions import word_ends, word_starts
from cinnabar.engine.models.reader.inputs.questions import Question, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import KINDS, Board, Phrases, Questions, Sheet, Window, phrases, sheet
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.weights import NO_VALUE
from cinnabar.engine.training.examples import (
    IGNORE,
    LabelledPassage,
    Places,
    RowsTarget,
    draw_slots,
    inside,
    is_held,
    places_inside,
    show_value,
    some_options,
)
from cinnabar.engine.training.targets import SlotTarget

#: The most true spans of a slot (a value may be printed several times).
GOLD = 6
_ROWS, _BOOLEAN = KINDS.index("rows"), KINDS.index("boolean")


@dataclass(slots=True)
class Targets:
    """The targets of a batch.

    absent: [N, S] float, NaN where unknown. spans: [N, S, GOLD, 2] int64 places (first, last), -1 beyond the end.
    starts, ends: [N, S, T] and [N, T] bool, places at which spans may start and end. boolean: [N, S] int64. default:
    [N, S] int64, the value for absence: 0 none, 1 + i the question's named value i, IGNORE where unknown. either:
    [N, S] bool, whether pointing at the value is right as well (then `absent` is NaN). unsigned: [N, S] float, 1 if
    the sign at `spans` is not part of the value, NaN without a sign. choice_at: [C, 2] (window, slot);
    choice_options: [C, O] questions, -1 beyond; choice_printed: [C, O]; choice: [C]. rows_at: [R, 2]; rows: [R, T]
    float. tags: [N, T] int64, the kind of value that a piece is part of (value_kinds.py), IGNORE where unknown.
    """

    absent: Tensor
    spans: Tensor
    starts: Tensor
    ends: Tensor
    boolean: Tensor
    default: Tensor
    either: Tensor
    unsigned: Tensor
    choice_at: Tensor
    choice_options: Tensor
    choice_printed: Tensor
    choice: Tensor
    rows_at: Tensor
    rows: Tensor
    tags: Tensor


@dataclass(slots=True)
class TrainingBatch:
    """All tensors of a training step."""

    sheet: Sheet
    phrases: Phrases
    questions: Questions
    board: Board
    targets: Targets


Drawn = tuple[LabelledPassage, Window]


def collate(
    drawn: Sequence[Drawn], wordpieces: WordPieces, rng: random.Random, kinds: Mapping[str, int] = MappingProxyType({})
) -> TrainingBatch:
    """Returns a batch of these windows, with slots, wordings and visible values drawn at random.

    kinds: the kind of the values that a field of this name asks for, by `Question.label`.
    """
    drawn_pieces = [(p.pieces, w) for p, w in drawn]
    page = sheet(drawn_pieces)
    chosen = [draw_slots(p, w, rng) for p, w in drawn]
    batch = _Collation(len(drawn), max(1, *map(len, chosen)), page.ids.shape[1], rng)
    for i, ((passage, window), slots) in enumerate(zip(drawn, chosen, strict=True)):
        batch.add(_BatchWindow(i, passage, window, page.ids.shape[1]), slots)
        batch.tag(i, passage, window, kinds)
    asked = question_tensors(list(batch.asked) or [Question("value", "")], wordpieces)
    words = phrases(drawn_pieces, wordpieces)
    return TrainingBatch(page, words, asked, batch.board, batch.targets())


class _BatchWindow:
    """A window of the batch and the places at which its words start."""

    def __init__(self, index: int, passage: LabelledPassage, window: Window, width: int) -> None:
        self.index, self.passage, self.window = index, passage, window
        self.size = window.last - window.first
        self.case = passage.pieces.case[window.first : window.last]
        self.whole = len(passage.windows) == 1
        self.word_start = torch.zeros(width, dtype=torch.bool)
        self.word_start[1 : self.size + 1] = torch.from_numpy(word_starts(self.case))


@dataclass(frozen=True, slots=True)
class _BatchChoice:
    """A choice of the batch: its place (window, slot), its options, and the true one, IGNORE if none is."""

    at: tuple[int, int]
    options: list[int]
    printed: list[bool]
    true: int


class _Collation:
    """Board and targets of a batch while its windows are added."""

    def __init__(self, windows: int, slots: int, width: int, rng: random.Random) -> None:
        self.rng, self.width = rng, width
        shape = (windows, slots)
        self.board = Board.blank(windows, slots, width)
        self.absent, self.unsigned = (torch.full(shape, float("nan")) for _ in range(2))
        self.default, self.either = torch.full(shape, IGNORE), torch.zeros(shape, dtype=torch.bool)
        self.spans = torch.full((*shape, GOLD, 2), -1)
        self.boolean = torch.full(shape, IGNORE)
        self.starts = torch.zeros(*shape, width, dtype=torch.bool)
        self.ends = torch.zeros(windows, width, dtype=torch.bool)
        #: The distinct questions with their numbers, in the order in which they were first asked.
        self.asked: dict[Question, int] = {}
        self.wording = Rewording(rng)
        self.choices: list[_BatchChoice] = []
        self.rows: list[tuple[tuple[int, int], npt.NDArray[np.int64]]] = []
        self.tags = torch.full((windows, width), IGNORE)

    def add(self, seen: _BatchWindow, slots: Sequence[SlotTarget | RowsTarget]) -> None:
        """Puts the slots of a window on the board and notes their targets."""
        i, window = seen.index, seen.window
        self.wording.next_document()
        self.ends[i, 1 : seen.size + 1] = torch.from_numpy(word_ends(seen.case))
        shows = self.rng.random() < 0.5
        ratio = self.rng.random() * 0.7
        for j, target in enumerate(slots):
            kind = _ROWS if isinstance(target, RowsTarget) else target.kind
            asked = self.wording.of(target.question, kind)
            self.board.mask[i, j] = True
            self.board.kind[i, j] = kind
            self.board.question[i, j] = self._question_number(asked)
            if isinstance(target, RowsTarget):
                self.rows.append(((i, j), places_inside(target.places, window)))
                continue
            if target.anchor >= 0:
                self.board.anchor[i, j] = window.place(target.anchor)
                until = window.place(max(target.until, target.anchor + 1))
                self.board.until[i, j] = min(until, self.width)
            own = inside(target.spans, window)
            if target.chosen:
                self._choose(seen, j, target)
            else:
                self._point(seen, j, target, own)
                self._default(i, j, target, asked, own)
            if shows and self.rng.random() < ratio:
                show_value(self.board, i, j, target, own, seen.size, self.rng)

    def tag(self, i: int, passage: LabelledPassage, window: Window, kinds: Mapping[str, int]) -> None:
        """Notes the kinds of the labelled values; where lists of several kinds are labelled, the rest is no value."""
        listed = {row[0].question.label for row in passage.rows if len(row) == 1 and row[0].question.label in kinds}
        if len(listed) > 1:
            self.tags[i, 1 : window.last - window.first + 1] = NO_VALUE
        for target in (*passage.scalars, *(target for row in passage.rows for target in row)):
            kind = kinds.get(target.question.label, IGNORE)
            for first, last in inside(target.spans, window):
                self.tags[i, first : last + 1] = kind

    def _question_number(self, question: Question) -> int:
        return self.asked.setdefault(question, len(self.asked))

    def _choose(self, seen: _BatchWindow, j: int, target: SlotTarget) -> None:
        """Adds the target of a choice or boolean if this window decides it; in other windows it is not known."""
        i = seen.index
        if not (seen.whole or target.anchor >= 0 or is_held(target, seen.window)):
            return
        self.absent[i, j] = float(target.absent)
        if target.kind == _BOOLEAN:
            self.boolean[i, j] = target.option if target.option >= 0 else IGNORE
            return
        kept = some_options(target, self.rng)
        options = [self._question_number(target.options[o]) for o in kept]
        printed = [target.printed[o] for o in kept]
        true = kept.index(target.option) if target.option >= 0 else IGNORE
        self.choices.append(_BatchChoice((i, j), options, printed, true))

    def _point(self, seen: _BatchWindow, j: int, target: SlotTarget, own: Places) -> None:
        i = seen.index
        if target.allowed is None:
            self.starts[i, j] = seen.word_start
        else:
            self.starts[i, j, torch.from_numpy(places_inside(target.allowed, seen.window))] = True
            self.starts[i, j] &= seen.word_start
        if target.absent or target.spans:
            self.absent[i, j] = float(target.absent or (not own and bool(target.spans)))
        for k, (a, b) in enumerate(own[:GOLD]):
            self.spans[i, j, k] = torch.tensor((a, b))
            self.starts[i, j, a] = True
            self.ends[i, b] = True

    def _default(self, i: int, j: int, target: SlotTarget, asked: Question, own: Places) -> None:
        """Notes the value that stands for absence if the question, as worded, names any."""
        if own and target.unsigned is not None:
            self.unsigned[i, j] = float(target.unsigned)
        if not asked.named:
            return
        if target.default < 0:
            self.default[i, j] = 0 if target.absent else IGNORE
        elif target.default < len(asked.named) and (own or not target.spans):
            # A wording that names fewer values keeps the first ones, so their numbers stay the same.
            self.default[i, j] = 1 + target.default
            if own:
                self.either[i, j] = True
                self.absent[i, j] = float("nan")

    def targets(self) -> Targets:
        """Returns the targets of all added windows."""
        count, most = len(self.choices), max((len(c.options) for c in self.choices), default=1)
        options, printed = torch.full((count, most), -1), torch.zeros(count, most)
        for k, choice in enumerate(self.choices):
            options[k, : len(choice.options)] = torch.tensor(choice.options)
            printed[k, : len(choice.printed)] = torch.tensor(choice.printed, dtype=torch.float)
        tags = torch.zeros(len(self.rows), self.width)
        for k, (_, places) in enumerate(self.rows):
            tags[k, torch.from_numpy(places)] = 1.0
        return Targets(
            absent=self.absent, spans=self.spans, starts=self.starts, ends=self.ends, boolean=self.boolean,
            default=self.default, either=self.either, unsigned=self.unsigned,
            choice_at=_pairs([c.at for c in self.choices]), choice_options=options, choice_printed=printed,
            choice=torch.tensor([c.true for c in self.choices], dtype=torch.long),
            rows_at=_pairs([at for at, _ in self.rows]), rows=tags, tags=self.tags,
        )  # fmt: skip


def _pairs(pairs: Sequence[tuple[int, int]]) -> Tensor:
    return torch.tensor(list(pairs), dtype=torch.long).view(-1, 2)


#: The share of batches in which a described field gets the name of another field of its kind.
MISNAMED = 0.2
#: The share of questions that say which other field of the form they do not ask for.
APART = 0.04
#: A note that says what is not meant; without it the field may ask for something else.
_NEGATIVE = re.compile(r"\b(?:not|never|nicht|kein\w*|(?:other|rather) than)\b", re.I)
_CHOICE = KINDS.index("choice")


class Rewording:
    """One wording for each question of a batch, so that documents of one source share their questions.

    In some batches descriptions stand under the names of other fields, as in schemas that were copied and changed;
    there the description is right. Without such batches a description under another field's name took F1 from .77 to
    .44; going by the name alone would give .27 (training/log.md).
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._misnamed = rng.random() < MISNAMED
        self._names: dict[int, str] = {}
        self._before: dict[int, str] = {}
        self._known: dict[Question, Question] = {}

    def next_document(self) -> None:
        """Tells that the questions that follow are of another document."""
        self._before.clear()

    def of(self, question: Question, kind: int) -> Question:
        """Returns the question as this batch words it; kind: the kind of its slot."""
        if question not in self._known:
            self._known[question] = self._reword(question, kind)
        return self._known[question]

    def _reword(self, question: Question, kind: int) -> Question:
        if not self._misnamed or not question.note or _NEGATIVE.search(question.note):
            return self._apart(reword(question, self._rng), question, kind)
        other = self._names.get(kind, "")
        self._names[kind] = question.label
        return replace(question, label=other) if other else reword(question, self._rng)

    def _apart(self, worded: Question, question: Question, kind: int) -> Question:
        """Returns the question, at times told apart from another one of its document and kind ("not the …")."""
        other = self._before.get(kind, "")
        self._before[kind] = question.label
        if not other or other == question.label or kind == _CHOICE or self._rng.random() >= APART:
            return worded
        note = f"{worded.note.rstrip('. ')}; not the {other}" if worded.note else f"not the {other}"
        return replace(worded, note=note)


def reword(question: Question, rng: random.Random) -> Question:
    """Returns the question as it is, or by its name, its description or its first sentence alone, or as a question.

    The names of the objects around it stay: without them two parties' names would be one question. So does a note that
    says what is not meant.
    """
    draw = rng.random()
    if draw < 0.45 or _NEGATIVE.search(question.note):
        return question
    if draw < 0.62 and question.note:
        return Question(question.label, "", question.parents)
    if draw < 0.76 and question.note:
        return replace(question, label="")
    if draw < 0.82:
        return replace(question, label=question.label.lower())
    if draw < 0.9 and not question.note:
        asked = rng.choice(("What is the {}?", "Which {}?", "{}?", "the {}"))
        return Question(question.label, asked.format(question.label.lower()), question.parents)
    first = question.note.split(". ")[0]
    named = tuple(n for n in question.named if n.end <= len(first))
    return Question(question.label, first, question.parents, named)
