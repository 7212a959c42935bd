"""The transformer body: BERT's encoder layer, the same layer as a decoder of slots over a window, and their states.

After Devlin et al. 2018 (arXiv 1810.04805), with the sizes of MiniLM (Wang et al. 2020, arXiv 2002.10957). A decoder
layer is an encoder layer with the slots as queries, and with slots and window together as keys, so it starts from
pretrained weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cinnabar.engine.models.int8_matmul import project
from cinnabar.engine.models.reader.inputs.wordpieces import CASES, GAPS, PLACES
from cinnabar.engine.models.reader.network.support import Statements

#: The logit of an impossible place; it is finite, so that no arithmetic makes a NaN of it.
FLOOR = -1e4


class Layer(nn.Module):
    """One transformer layer, normalised after each part as in BERT."""

    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.inner = nn.Linear(hidden, inner)
        self.outer = nn.Linear(inner, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)

    def split(self, x: Tensor) -> Tensor:
        """Reshapes [N, L, H] to [N, heads, L, H / heads]."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def attend(self, x: Tensor, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        """Attends from x, [N Q, H], with its queries, [N, heads, Q, D], to keys and values, [N, heads, K, D].

        bias: like [N, heads, Q, K], added to the scores. Returns a tensor like x.
        """
        if _plain_is_faster(queries, bias):
            scores = torch.matmul(queries * (1 / math.sqrt(queries.shape[-1])), keys.transpose(-1, -2))
            with torch.autocast(x.device.type, enabled=False):
                weights = torch.softmax(scores + bias.to(scores.dtype), -1)
            mixed = torch.matmul(weights, values)
        else:
            mixed = F.scaled_dot_product_attention(
                queries, keys, values, bias if bias.dtype == queries.dtype else bias.to(queries.dtype)
            )
        x = self.attention_norm(x + self.output(mixed.transpose(1, 2).reshape(x.shape)))
        out: Tensor = self.norm(x + self.outer(F.gelu(self.inner(x))))
        return out

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Applies self-attention within each of N windows: x is [N L, H], bias [N, 1, 1, L]."""
        return self.attend(x, *self.project(x, len(bias)), bias)

    def project(self, x: Tensor, windows: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the queries, keys and values of x, [N L, H] of N windows: [N, heads, L, H / heads] each."""
        every = torch.cat(project(x, self.query, self.key, self.value), -1)
        parts = every.view(windows, -1, 3 * self.heads, x.shape[-1] // self.heads).transpose(1, 2).chunk(3, 1)
        return parts[0], parts[1], parts[2]


def _plain_is_faster(q: Tensor, bias: Tensor) -> bool:
    """Returns whether plain matrix products with a softmax in the scores' precision beat fused attention.

    One core, forward and backward: in bfloat16 with its instructions (8 windows of 416 pieces) 52 ms, fused 125 ms,
    with the softmax that autocast takes to float32 280 ms; in float32 without them (20 windows of 320) 450 ms, fused
    140 ms, forward alone 217 and 45 ms. Fused attention has no gradient of the bias.
    """
    return bias.requires_grad or (q.device.type == "cpu" and q.dtype == torch.bfloat16)


class Encoder(nn.Module):
    """Encodes windows of word pieces, together with their case, gaps and places on the page."""

    def __init__(self, vocabulary: int, hidden: int, layers: int, heads: int, inner: int, positions: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.words.weight.requires_grad_(False)
        self.positions = nn.Embedding(positions, hidden)
        self.segment = nn.Parameter(torch.zeros(hidden))
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        # The features that word pieces lose. They are zero at first, so that the pretrained body works unchanged.
        self.case = nn.Embedding(len(CASES), hidden)
        self.gap = nn.Embedding(len(GAPS), hidden)
        self.x = nn.Embedding(PLACES, hidden)
        self.y = nn.Embedding(PLACES, hidden)
        for extra in (self.case, self.gap, self.x, self.y):
            nn.init.zeros_(extra.weight)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner) for _ in range(layers))

    def forward(self, ids: Tensor, mask: Tensor, surroundings: Tensor | None = None) -> Tensor:
        """Returns the states of the last layer: [N, T, H].

        ids: [N, T] int64, mask: [N, T] bool, surroundings: [N, T, 4] int64 (case, gap, x, y) or None.
        """
        place = torch.arange(ids.shape[1], device=ids.device)
        e = self.words(ids) + self.positions(place) + self.segment
        if surroundings is not None:
            e = e + self.case(surroundings[..., 0]) + self.gap(surroundings[..., 1])
            e = e + self.x(surroundings[..., 2]) + self.y(surroundings[..., 3])
        # All windows' pieces are rows of one matrix; only attention tells the windows apart.
        x: Tensor = self.norm(e).view(-1, e.shape[-1])
        bias = torch.where(mask, 0.0, FLOOR)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        return x.view(e.shape)


@dataclass(frozen=True, slots=True)
class QuestionStates:
    """The states of Q questions.

    vectors: [Q, H], the mean of each question's states; statements: each as a statement, [Q, …]; named: [Q, NAMED, H],
    the mean of the states of each value that it names, 0 if there is none; is_named: [Q, NAMED] bool.
    """

    vectors: Tensor
    statements: Statements
    named: Tensor
    is_named: Tensor

    @classmethod
    def cat(cls, parts: Sequence[QuestionStates]) -> QuestionStates:
        """Returns all parts, one after the other."""
        vectors, named, is_named = (
            torch.cat([getattr(p, name) for p in parts]) for name in ("vectors", "named", "is_named")
        )
        return cls(vectors, Statements.cat([p.statements for p in parts]), named, is_named)


# Compared by identity: to compare tensors of other sizes is an error.
@dataclass(slots=True, eq=False)
class WindowStates:
    """N windows of T pieces, projected for the decoder and the pointers; they depend on no question.

    states: [N, T, H]; projected: [N, T, …], in this order the keys and the values of each layer of the decoder, H each,
    then four projections that the pointers compare with slots, and the logits of the tags; sizes: the values of each.
    """

    states: Tensor
    projected: Tensor
    sizes: tuple[int, ...]
    _parts: tuple[Tensor, ...] = ()

    def __len__(self) -> int:
        return len(self.states)

    @property
    def parts(self) -> tuple[Tensor, ...]:
        """The projections one by one: [N, T, size] each."""
        self._parts = self._parts or torch.split(self.projected, list(self.sizes), -1)
        return self._parts

    @property
    def starts(self) -> Tensor:
        """The query that starts are compared with."""
        return self.parts[-5]

    @property
    def end_starts(self) -> Tensor:
        """The addend to a slot's query for the end, given the start."""
        return self.parts[-4]

    @property
    def ends(self) -> Tensor:
        """The query that ends are compared with."""
        return self.parts[-3]

    @property
    def rows(self) -> Tensor:
        """The query that beginnings of rows are compared with."""
        return self.parts[-2]

    @property
    def tags(self) -> Tensor:
        """The logits of the kinds of value that each piece may be part of: [N, T, TAGS]."""
        return self.parts[-1]

    @classmethod
    def cat(cls, parts: Sequence[WindowStates]) -> WindowStates:
        """Returns the windows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        states, projected = (torch.cat([getattr(p, name) for p in parts]) for name in ("states", "projected"))
        return cls(states, projected, parts[0].sizes)

    def windows(self, chosen: Sequence[int]) -> WindowStates:
        """Returns these windows, in this order."""
        first, count = chosen[0], len(chosen)
        if list(chosen) == list(range(first, first + count)):
            if count == len(self):
                return self
            return WindowStates(self.states[first : first + count], self.projected[first : first + count], self.sizes)
        at = torch.tensor(chosen, device=self.states.device)
        return WindowStates(self.states.index_select(0, at), self.projected.index_select(0, at), self.sizes)


@dataclass(slots=True)
class DecoderOutput:
    """The decoder's output: the states of slots, [N, S, H], the windows, and biases on pointers, [N, S, T]."""

    slots: Tensor
    windows: WindowStates
    pointer_bias: Tensor
