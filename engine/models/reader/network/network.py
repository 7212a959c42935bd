"""The default model's network: an encoder of windows, a decoder of slots, and heads that read their states.

Every slot of the form is a virtual token. It starts from its question (the field's names and description, read by the
same encoder), from the canvas's committed value, and from its row. Three layers let it attend to the window and to the
other slots of its record; where a piece stands relative to the row of a slot is one of a few regions. The heads compute
from its state whether the value is in this window, its start, its end given the start, its option, and the beginnings
of an array's rows. The heads point at spans, so that a value comes with its evidence (after pointer networks, Vinyals
et al. 2015, arXiv 1506.03134; for masked denoising of whole answers see Sahoo et al. 2024, arXiv 2406.07524).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cinnabar.engine.models.int8_matmul import project
from cinnabar.engine.models.reader.inputs.letter_ngrams import BUCKETS
from cinnabar.engine.models.reader.inputs.tensors import KINDS, ROWS, STATES, Board, Phrases, Questions, Sheet
from cinnabar.engine.models.reader.network.encoder import (
    FLOOR,
    DecoderOutput,
    Encoder,
    Layer,
    QuestionStates,
    WindowStates,
)
from cinnabar.engine.models.reader.network.lexical_signals import ABOVE, BESIDE, VALUES, signals
from cinnabar.engine.models.reader.network.support import SIGNS, STATED, Statements
from cinnabar.engine.models.weights import TAGS

#: The answers of the head for booleans, in its order, as canonical JSON.
BOOLEANS = ("true", "false")
#: The most pieces of a span.
LONGEST_SPAN = 96


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of the network; they are those of all-MiniLM-L6-v2 if it has them."""

    vocabulary: int = 30522
    hidden: int = 384
    heads: int = 12
    inner: int = 1536
    layers: int = 6
    positions: int = 512
    decoder_layers: int = 3
    pointer: int = 256


