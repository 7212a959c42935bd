"""The lexical similarity of questions and a page: at and before a piece, and above it in its column.

It is a lexical prior for the pointers. The value of a label stands some pieces behind it, or below it. The cells of a
table stand below the head of their column, which may be in an earlier window.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.reader.inputs.cells import UNDER
from cinnabar.engine.models.reader.inputs.tensors import ROWS, Board, Phrases, Questions, Sheet
from cinnabar.engine.models.reader.network.phrase_vectors import phrase_matches
from cinnabar.engine.tables.lines import ACROSS

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
    words: Tensor,
    ngrams: Tensor,
    sheet: Sheet,
    phrases: Phrases,
    board: Board,
    questions: Questions,
    of_document: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the similarity of each slot's words to each piece: [N, S, BESIDE, T] and [N, S, ABOVE, T], float32.

    words: [V, H], the vectors of the vocabulary; ngrams: [BUCKETS, VALUES], those of letter n-grams; of_document:
    [N, A], all questions asked of each window's document, which decide its telling words; None for those of the board.
    """
    width = sheet.ids.shape[1]
    count = board.question.shape[1]
    every = board.question if of_document is None else torch.cat([board.question, of_document], 1)
    asked, every = _distinct(every)
    slots = every[:, :count]
    seen = sheet.above[..., 0]
    before = seen.shape[1]
    distinct, at = _distinct(torch.cat([seen, sheet.ids], 1))
    alike = likeness(words, questions.label[asked], questions.note[asked], distinct)
    # The similarities of each slot to each piece: [N, S, C + T, BESIDE - 1].
    pairs = slots[..., None] * len(distinct) + at[:, None]
    signals_of_pairs = F.embedding(pairs, alike.flatten(0, 1))
    by_phrase = _lower_rivals(phrase_matches(ngrams, questions.spelt[asked], slots, phrases), board)
    by_phrase = F.pad(by_phrase, (0, before - by_phrase.shape[-1]))
    channels = torch.cat([signals_of_pairs[:, :, :before], by_phrase[..., None]], -1)
    # [CLS] stands before the window's first piece.
    place = torch.arange(-1, width - 1, device=seen.device)
    own = (phrases.own[:, None] + place).clamp(0, max(before - 1, 0))
    within = by_phrase.gather(2, own[:, None].expand(-1, slots.shape[1], -1)) * (sheet.mask & (place >= 0))[:, None]
    beside = torch.cat([signals_of_pairs[:, :, before:], within[..., None]], -1) * sheet.mask[:, None, :, None]
    # A label is similar to few words of a window, so the others are left out. Counts of questions are exact sums.
    members = torch.zeros(len(every), len(asked), device=seen.device).scatter_(1, every, 1.0)
    similar = torch.matmul(members, (alike.amax(-1) >= _FAINT).float()).gather(1, at[:, :before]) > 0
    similar = (similar | (by_phrase.amax(1) >= _FAINT)) & (seen > 0)
    return beside.transpose(2, 3), _above(channels, similar, sheet)


def _lower_rivals(by_phrase: Tensor, board: Board) -> Tensor:
    """Returns the phrase similarities, [N, S, C], lowered for phrases more similar to another slot's name.

    The rivals of a slot are the slots that look at the window together at inference: lists, fields of rows, or others.
    """
    by_phrase = by_phrase * board.mask[..., None]
    apart = torch.where(board.kind == ROWS, 2, (board.anchor >= 0).long())
    kinds = apart[:, None] == torch.arange(3, device=apart.device)[:, None]
    best = (by_phrase[:, None] * kinds[..., None]).amax(2)
    best = best.gather(1, apart[..., None].expand(by_phrase.shape))
    return by_phrase * torch.exp(_RIVALS * (by_phrase - best))


def likeness(words: Tensor, label: Tensor, note: Tensor, distinct: Tensor) -> Tensor:
    """Returns the similarity of Q labels and notes, [Q, n] and [Q, m], to U distinct pieces: [Q, U, 3]."""
    pieces = torch.cat([label, note], 1)
    own, at = _distinct(pieces)
    both = F.normalize(words[torch.cat([own, distinct])].float(), dim=-1).double()
    # Rounded from sums in float64, which are the same for every number of pieces.
    near = torch.matmul(both[: len(own)], both[len(own) :].T).float()
    near = ((near - UNLIKE) / (1 - UNLIKE)).clamp(min=0)
    weight, size = weight_of(pieces)[..., None], label.shape[1]
    weighed = near[at] * weight
    same = (own[:, None] == distinct).float()[at[:, :size]] * weight[:, :size]
    return torch.stack([weighed[:, :size].amax(1), same.amax(1), weighed[:, size:].amax(1)], -1)


def weight_of(pieces: Tensor) -> Tensor:
    """Returns the weight of each word, 0 to 1: frequent words stand first in the vocabulary and say little."""
    return ((pieces - 1996).float() / 3000).clamp(0.1, 1.0) * (pieces > 0)


def _above(channels: Tensor, similar: Tensor, sheet: Sheet) -> Tensor:
    """Returns the similarities of the pieces above each piece, summed over each column: [N, S, ABOVE, T].

    channels: [N, S, C, BESIDE], of the pieces of `sheet.above`; similar: [N, C] bool, those that count.
    """
    n, s, _, size = channels.shape
    # The similar pieces of each window, P at most, in their order; others beyond the last have no weight.
    most = int(similar.sum(1).amax())
    source = similar.logical_not().int().argsort(dim=1, stable=True)[:, :most]
    counts = similar.gather(1, source)
    picked = sheet.above.gather(1, source[..., None].expand(-1, -1, sheet.above.shape[-1])).float()
    channels = channels.gather(2, source[:, None, :, None].expand(n, s, most, size)) * counts[:, None, :, None]
    line, edges = picked[..., 1, None], picked[..., 2:]
    left, right, over = (part[:, None] for part in sheet.cell.float().unbind(-1))
    higher = (line < sheet.line[:, None]) & (right > left)
    columns = _under(edges[..., ::2], edges[..., 1::2], left, right) * higher[:, :, None]
    columns = torch.cat([columns, columns[:, :, :1] * (line == over)[:, :, None]], 2)
    # Rounded from sums in float64, which are the same for every number of pieces.
    left_factor = channels.transpose(2, 3).reshape(n, s * size, most).double()
    sums = torch.matmul(left_factor, columns.flatten(2).double()).float().view(n, s, size, -1, left.shape[-1])
    sums = torch.minimum(sums, sums.new_tensor(_MOST)[:, None, None])
    return sums.transpose(2, 3).flatten(2, 3)


def _under(left: Tensor, right: Tensor, own_left: Tensor, own_right: Tensor) -> Tensor:
    """Returns how far each of T cells lies under each of K stretches of P pieces, less for wide ones: [N, P, K, T].

    left, right: [N, P, K], the edges of the stretches; own_left, own_right: [N, 1, T], those of the cells.
    """
    left, right, own_left, own_right = left[..., None], right[..., None], own_left[:, None], own_right[:, None]
    wide = right - left
    shared = torch.minimum(right, own_right) - torch.maximum(left, own_left)
    narrow = torch.minimum(wide, own_right - own_left)
    return (shared >= UNDER * narrow) * (_WIDE * ACROSS / wide.clamp(min=1)).clamp(max=1.0)


def _distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the distinct ids, ascending, and for each id its place among them."""
    found: tuple[Tensor, Tensor] = torch.unique(ids, return_inverse=True)
    return found
