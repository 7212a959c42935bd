"""Two lexical priors for the pointers: the similarity of questions and a page, by word pieces and by names.

The first is measured at and before a piece, and above it in its column: the value of a label stands some pieces behind
it, or below it, and the cells of a table stand below the head of their column, which may be in an earlier window.

The second compares a field's name with the phrases of a page across languages. A phrase is up to four words that stand
together. Its vector is the sum of its words' vectors; a word's vector is the sum of those of its letter n-grams. Their
table is learned from the names and labels of concepts in several languages (training/lexicon.py), so that "delivery
point" and "Zählpunkt" have similar vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from cinnabar.engine.models.reader.inputs.cells import UNDER_SHARE
from cinnabar.engine.models.reader.inputs.letter_ngrams import spelt_names
from cinnabar.engine.models.reader.inputs.tensors import ROWS, Board, Phrases, Questions, Sheet
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.tables.lines import ACROSS

#: The similarity of two words that says nothing; similarity is counted from there.
UNLIKE_WORDS = 0.4
#: A cell wider than this share of a page is a line of text: the wider, the less is it a column's head.
WIDE_CELL = 0.2
#: How fast a phrase counts less, the more similar it is to the name of another slot on the board.
RIVAL_NAMES = 3.0
#: Words above are left out if their best similarity is below this.
FAINT_WORD = 0.05
#: Similarity in a column is summed over a label's words up to these values; all words of a phrase have the same one.
MOST_SIMILARITY = (3.0, 3.0, 3.0, 1.0)
#: The most words of a phrase.
PHRASE_WORDS = 4
#: Added to the length of a vector before the vector is divided by it: a phrase with few known letters is similar to
#: none.
UNKNOWN_LETTERS = 0.3
#: The similarity that counts as 0, and the one that counts as 1.
UNLIKE_PHRASES, ALIKE_PHRASES = 0.3, 0.65
#: Channels of a piece: similar to a word of the label, equal to one, similar to a word of the description, in a phrase
#: similar to the label.
BESIDE = 4
#: Channels of the pieces above a piece: those four for cells that overlap it across the page, for words that do, for
#: cells with a room that does, and for the next overlapping cell above.
ABOVE = 4 * BESIDE


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
    similar = torch.matmul(members, (alike.amax(-1) >= FAINT_WORD).float()).gather(1, at[:, :before]) > 0
    similar = (similar | (by_phrase.amax(1) >= FAINT_WORD)) & (seen > 0)
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
    return by_phrase * torch.exp(RIVAL_NAMES * (by_phrase - best))


def likeness(words: Tensor, label: Tensor, note: Tensor, distinct: Tensor) -> Tensor:
    """Returns the similarity of Q labels and notes, [Q, n] and [Q, m], to U distinct pieces: [Q, U, 3]."""
    pieces = torch.cat([label, note], 1)
    own, at = _distinct(pieces)
    both = F.normalize(words[torch.cat([own, distinct])].float(), dim=-1).double()
    # Rounded from sums in float64, which are the same for every number of pieces.
    near = torch.matmul(both[: len(own)], both[len(own) :].T).float()
    near = ((near - UNLIKE_WORDS) / (1 - UNLIKE_WORDS)).clamp(min=0)
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
    sums = torch.minimum(sums, sums.new_tensor(MOST_SIMILARITY)[:, None, None])
    return sums.transpose(2, 3).flatten(2, 3)


def _under(left: Tensor, right: Tensor, own_left: Tensor, own_right: Tensor) -> Tensor:
    """Returns how far each of T cells lies under each of K stretches of P pieces, less for wide ones: [N, P, K, T].

    left, right: [N, P, K], the edges of the stretches; own_left, own_right: [N, 1, T], those of the cells.
    """
    left, right, own_left, own_right = left[..., None], right[..., None], own_left[:, None], own_right[:, None]
    wide = right - left
    shared = torch.minimum(right, own_right) - torch.maximum(left, own_left)
    narrow = torch.minimum(wide, own_right - own_left)
    return (shared >= UNDER_SHARE * narrow) * (WIDE_CELL * ACROSS / wide.clamp(min=1)).clamp(max=1.0)


def _distinct(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the distinct ids, ascending, and for each id its place among them."""
    found: tuple[Tensor, Tensor] = torch.unique(ids, return_inverse=True)
    return found


#: The dimensions of a vector.
VALUES = 64
_Floats = npt.NDArray[np.float32]


