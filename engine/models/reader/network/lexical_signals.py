"""The lexical similarity of questions and a page: at and before a piece, and above it in its column.

It is a lexical prior for the pointers. The value of a label stands some pieces behind it, or below it. The cells of a
table stand below the head of their column, which may be in an earlier window.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.reader.inputs.cells import ACROSS, UNDER
from cinnabar.engine.models.reader.inputs.tensors import ROWS, Board, Phrases, Questions, Sheet
from cinnabar.engine.models.reader.network.phrase_vectors import phrase_matches

#: Channels of a piece: similar to a word of the label, equal to one, similar to a word of the description, in a phrase
#: similar to the label (phrase_vectors.py).
BESIDE = 4
#: Channels of the pieces above a piece: those four for cells that overlap it across the page, for words that do, for
#: cells with a room that does, and for the next overlapping cell above.
ABOVE = 4 * BESIDE
#: The similarity of two words that says nothing; similarity is counted from there.
UNLIKE = 0.4
#: A cell wider than this share of a page is a line of text: the wider, the less is it a column's head.
_WIDE = 0.2
#: How fast a phrase counts less, the more similar it is to the name of another slot on the board.
_RIVALS = 3.0
#: Words above are left out if their best similarity is below this.
_FAINT = 0.05
#: Similarity in a column is summed over a label's words up to these values; all words of a phrase have the same one.
_MOST = (3.0, 3.0, 3.0, 1.0)


def signals(
    words: Tensor, letters: Tensor, sheet: Sheet, phrases: Phrases, board: Board, questions: Questions
) -> tuple[Tensor, Tensor]:
    """Returns the similarity of each slot's words to each piece: [N, S, BESIDE, T] and [N, S, ABOVE, T], float32.

    words: [V, H], the vectors of the vocabulary; letters: [BUCKETS, VALUES], those of letter n-grams.
    """
    width = sheet.ids.shape[1]
    asked, slots = _distinct(board.question)
    seen = sheet.above[..., 0]
    distinct, at = _distinct(torch.cat([seen, sheet.ids], 1))
    at, here = at[:, :-width], at[:, -width:]
    alike = likeness(words, questions.label[asked], questions.note[asked], distinct)
    # A label is similar to few words of a window, so the others are left out.
    telling = alike.amax((0, 1)) >= _FAINT
    by_phrase = phrase_matches(letters, questions.spelt[asked], phrases)
    beside, above = [], []
    for i, (slot, own) in enumerate(zip(slots, phrases.own.tolist(), strict=True)):
        of_phrases = F.pad(_unrivalled(by_phrase[i][slot], board, i), (0, seen.shape[1] - by_phrase[i].shape[1]))
        channels = torch.cat([alike[slot][..., at[i]], of_phrases[:, None]], 1)
        tells = (telling[at[i]] | (of_phrases.amax(0) >= _FAINT)) & (seen[i] > 0)
        above.append(_above(channels, tells, sheet, i))
        # [CLS] stands before the window's first piece.
        within = F.pad(of_phrases[:, own : own + width - 1], (1, 0))
        within = F.pad(within, (0, width - within.shape[1]))
        beside.append(torch.cat([alike[slot][..., here[i]], within[:, None]], 1) * sheet.mask[i])
    return torch.stack(beside), torch.stack(above)


def _unrivalled(by_phrase: Tensor, board: Board, i: int) -> Tensor:
    """Returns the phrase similarities in window i, [S, C], lowered for phrases more similar to another slot's name.

    The rivals of a slot are the slots that look at the window together at inference: lists, fields of rows, or others.
    """
    by_phrase = by_phrase * board.mask[i, :, None]
    apart = torch.where(board.kind[i] == ROWS, 2, (board.anchor[i] >= 0).long())
    best = torch.stack([(by_phrase * (apart == k)[:, None]).amax(0) for k in range(3)])
    return by_phrase * torch.exp(_RIVALS * (by_phrase - best[apart]))


def likeness(words: Tensor, label: Tensor, note: Tensor, distinct: Tensor) -> Tensor:
    """Returns the similarity of Q labels and notes, [Q, n] and [Q, m], to U distinct pieces: [Q, 3, U]."""
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
    """Returns the weight of each word, 0 to 1: frequent words stand first in the vocabulary and say little."""
    return ((pieces - 1996).float() / 3000).clamp(0.1, 1.0) * (pieces > 0)


def _above(channels: Tensor, telling: Tensor, sheet: Sheet, i: int) -> Tensor:
    """Returns the similarities of the pieces above each piece of one window, summed over each column: [S, ABOVE, T].

    channels: [S, BESIDE, C], of the pieces of `sheet.above`; telling: [C].
    """
    source = telling.nonzero()[:, 0]
    line, *edges = sheet.above[i, source, 1:].float().unbind(-1)
    left, right, over = sheet.cell[i].float().unbind(-1)
    higher = (line[:, None] < sheet.line[i]) & (right > left)
    columns = [_under(edges[k], edges[k + 1], left, right) * higher for k in (0, 2, 4)]
    columns.append(columns[0] * (line[:, None] == over))
    channels, most = channels[..., source], channels.new_tensor(_MOST)[None, :, None]
    return torch.cat([torch.minimum(torch.matmul(channels, column), most) for column in columns], 1)


def _under(left: Tensor, right: Tensor, own_left: Tensor, own_right: Tensor) -> Tensor:
    """Returns how far each of T cells lies under each of P stretches, by their edges: [P, T], less for wide ones."""
    shared = torch.minimum(right[:, None], own_right) - torch.maximum(left[:, None], own_left)
    narrow = torch.minimum((right - left)[:, None], own_right - own_left)
    return (shared >= UNDER * narrow) * (_WIDE * ACROSS / (right - left).clamp(min=1)).clamp(max=1.0)[:, None]


def _distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the distinct ids, ascending, and for each id its place among them."""
    found: tuple[Tensor, Tensor] = torch.unique(ids, return_inverse=True)
    return found
