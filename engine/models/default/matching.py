"""How alike the words of questions and of a page are: beside a piece, and above it in its column.

A lexical prior for the pointers: the value of a label stands some pieces behind it, or below it; the cells of
a table stand below the head of their column, which may be in an earlier window.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.default.cells import ACROSS, UNDER
from cinnabar.engine.models.default.inputs import Board, Questions, Sheet

#: Channels of a piece: like a word of the label, the same as one, like a word of the description.
BESIDE = 3
#: Channels of what stands above a piece: those three for cells that reach over its own, for words that do,
#: for cells whose room does, and for the next cell that reaches over it.
ABOVE = 4 * BESIDE
#: The likeness of two words that says nothing; likeness is counted from there.
UNLIKE = 0.4
#: A cell wider than this share of a page is a line of text: the wider, the less is it a column's head.
WIDE = 0.2
#: Words above whose best likeness is below this are left out.
FAINT = 0.05
#: Likeness in a column is summed over a label's words up to here.
MOST = 3.0


def signals(words: Tensor, sheet: Sheet, board: Board, questions: Questions) -> tuple[Tensor, Tensor]:
    """What each slot's words say of each piece: [N, S, BESIDE, T] and [N, S, ABOVE, T], float32.

    words: [V, H], the vectors of the vocabulary.
    """
    width = sheet.ids.shape[1]
    asked, slots = _distinct(board.question)
    seen = sheet.above[..., 0]
    distinct, at = _distinct(torch.cat([seen, sheet.ids], 1))
    at, own = at[:, :-width], at[:, -width:]
    alike = likeness(words, questions.label[asked], questions.note[asked], distinct)
    beside = torch.stack([alike[slots[i]][..., own[i]] for i in range(len(slots))])
    beside = beside * sheet.mask[:, None, None, :]
    # A label that is asked for in a window is alike to few of its words.
    telling = alike.amax((0, 1)) >= FAINT
    above = torch.stack(
        [_above(alike[slots[i]], at[i], telling[at[i]] & (seen[i] > 0), sheet, i) for i in range(len(slots))]
    )
    return beside, above


def likeness(words: Tensor, label: Tensor, note: Tensor, distinct: Tensor) -> Tensor:
    """[Q, BESIDE, U] for the words of Q labels and notes, [Q, n] and [Q, m], and U distinct pieces."""
    seen = F.normalize(words[distinct].float(), dim=-1)
    channels = []
    for pieces in (label, note):
        weight = weight_of(pieces)
        own, at = _distinct(pieces)
        near = torch.matmul(F.normalize(words[own].float(), dim=-1), seen.T)
        near = ((near - UNLIKE) / (1 - UNLIKE)).clamp(min=0)
        channels.append((near[at] * weight[..., None]).amax(1))
        if pieces is label:
            same = (own[:, None] == distinct[None]).float()
            channels.append((same[at] * weight[..., None]).amax(1))
    return torch.stack(channels, 1)


def weight_of(pieces: Tensor) -> Tensor:
    """How much a word says, 0 to 1: frequent ones stand first in the vocabulary and say little."""
    return ((pieces - 1996).float() / 3000).clamp(0.1, 1.0) * (pieces > 0)


def _above(alike: Tensor, at: Tensor, telling: Tensor, sheet: Sheet, i: int) -> Tensor:
    """[S, ABOVE, T] for one window: what the pieces above each piece say, summed over each column.

    alike: [S, BESIDE, U]; at: [C] into U, the pieces of `sheet.above`; telling: [C].
    """
    source = telling.nonzero()[:, 0]
    line, *edges = sheet.above[i, source, 1:].float().unbind(-1)
    left, right, over = sheet.cell[i].float().unbind(-1)
    higher = (line[:, None] < sheet.line[i]) & (right > left)
    columns = [_under(edges[k], edges[k + 1], left, right) * higher for k in (0, 2, 4)]
    columns.append(columns[0] * (line[:, None] == over))
    said = alike[..., at[source]]
    return torch.cat([torch.matmul(said, column) for column in columns], 1).clamp(max=MOST)


def _under(left: Tensor, right: Tensor, own_left: Tensor, own_right: Tensor) -> Tensor:
    """How far each of T cells lies under each of P stretches, by their edges: [P, T], less for wide ones."""
    shared = torch.minimum(right[:, None], own_right) - torch.maximum(left[:, None], own_left)
    narrow = torch.minimum((right - left)[:, None], own_right - own_left)
    return (shared >= UNDER * narrow) * (WIDE * ACROSS / (right - left).clamp(min=1)).clamp(max=1.0)[:, None]


def _distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct ids, ascending, and for each id which of them it is."""
    found: tuple[Tensor, Tensor] = torch.unique(ids, return_inverse=True)
    return found