def word_vectors(table: Tensor, spelt: Tensor) -> Tensor:
    """Returns the vectors of words, [W, VALUES], from their rows in the table, [W, RUNS]; row 0 is for nothing."""
    count = (spelt > 0).sum(-1, keepdim=True).clamp(min=1)
    summed: Tensor = F.embedding_bag(spelt, table, mode="sum", padding_idx=0)
    return summed / count.to(table.dtype).sqrt()


def _of_length(phrases: Tensor) -> Tensor:
    """Returns sums of words' vectors with lengths below one: [..., VALUES]."""
    lengths: Tensor = torch.linalg.vector_norm(phrases, dim=-1, keepdim=True)
    return phrases / (lengths + UNKNOWN_LETTERS)


def name_vectors(table: Tensor, spelt: Tensor) -> Tensor:
    """Returns the vectors of names, [Q, VALUES], from their words, [Q, NAME_WORDS, RUNS]."""
    q, n, _ = spelt.shape
    return _of_length(word_vectors(table, spelt.view(q * n, -1)).view(q, n, -1).sum(1))


def vectors_of(table: _Floats, names: Sequence[str], wordpieces: WordPieces) -> _Floats:
    """Returns the vectors of names as texts: [Q, VALUES].

    In arrays: a document asks for a few short texts, and such a torch call takes ten times as long as its arithmetic.
    """
    spelt = spelt_names([wordpieces.ids(name) for name in names], wordpieces)
    known = spelt > 0
    share = 1 / np.sqrt(np.maximum(known.sum(-1, keepdims=True), 1), dtype=np.float32)
    runs = table[spelt[known]] * np.broadcast_to(share, spelt.shape)[known][:, None]
    counts = known.sum((1, 2))
    vectors = np.zeros((len(names), table.shape[1]), np.float32)
    if len(runs):
        begins = np.cumsum(counts) - counts
        vectors[counts > 0] = np.add.reduceat(runs, begins[counts > 0], axis=0)
    unit: _Floats = vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + UNKNOWN_LETTERS)
    return unit


def phrase_likeness(names: _Floats, phrases: _Floats) -> _Floats:
    """Returns the similarity of names, [Q, VALUES], and phrases, [P, VALUES], 0 to 1: [Q, P]."""
    found: _Floats = ((names @ phrases.T - UNLIKE_PHRASES) / (ALIKE_PHRASES - UNLIKE_PHRASES)).clip(0, 1)
    return found


def phrase_matches(ngrams: Tensor, asked: Tensor, slots: Tensor, phrases: Phrases) -> Tensor:
    """Returns the similarity of each slot's name to the phrases around each piece of `Sheet.above`: [N, S, C], 0 to 1.

    ngrams: [BUCKETS, VALUES]; asked: [Q, NAME_WORDS, RUNS], the names' words as rows of the table; slots: [N, S], the
    name of each slot.
    """
    names = name_vectors(ngrams, asked)[slots]
    # The vector behind the last one is that of no word.
    words = F.pad(word_vectors(ngrams, phrases.spelt), (0, 0, 0, 1))[phrases.word]
    matches = F.pad(_word_matches(names, words, phrases.run), (0, 1))
    at = torch.where(phrases.of_piece < 0, matches.shape[-1] - 1, phrases.of_piece)
    return matches.gather(2, at[:, None].expand(-1, slots.shape[1], -1))


def _word_matches(names: Tensor, words: Tensor, run: Tensor) -> Tensor:
    """Returns the similarity of S names to the best phrase around each of P words, 0 to 1: [N, S, P].

    names: [N, S, VALUES]; words: [N, P, VALUES]; run: [N, P], equal for words that stand together.
    """
    count, names = words.shape[1], names.double()
    out = torch.zeros(*names.shape[:2], count, device=words.device)
    phrases, best = words, torch.full_like(out, UNLIKE_PHRASES)
    for more in range(min(PHRASE_WORDS, count)):
        if more:
            phrases = phrases[:, :-1] + words[:, more:]
            best = torch.maximum(best[..., :-1], best[..., 1:])
        # Rounded from sums in float64, which are the same for every number of words.
        near = torch.matmul(names, _of_length(phrases).double().transpose(1, 2)).float()
        together = run[:, : count - more] == run[:, more:]
        alike = torch.where(together[:, None], near, UNLIKE_PHRASES)
        # A phrase leaves out words that lower its similarity.
        similar = ((alike - UNLIKE_PHRASES) / (ALIKE_PHRASES - UNLIKE_PHRASES)).clamp(0, 1)
        better = torch.where(alike >= best, similar, 0.0)
        best = torch.maximum(alike, best)
        for k in range(more + 1):
            at = out[..., k : count - more + k]
            torch.maximum(at, better, out=at)
    return out
