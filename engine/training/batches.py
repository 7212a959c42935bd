"""Training windows as tensors: sheet, board and targets of a batch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cinnabar.engine.models.base import MASK, MORE, PAD
from cinnabar.engine.models.default.network import KINDS, STATES, Board, Questions, Sheet
from cinnabar.engine.models.default.questions import Question, question_tensors
from cinnabar.engine.models.default.speller import HINT_BYTES
from cinnabar.engine.models.default.typed import word_ends, word_starts
from cinnabar.engine.models.default.windows import Window, sheet
from cinnabar.engine.models.default.wordpieces import WordPieces
from cinnabar.engine.training.examples import (
    LabelledPassage,
    RowsTarget,
    SlotTarget,
    inside,
    places_inside,
    reworded,
)

#: Slots of one training window.
SCALARS, ARRAYS, ROWS, ROW_SLOTS = 14, 3, 5, 8
#: Options of a choice beside the true one.
OPTIONS = 12
#: True spans that are kept of a slot (a value may be printed several times).
GOLD = 6
#: Positions of the speller in training; two pads at most count in its loss.
SPELLED, PADS = 32, 2
IGNORE = -100


@dataclass(slots=True)
class Targets:
    """What a batch should have said.

    absent: [N, S] float, NaN where unknown. spans: [N, S, GOLD, 2] int64 places (first, last), -1 beyond the
    end. starts, ends: [N, S, T] and [N, T] bool, where spans may start and end. boolean: [N, S] int64. gate:
    [N, S] float, 1 where the value has to be spelled, NaN where unknown. choice_at: [C, 2] (window, slot);
    choice_options: [C, O] questions, -1 beyond; choice_printed: [C, O]; choice: [C]. rows_at: [R, 2]; rows:
    [R, T] float. spell_at: [G, 2]; hint: [G, HINT_BYTES]; shown: [G, SPELLED] tokens on the canvas; spelled:
    [G, SPELLED] their truth, IGNORE where it does not count; positions: [G], how many of them the slot has.
    """

    absent: Tensor
    spans: Tensor
    starts: Tensor
    ends: Tensor
    boolean: Tensor
    gate: Tensor
    choice_at: Tensor
    choice_options: Tensor
    choice_printed: Tensor
    choice: Tensor
    rows_at: Tensor
    rows: Tensor
    spell_at: Tensor
    hint: Tensor
    shown: Tensor
    spelled: Tensor
    positions: Tensor


@dataclass(slots=True)
class Batch:
    """All tensors of a training step."""

    sheet: Sheet
    questions: Questions
    board: Board
    targets: Targets


@dataclass(slots=True)
class _Asked:
    """The distinct questions of a batch, in the wording drawn for each example."""

    questions: list[Question] = field(default_factory=list)
    index: dict[Question, int] = field(default_factory=dict)

    def __call__(self, question: Question) -> int:
        if question not in self.index:
            self.index[question] = len(self.questions)
            self.questions.append(question)
        return self.index[question]


Drawn = tuple[LabelledPassage, Window]


def collate(drawn: Sequence[Drawn], wordpieces: WordPieces, rng: random.Random) -> Batch:
    """A batch of these windows, with slots, wordings and visible values drawn at random."""
    page = sheet([(p.pieces, w) for p, w in drawn])
    n, t = page.ids.shape
    chosen = [_draw_slots(p, w, rng) for p, w in drawn]
    s = max(1, max(len(c) for c in chosen))
    board = Board(
        question=torch.zeros(n, s, dtype=torch.long), mask=torch.zeros(n, s, dtype=torch.bool),
        kind=torch.zeros(n, s, dtype=torch.long), anchor=torch.full((n, s), -1),
        until=torch.full((n, s), t), state=torch.zeros(n, s, dtype=torch.long),
        span=torch.zeros(n, s, 2, dtype=torch.long), words=torch.zeros(n, s, 6, dtype=torch.long),
    )  # fmt: skip
    absent, gate = torch.full((n, s), float("nan")), torch.full((n, s), float("nan"))
    spans = torch.full((n, s, GOLD, 2), -1)
    boolean = torch.full((n, s), IGNORE)
    starts, ends = torch.zeros(n, s, t, dtype=torch.bool), torch.zeros(n, t, dtype=torch.bool)
    asked = _Asked()
    # One wording a batch: documents of one source then share their questions.
    wording: dict[Question, Question] = {}
    choices: list[tuple[int, int, list[int], tuple[bool, ...], int]] = []
    rows: list[tuple[int, int, Any]] = []
    spells: list[tuple[int, int, bytes, bytes]] = []
    for i, ((passage, window), slots) in enumerate(zip(drawn, chosen, strict=True)):
        size = window.last - window.first
        case = passage.pieces.case[window.first : window.last]
        word_start = torch.zeros(t, dtype=torch.bool)
        word_start[1 : size + 1] = torch.from_numpy(word_starts(case))
        ends[i, 1 : size + 1] = torch.from_numpy(word_ends(case))
        shows = rng.random() < 0.5
        ratio = rng.random() * 0.7
        for j, target in enumerate(slots):
            board.mask[i, j] = True
            if target.question not in wording:
                wording[target.question] = reworded(target.question, rng)
            board.question[i, j] = asked(wording[target.question])
            if isinstance(target, RowsTarget):
                board.kind[i, j] = KINDS.index("rows")
                rows.append((i, j, places_inside(target.places, window)))
                continue
            board.kind[i, j] = target.kind
            if target.anchor >= 0:
                board.anchor[i, j] = window.place(target.anchor)
                board.until[i, j] = min(window.place(max(target.until, target.anchor + 1)), t)
            own = inside(target.spans, window)
            whole = len(passage.windows) == 1
            if target.options or target.kind == KINDS.index("boolean"):
                if whole or window.first == 0 or target.anchor >= 0:
                    absent[i, j] = float(target.absent)
                    if target.option >= 0 and target.kind == KINDS.index("boolean"):
                        boolean[i, j] = target.option
                    elif target.option >= 0:
                        kept = _some_options(target, rng)
                        options = [asked(target.options[o]) for o in kept]
                        printed = tuple(target.printed[o] for o in kept)
                        choices.append((i, j, options, printed, kept.index(target.option)))
            else:
                if target.allowed is None:
                    starts[i, j] = word_start
                else:
                    starts[i, j, torch.from_numpy(places_inside(target.allowed, window))] = True
                    starts[i, j] &= word_start
                if target.absent or own or target.spans or (whole and target.known):
                    absent[i, j] = float(target.absent or (not own and bool(target.spans)))
                for k, (a, b) in enumerate(own[:GOLD]):
                    spans[i, j, k] = torch.tensor((a, b))
                    starts[i, j, a] = True
                    ends[i, b] = True
                if own or (whole and target.known and not target.absent):
                    gate[i, j] = float(not own)
                if target.spelled is not None and (own or whole):
                    spells.append((i, j, target.spelled, _hint(passage, target, own, rng)))
            if shows and rng.random() < ratio:
                _show(board, i, j, target, own, rng, size)
    n_options = max((len(c[2]) for c in choices), default=1)
    choice_options = torch.full((len(choices), n_options), -1)
    choice_printed = torch.zeros(len(choices), n_options)
    for k, (_, _, options, printed, _) in enumerate(choices):
        choice_options[k, : len(options)] = torch.tensor(options)
        choice_printed[k, : len(printed)] = torch.tensor(printed, dtype=torch.float)
    row_tags = torch.zeros(len(rows), t)
    for k, (_, _, places) in enumerate(rows):
        row_tags[k, torch.from_numpy(places)] = 1.0
    spelling = _spell_tensors(spells, rng)
    targets = Targets(
        absent, spans, starts, ends, boolean, gate,
        _places([c[:2] for c in choices]), choice_options, choice_printed,
        torch.tensor([c[4] for c in choices], dtype=torch.long),
        _places([r[:2] for r in rows]), row_tags, _places([x[:2] for x in spells]), *spelling,
    )  # fmt: skip
    return Batch(
        page, question_tensors(asked.questions or [Question("value", "")], wordpieces), board, targets
    )


def _places(pairs: Sequence[tuple[int, int]]) -> Tensor:
    return torch.tensor(list(pairs), dtype=torch.long).view(-1, 2)


def _draw_slots(
    passage: LabelledPassage, window: Window, rng: random.Random
) -> list[SlotTarget | RowsTarget]:
    """Some of the fields, all arrays, and the slots of some rows that begin in the window.

    Of a long document's fields most are not in the window: at most half as many of these as of the others, or
    the model learns to answer that nothing is there.
    """
    held: list[SlotTarget] = []
    others: list[SlotTarget] = []
    for x in rng.sample(passage.scalars, len(passage.scalars)):
        there = not x.absent and (not x.spans or bool(inside(x.spans, window)))
        (held if there else others).append(x)
    held = held[: rng.randint(SCALARS // 2, SCALARS)]
    scalars = held + others[: max(2, len(held) // 2)]
    rng.shuffle(scalars)
    arrays = rng.sample(passage.arrays, min(len(passage.arrays), ARRAYS))
    seen = [r for r in passage.rows if window.first <= r[0].anchor < window.last]
    picked = sorted(rng.sample(range(len(seen)), min(len(seen), ROWS)))
    in_rows = [x for k in picked for x in rng.sample(seen[k], min(len(seen[k]), ROW_SLOTS))]
    return [*scalars, *arrays, *in_rows]


def _some_options(target: SlotTarget, rng: random.Random) -> list[int]:
    """The true option among others; of a long list some, and those that the text names."""
    others = [o for o in range(len(target.options)) if o != target.option]
    if len(others) > OPTIONS:
        named = [o for o in others if target.printed[o]][: OPTIONS // 2]
        others = named + rng.sample([o for o in others if o not in named], OPTIONS - len(named))
    return sorted([target.option, *others])


def _show(
    board: Board,
    i: int,
    j: int,
    target: SlotTarget,
    own: list[tuple[int, int]],
    rng: random.Random,
    size: int,
) -> None:
    """Put the true value on the canvas, a tenth of them corrupted so that doubting is learned."""
    if not target.known:
        return
    corrupted = rng.random() < 0.1
    if corrupted and not target.options and size > 4:
        first = rng.randint(1, size - 1)
        own = [(first, min(size, first + rng.randint(0, 3)))]
        board.state[i, j] = STATES.index("copied")
    elif target.absent:
        board.state[i, j] = STATES.index("absent")
        return
    elif target.options or target.kind == KINDS.index("boolean"):
        board.state[i, j] = STATES.index("chosen")
    elif own:
        board.state[i, j] = STATES.index("copied")
    else:
        board.state[i, j] = STATES.index("written")
    if own:
        a, b = rng.choice(own)
        board.span[i, j] = torch.tensor((a, b + 1))
    if not corrupted and target.words:
        board.words[i, j, : len(target.words)] = torch.tensor(target.words)


def _hint(
    passage: LabelledPassage, target: SlotTarget, own: list[tuple[int, int]], rng: random.Random
) -> bytes:
    """The bytes of the span that the pointer would choose; at times none, for the pointer may be wrong."""
    if not own or rng.random() < 0.3:
        return b""
    first, last = rng.choice(target.spans)
    return passage.text[passage.pieces.start[first] : passage.pieces.end[last]].encode()


def _spell_tensors(
    spells: Sequence[tuple[int, int, bytes, bytes]], rng: random.Random
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    hint = torch.full((len(spells), HINT_BYTES), MASK)
    shown = torch.full((len(spells), SPELLED), MASK)
    spelled = torch.full((len(spells), SPELLED), IGNORE)
    positions = torch.tensor([rng.choice((SPELLED // 2, SPELLED)) for _ in spells], dtype=torch.long)
    for k, ((_, _, text, seen), size) in enumerate(zip(spells, positions.tolist(), strict=True)):
        # A value that is longer than its slot ends in MORE: the slot has to grow.
        tokens = [*text[: size - 1], MORE] if len(text) > size else [*text, *[PAD] * PADS][:size]
        spelled[k, : len(tokens)] = torch.tensor(tokens)
        cut = seen[:HINT_BYTES]
        hint[k, : len(cut)] = torch.tensor(list(cut), dtype=torch.long)
        if rng.random() < 0.5:
            ratio = rng.random()
            visible = torch.tensor([rng.random() < ratio for _ in range(len(tokens))])
            shown[k, : len(tokens)] = torch.where(visible, torch.tensor(tokens), MASK)
    return hint, shown, spelled, positions