class Network(nn.Module):
    """All parameters of the default model."""

    def __init__(self, size: Size = Size()) -> None:
        super().__init__()
        h = size.hidden
        self.size = size
        self.encoder = Encoder(size.vocabulary, h, size.layers, size.heads, size.inner, size.positions)
        self.decoder = nn.ModuleList(Layer(h, size.heads, size.inner) for _ in range(size.decoder_layers))
        self.ask = nn.Linear(h, h)
        self.kind = nn.Embedding(len(KINDS), h)
        self.state = nn.Embedding(len(STATES), h)
        self.value = nn.Linear(2 * h, h)
        self.anchor = nn.Linear(h, h)
        self.slot_norm = nn.LayerNorm(h)
        self.region_attention = nn.Parameter(torch.zeros(size.decoder_layers, REGIONS, size.heads))
        self.region_pointer = nn.Embedding(REGIONS, 1)
        self.distance_pointer = nn.Embedding(DISTANCES, 1)
        # The similarity of a field's words to the window's words, spread to their neighbours: the value of a label
        # stands some pieces after it. It speeds up early learning.
        self.match = nn.Conv1d(BESIDE, 8, 24, padding="valid")
        # The same for the pieces above: a value below its label, a cell below the head of its column.
        self.match_above = nn.Parameter(torch.zeros(8, ABOVE))
        self.match_pointer = nn.Conv1d(8, 1, 1)
        self.match_attention = nn.Parameter(torch.zeros(size.decoder_layers, size.heads))
        # Vectors of letter n-grams in languages (lexical_signals.py). Until they are learned every similarity is
        # 0.
        self.letters = nn.Embedding(BUCKETS, VALUES)
        self.letters.weight.requires_grad_(False).zero_()
        p = size.pointer
        self.pointer_scale = math.sqrt(p)
        self.start_slot, self.start_window = nn.Linear(h, p), nn.Linear(h, p)
        self.end_slot, self.end_start, self.end_window = nn.Linear(h, p), nn.Linear(h, p), nn.Linear(h, p)
        self.span_length = nn.Embedding(LONGEST_SPAN, 1)
        self.span_lines = nn.Embedding(4, 1)
        self.row_slot, self.row_window = nn.Linear(h, p), nn.Linear(h, p)
        self.row_bias = nn.Parameter(torch.tensor(-3.0))
        self.absent = nn.Sequential(nn.Linear(h, p), nn.GELU(), nn.Linear(p, 1))
        self.absent_pointed = nn.Parameter(torch.tensor(0.5))
        self.choice_slot, self.choice_option = nn.Linear(h, p), nn.Linear(h, p)
        self.choice_printed = nn.Parameter(torch.tensor(1.0))
        # The weights of the window's support for an option, or for a question that is answered by yes (support.py).
        self.choice_support = nn.Parameter(torch.tensor([4.0, 1.0, 4.0, 4.0]))
        self.choice_bias = nn.Linear(h, 1)
        self.boolean = nn.Linear(h, 2)
        self.boolean_support = nn.Parameter(torch.tensor([4.0, 4.0, 2.0, 0.0]))
        self.absent_support = nn.Parameter(torch.zeros(SIGNS))
        # These choose among the values that a description names for "none", and decide whether the sign of a printed
        # number belongs to the value ("always positive").
        self.default_slot, self.default_named = nn.Linear(h, p), nn.Linear(h, p)
        self.default_bias = nn.Linear(h, 1)
        self.unsigned = nn.Linear(h, 1)
        # What kind of value a piece is part of, and which kinds a slot asks for (value_kinds.py). They are zero at
        # first, so that they change no pointer before they are learned.
        self.tag_window, self.tag_slot = nn.Linear(h, TAGS), nn.Linear(h, TAGS)
        self._start_new_parts()
        self._start_from_priors()

    def _start_new_parts(self) -> None:
        """Initialises the parts that no pretrained layer fills, so that at first they change little."""
        for module in (self.tag_window, self.tag_slot):
            nn.init.zeros_(module.weight)
            nn.init.zeros_(module.bias)
        for table in (self.region_pointer, self.distance_pointer, self.span_length, self.span_lines):
            nn.init.zeros_(table.weight)
        nn.init.zeros_(self.choice_bias.weight)
        for module, prior in ((self.default_bias, -2.0), (self.unsigned, -2.0)):
            nn.init.zeros_(module.weight)
            nn.init.constant_(module.bias, prior)
        for module in (self.value, self.anchor):
            nn.init.normal_(module.weight, std=0.02)
        nn.init.normal_(self.kind.weight, std=0.02)
        nn.init.normal_(self.state.weight, std=0.02)

    def _start_from_priors(self) -> None:
        """Initialises the weights with prior knowledge, so that training need not learn it.

        A slot's state starts from its question, a pointer prefers pieces similar to its slot, and a value stands behind
        the words of its label.
        """
        assert self.match_pointer.bias is not None
        with torch.no_grad():
            for module, share in ((self.ask, 1.0), (self.anchor, 0.5)):
                module.weight.mul_(0.1).add_(torch.eye(self.size.hidden) * share)
                module.bias.zero_()
            for slot, window in (
                (self.start_slot, self.start_window),
                (self.row_slot, self.row_window),
                (self.choice_slot, self.choice_option),
            ):
                window.weight.copy_(slot.weight)
            behind = torch.linspace(0.05, 0.3, 14)
            self.match.weight.mul_(0.3)
            for channel, strength in enumerate((1.0, 1.5, 0.3, 1.5)):
                # The kernel's place 20 is the piece itself; 6 to 19 stand before it.
                self.match.weight[channel, channel, 6:20] = strength * behind
                self.match_pointer.weight[0, channel] = 1.0
            # Pieces above: words similar to the label's, equal ones, words similar to the description's, phrases.
            for channel, strength in enumerate((0.3, 0.3, 0.1, 0.3)):
                self.match_above[channel, channel:ABOVE:BESIDE] = strength
            self.match_pointer.bias.zero_()
            self.match_attention.fill_(0.3)

    def encode_windows(self, sheet: Sheet) -> Tensor:
        """Returns the states of the windows: [N, T, H]."""
        return self.encoder(sheet.ids, sheet.mask, sheet.around)  # type: ignore[no-any-return]

    def encode_questions(self, questions: Questions) -> QuestionStates:
        """Returns the states of each question; they depend on no window."""
        x = self.encoder(questions.ids, questions.mask)
        m = questions.mask[..., None].to(x.dtype)
        vectors = (x * m).sum(1) / m.sum(1).clamp(min=1)
        missing = max(0, STATED + 1 - x.shape[1])
        states = F.pad(x, (0, 0, 0, missing))[:, 1 : STATED + 1]
        mask = F.pad(questions.mask, (0, missing))[:, 1 : STATED + 1]
        place = torch.arange(x.shape[1], device=x.device)
        inside = (place >= questions.named[..., :1]) & (place < questions.named[..., 1:])
        share = inside.to(x.dtype) / inside.sum(-1, keepdim=True).clamp(min=1)
        return QuestionStates(
            vectors,
            Statements(questions.label, questions.note, states, mask),
            torch.matmul(share, x),
            inside.any(-1),
        )

    def matches(
        self, sheet: Sheet, phrases: Phrases, board: Board, questions: Questions, of_document: Tensor | None = None
    ) -> Tensor:
        """Returns the similarity of the slots' words to the words at, before and above each piece: [N, S, 8, T].

        of_document: as in `signals`.
        """
        (n, s), width = board.question.shape, sheet.ids.shape[1]
        words, ngrams = self.encoder.words.weight, self.letters.weight
        with torch.no_grad(), torch.autocast(words.device.type, enabled=False):
            beside, above = signals(words, ngrams, sheet, phrases, board, questions, of_document)
            beside = F.pad(beside, (20, 3)).view(n * s, BESIDE, -1)
            # A convolution as a product of matrices for each slot: a library's may depend on the batch.
            near = beside.unfold(-1, self.match.kernel_size[0], 1).transpose(2, 3).reshape(n * s, -1, width)
            above = above.view(n * s, ABOVE, width)
        kernel = self.match.weight.flatten(1)
        assert self.match.bias is not None
        mixed = torch.matmul(kernel, near) + self.match.bias[:, None] + torch.matmul(self.match_above, above)
        return F.gelu(mixed).view(n, s, 8, width)

    def project_windows(self, states: Tensor) -> WindowStates:
        """Returns the projections of the windows' states, [N, T, H] from `encode_windows`; they depend on no slot."""
        layers = [layer for layer in self.decoder if isinstance(layer, Layer)]
        attention = (part for layer in layers for part in (layer.key, layer.value))
        pointers = (self.start_window, self.end_start, self.end_window, self.row_window)
        sizes = (self.size.hidden,) * 2 * len(layers) + (self.size.pointer,) * len(pointers) + (TAGS,)
        return WindowStates(states, torch.cat(project(states, *attention, *pointers, self.tag_window), -1), sizes)

    def decode(
        self, windows: WindowStates, sheet: Sheet, board: Board, vectors: Tensor, matches: Tensor
    ) -> DecoderOutput:
        """Decodes the slots: they attend to the window and to each other.

        windows: from `project_windows`; vectors: [Q, H] from `encode_questions`; matches from `matches`.
        """
        window = windows.states
        x = self.ask(vectors)[board.question] + self.kind(board.kind) + self.state(board.state)
        x = x + self._encode_committed(window, board) + self._encode_anchors(window, board)
        n, s, h = x.shape
        # All views' slots are rows of one matrix; only attention tells the views apart.
        x = self.slot_norm(x).view(n * s, h)
        region = regions(sheet, board)
        # Sums of products in a fixed order, so that no window's result depends on how many there are.
        weight, bias = self.match_pointer.weight, self.match_pointer.bias
        assert bias is not None
        spread = (matches * weight[0, :, 0][:, None]).sum(2) + bias
        # Slots that look for rows may not attend to slots with a known row: they would learn to copy its beginning, and
        # at inference there is nothing to copy.
        given_away = (board.kind == ROWS)[:, :, None] & (board.anchor >= 0)[:, None, :]
        hidden_slots = torch.where(board.mask[:, None, :] & ~given_away, 0.0, FLOOR)[:, None]
        hidden_window = torch.where(sheet.mask, 0.0, FLOOR)[:, None, None, :]
        for i, layer in enumerate(self.decoder):
            assert isinstance(layer, Layer)
            bias = self.region_attention[i][region].permute(0, 3, 1, 2) + hidden_window
            bias = bias + spread[:, None] * self.match_attention[i][None, :, None, None]
            bias = torch.cat([hidden_slots.expand(-1, bias.shape[1], -1, -1), bias], -1)
            queries, own_keys, own_values = layer.project(x, n)
            of_window = map(layer.split, windows.parts[2 * i : 2 * i + 2])
            keys, values = (torch.cat(both, 2) for both in zip((own_keys, own_values), of_window, strict=True))
            x = layer.attend(x, queries, keys, values, bias)
        place = torch.arange(sheet.ids.shape[1], device=window.device)
        distance = distance_buckets(place[None, None, :] - board.anchor[..., None])
        near = self.region_pointer(region)[..., 0] + self.distance_pointer(distance)[..., 0]
        in_row = (board.anchor >= 0)[..., None]
        return DecoderOutput(x.view(n, s, h), windows, spread + torch.where(in_row, near, 0.0))

    def _encode_committed(self, window: Tensor, board: Board) -> Tensor:
        """Returns the encoding of each slot's committed value: the states of its span, and the vectors of its words."""
        place = torch.arange(window.shape[1], device=window.device)
        inside = (place >= board.span[..., :1]) & (place < board.span[..., 1:])
        share = inside.to(window.dtype) / inside.sum(-1, keepdim=True).clamp(min=1)
        seen = torch.matmul(share, window)
        known = (board.words > 0)[..., None].to(window.dtype)
        words = (self.encoder.words(board.words).to(window.dtype) * known).sum(2) / known.sum(2).clamp(min=1)
        has_value = (board.state > 0)[..., None].to(window.dtype)
        return self.value(torch.cat([seen, words], -1)) * has_value  # type: ignore[no-any-return]

    def _encode_anchors(self, window: Tensor, board: Board) -> Tensor:
        at = board.anchor.clamp(min=0)[..., None].expand(-1, -1, window.shape[-1])
        anchored: Tensor = self.anchor(window.gather(1, at)) * (board.anchor >= 0)[..., None]
        return anchored

    def starts(self, decoded: DecoderOutput) -> Tensor:
        """Returns the logits of the piece at which a value starts: [N, S, T]."""
        scores = torch.matmul(self.start_slot(decoded.slots), decoded.windows.starts.transpose(-1, -2))
        kinds = torch.matmul(self.tag_slot(decoded.slots), decoded.windows.tags.softmax(-1).transpose(-1, -2))
        return scores / self.pointer_scale + kinds + decoded.pointer_bias

    def absences(self, decoded: DecoderOutput, starts: Tensor, allowed: Tensor, supported: Tensor) -> Tensor:
        """Returns the logits that the window does not hold the value: [N, S], from `starts` at the `allowed` pieces.

        The start pointer's own answer counts: [CLS] means "not here", as in reading comprehension with unanswerable
        questions (Rajpurkar et al. 2018, arXiv 1806.03822). Slots that point at nothing, such as choices, have no
        allowed places. They depend on their state and on `supported`, [N, S, SIGNS]: the window's support, the maximum
        over the options, 0 for other slots.
        """
        pointed = torch.where(allowed, starts.float(), FLOOR).logsumexp(-1)
        margin = torch.where(allowed.any(-1), starts[..., 0].float() - pointed, 0.0)
        first, middle, last = self.absent
        assert isinstance(last, nn.Linear)
        judged = (middle(first(decoded.slots)).float() * last.weight[0]).sum(-1) + last.bias
        return judged + self.absent_pointed * margin - (supported * self.absent_support).sum(-1)  # type: ignore[no-any-return]

    def ends(self, decoded: DecoderOutput, start: Tensor, line: Tensor) -> Tensor:
        """Returns the logits of the last piece of a value, given the first: start [N, S, K] to [N, S, K, T].

        line: [N, T]. Impossible ends (before the start, or too far behind it) get FLOOR.
        """
        n, s, k = start.shape
        t = line.shape[1]
        flat = start.reshape(n, -1)
        at_start = decoded.windows.end_starts.gather(1, flat[..., None].expand(-1, -1, self.size.pointer))
        query = self.end_slot(decoded.slots)[:, :, None] + at_start.view(n, s, k, -1)
        scores = torch.matmul(query.view(n, s * k, -1), decoded.windows.ends.transpose(-1, -2))
        scores = scores / self.pointer_scale
        length = torch.arange(t, device=start.device) - start[..., None]
        lines = (line[:, None, :] - line.gather(1, flat)[..., None]).view(n, s, k, t).clamp(0, 3)
        possible = (length >= 0) & (length < LONGEST_SPAN)
        scores = scores.view(n, s, k, t) + self.span_length(length.clamp(0, LONGEST_SPAN - 1))[..., 0]
        return torch.where(possible, scores + self.span_lines(lines)[..., 0], FLOOR)

    def rows(self, decoded: DecoderOutput) -> Tensor:
        """Returns the logits that an item of the slot's array begins at a piece: [N, S, T]."""
        scores = torch.matmul(self.row_slot(decoded.slots), decoded.windows.rows.transpose(-1, -2))
        return scores / self.pointer_scale + self.row_bias

    def choices(self, slots: Tensor, options: Tensor, printed: Tensor, supported: Tensor) -> Tensor:
        """Returns the logits of options, [C, O], of slots in the states [C, H].

        options: [C, O, H] vectors; printed: [C, O], 1.0 for options that the text prints; supported: [C, O, SIGNS].
        """
        query = self.choice_slot(slots)[:, None]
        scores = (query * self.choice_option(options)).sum(-1) / self.pointer_scale
        scores = scores + self.choice_bias(options)[..., 0] + (supported * self.choice_support).sum(-1)
        return scores + self.choice_printed * printed  # type: ignore[no-any-return]

    def boolean_scores(self, slots: Tensor, supported: Tensor) -> Tensor:
        """Returns the logits of BOOLEANS, [..., 2], of slots in the states [..., H]; supported: [..., SIGNS]."""
        # Sums of products in a fixed order, so that no slot's answer depends on the other slots.
        logits = (slots[..., None, :] * self.boolean.weight).sum(-1).float() + self.boolean.bias
        yes = (supported * self.boolean_support).sum(-1, keepdim=True)
        return logits + F.pad(yes, (0, 1))

    def defaults(self, slots: Tensor, named: Tensor, is_named: Tensor) -> Tensor:
        """Returns the log probabilities of an absent value's forms, [C, 1 + NAMED]: no value, or a named value.

        slots: [C, H] states; named, is_named: [C, NAMED, …] of their questions, from `encode_questions`.
        """
        query = self.default_slot(slots)[:, None]
        scores = (query * self.default_named(named)).sum(-1) / self.pointer_scale
        scores = (scores + self.default_bias(named)[..., 0]).float()
        scores = F.pad(torch.where(is_named, scores, FLOOR), (1, 0))
        return scores.log_softmax(-1)


#: The number of regions relative to a row's anchor; region 0 is for slots outside of rows.
REGIONS = 7
#: The number of buckets of the distance from a row's anchor.
DISTANCES = 18


def regions(sheet: Sheet, board: Board) -> Tensor:
    """Returns the region of each piece, relative to each slot's row: [N, S, T] int64 in [0, REGIONS)."""
    place = torch.arange(sheet.ids.shape[1], device=sheet.ids.device)[None, None, :]
    anchor, until = board.anchor[..., None], board.until[..., None]
    line = sheet.line[:, None, :]
    own_line = line == sheet.line.gather(1, board.anchor.clamp(min=0))[..., None]
    region = torch.where(own_line, 2, 1)
    region = torch.where(place >= anchor, torch.where(own_line, 3, 4), region)
    region = torch.where(place >= until, torch.where(own_line, 5, 6), region)
    return torch.where(anchor >= 0, region, 0)


def distance_buckets(distance: Tensor) -> Tensor:
    """Returns the bucket, in [0, DISTANCES), of each distance from an anchor, int64.

    Buckets are exact up to 3 pieces after the anchor, then powers of two; before it likewise.
    """
    size = distance.abs().clamp(min=1).float().log2().floor().long().clamp(max=7)
    after = torch.where(distance <= 3, distance.clamp(min=0), 2 + size)
    return torch.where(distance >= 0, after, 10 + size).clamp(0, DISTANCES - 1)
