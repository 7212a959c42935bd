"""Training examples of a diffusion language model: a prompt and its answer, and noisy copies of the answer.

A row of a batch is the clean text and pairs of noisy copies of its answer's blocks. A noisy block sees the clean blocks
before it and itself, as in decoding (block diffusion, arXiv 2503.09573). What one copy hides the other one mostly
shows (complementary masks, Fast-dLLM v2, 2509.26328). If logits are for the next position, a noisy place has the label
of the place behind it, and the first one of a block has its label at the clean token before it. If the clean text is
read token by token, its next-token loss is honest, and the model can answer token by token too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.nn.functional as F

from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.language.traits import Traits

#: The label of a position that has no loss.
NO_LOSS = -100
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TokenExample:
    """The tokens of a prompt and of its answer; the answer includes the end token."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


def answer_example(model: LanguageModel, messages: Sequence[dict[str, str]], record: str) -> TokenExample:
    """Returns the example of messages and the record's text that answers them."""
    prompt = model.chat.render(messages)
    return TokenExample(tuple(prompt), (*model.tokenizer.encode(record), model.tokenizer.end))


@dataclass(frozen=True, slots=True)
class Noise:
    """The shares of an answer's block that are hidden or wrong.

    tail: share of the blocks that hide everything from some position on, as decoding mostly sees them. near: so many
    hidden tokens of a tail have a loss in any case, and the share `beyond` of those behind them: decoding commits the
    first ones, and the others can hardly be known. wrong: share of the visible tokens that are replaced by others.
    pairs: pairs of noisy copies of one clean text. Prompts are longer than answers, so that two pairs have 1.6 times
    the tokens with a loss in the same time as one.
    """

    tail: float = 0.5
    near: int = 5
    beyond: float = 0.25
    wrong: float = 0.05
    pairs: int = 2


@dataclass(frozen=True, slots=True)
class DiffusionBatch:
    """R rows of T places.

    A row has C places of clean text, then 2 * `pairs` noisy copies of N blocks of B places each. tokens, positions,
    labels: [R, T] int64; labels are NO_LOSS where there is no loss. corrupted: [R, T] bool, labels at visible tokens.
    sight: how the places see each other. clean: C.
    """

    tokens: torch.Tensor
    positions: torch.Tensor
    labels: torch.Tensor
    corrupted: torch.Tensor
    sight: Sight
    clean: int

    def to(self, device: torch.device) -> DiffusionBatch:
        """Returns the batch on this device."""
        return DiffusionBatch(
            self.tokens.to(device),
            self.positions.to(device),
            self.labels.to(device),
            self.corrupted.to(device),
            self.sight.to(device),
            self.clean,
        )


class Sight:
    """Attention over a batch: clean places see clean blocks up to their own, noisy ones those before and their block.

    A third of the cost of one masked attention over all places, of which noisy copies see few.
    """

    def __init__(
        self, positions: torch.Tensor, real: torch.Tensor, clean: int, block: int, origins: torch.Tensor | None = None
    ) -> None:
        """positions, real: [R, T]; `real` is False for padding. clean: places of clean text.

        origins: [R], where the first block of each row begins if its clean text is read token by token; None if it is
        read in blocks from position 0 on.
        """
        self.clean, self.block = clean, block
        held = real[:, None, :clean]
        self._among: torch.Tensor | None = None
        if origins is None:
            number = positions // block
            keys, own = number[:, None, :clean], number[:, :clean, None]
            # Padding sees the first block, so that its softmax is over something.
            self._among = (((keys <= own) & held) | (keys == 0)).unsqueeze(1)
            before = (keys < number[:, clean:, None]) & held
        else:
            # The padding of clean text is behind it, so that no real place sees it.
            noisy, first = positions[:, clean:, None], origins[:, None, None]
            before = (positions[:, None, :clean] < noisy - (noisy - first) % block) & held
        self._before = torch.where(before, 0.0, float("-inf")).unsqueeze(1)

    def to(self, device: torch.device) -> Sight:
        """Moves the masks to this device."""
        self._among = None if self._among is None else self._among.to(device)
        self._before = self._before.to(device)
        return self

    def __call__(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, _: int) -> torch.Tensor:
        """q: [R, H, T, W], k, v: [R, G, T, W]; returns the shape of q."""
        shared = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        clean, block = self.clean, self.block
        rows, heads, length, width = q.shape
        asked, keys, values = (x[:, :, :clean] for x in (q, k, v))
        among = self._among
        text = F.scaled_dot_product_attention(asked, keys, values, attn_mask=among, is_causal=among is None)
        asking = q[:, :, clean:] * width**-0.5
        shape = (rows, heads, (length - clean) // block, block, width)
        local_keys, local_values = (x[:, :, clean:].reshape(shape) for x in (k, v))
        earlier = asking @ k[:, :, :clean].transpose(-1, -2) + self._before.to(q.dtype)
        local = asking.reshape(shape) @ local_keys.transpose(-1, -2)
        shares = torch.cat([earlier, local.flatten(2, 3)], -1).softmax(-1).to(v.dtype)
        noisy = shares[..., :clean] @ v[:, :, :clean]
        noisy = noisy + (shares[..., clean:].reshape(*shape[:-1], block) @ local_values).flatten(2, 3)
        return torch.cat([text, noisy], 2)


def make_batch(
    examples: Sequence[TokenExample], traits: Traits, end: int, rng: random.Random, noise: Noise
) -> DiffusionBatch:
    """Returns these examples as one batch; after its answer a text goes on with end tokens up to the block's border.

    Raises ValueError for a model without a mask token.
    """
    block, mask = traits.block, traits.mask
    if mask is None or traits.noise != "mask":
        raise ValueError(f"{traits.family}: expected a model with a mask token")
    texts = [[*example.prompt, *example.answer] for example in examples]
    begins = [len(example.prompt) for example in examples]
    apart = traits.visibility == "token_causal"
    # Blocks of an answer begin behind its prompt if the prompt is read token by token.
    origins = begins if apart else [0] * len(texts)
    answered = [len(text) for text in texts]
    texts = [text + [end] * (-(len(text) - at) % block) for text, at in zip(texts, origins, strict=True)]
    first = [at + (begin - at) // block * block for begin, at in zip(begins, origins, strict=True)]
    clean = max(map(len, texts))
    noisy = max(len(text) - start for text, start in zip(texts, first, strict=True))
    length = clean + 2 * noise.pairs * noisy
    tokens = torch.full((len(texts), length), end)
    positions = torch.zeros(len(texts), length, dtype=torch.long)
    labels = torch.full((len(texts), length), NO_LOSS)
    corrupted = torch.zeros(len(texts), length, dtype=torch.bool)
    real = torch.zeros(len(texts), length, dtype=torch.bool)
    for row, (text, begin, start) in enumerate(zip(texts, begins, first, strict=True)):
        size = len(text)
        tokens[row, :size] = torch.tensor(text)
        positions[row, :size] = torch.arange(size)
        real[row, :size] = True
        if traits.shift:
            # A next-token loss within a block that is read whole would see its own answer.
            at = torch.arange(begin, answered[row]) if apart else torch.arange(start, size, block)
            at = at[at >= max(begin, 1)]
            labels[row, at - 1] = tokens[row, at]
        hidden: set[int] = set()
        for copy in range(2 * noise.pairs):
            hidden, silent = _hidden(begin, size, block, hidden if copy % 2 else None, rng, noise, start)
            place = clean + copy * noisy
            shown, wanted, wrong = _noisy(text, begin, start, hidden, silent, mask, rng, noise)
            if traits.shift:
                wanted, wrong = _shift(wanted, block, NO_LOSS), _shift(wrong, block, False)
            places = slice(place, place + size - start)
            tokens[row, places] = torch.tensor(shown)
            positions[row, places] = torch.arange(start, size)
            labels[row, places] = torch.tensor(wanted)
            corrupted[row, places] = torch.tensor(wrong)
            real[row, places] = True
    sight = Sight(positions, real, clean, block, torch.tensor(begins) if apart else None)
    return DiffusionBatch(tokens, positions, labels, corrupted, sight, clean)


def _shift(values: Sequence[_T], block: int, last: _T) -> list[_T]:
    """Returns values of whole blocks one place earlier; those of a block's first place are dropped."""
    return [last if at % block == 0 else values[at] for at in range(1, len(values) + 1)]


def _noisy(
    text: Sequence[int],
    begin: int,
    start: int,
    hidden: set[int],
    silent: set[int],
    mask: int,
    rng: random.Random,
    noise: Noise,
) -> tuple[list[int], list[int], list[bool]]:
    """Returns (tokens, labels, labels at visible tokens) of a noisy copy of a text from `start` on.

    silent: hidden positions without a loss.
    """
    shown: list[int] = []
    wanted: list[int] = []
    wrong: list[bool] = []
    for at in range(start, len(text)):
        token, label, visible = text[at], NO_LOSS, False
        if at in hidden:
            token, label = mask, NO_LOSS if at in silent else text[at]
        elif at >= begin:
            chance = rng.random()
            if chance < noise.wrong:
                token = rng.choice(text)
            # Right tokens have a loss as often as wrong ones, so that the model says how likely each is.
            if chance < 2 * noise.wrong:
                label, visible = text[at], True
        shown.append(token)
        wanted.append(label)
        wrong.append(visible)
    return shown, wanted, wrong


def _hidden(
    begin: int, end: int, block: int, other: set[int] | None, rng: random.Random, noise: Noise, first: int
) -> tuple[set[int], set[int]]:
    """Returns the hidden positions of a copy, and those of them that have no loss.

    `other` are the hidden positions of the first copy, None for that one. first: where the first block begins.
    """
    hidden: set[int] = set()
    silent: set[int] = set()
    for start in range(first, end, block):
        places = range(max(start, begin), min(start + block, end))
        if rng.random() < noise.tail:
            tail = places[rng.randrange(len(places)) :]
            hidden.update(tail)
            silent.update(at for at in tail[noise.near :] if rng.random() >= noise.beyond)
        elif other is not None:
            hidden.update(at for at in places if at not in other)
        else:
            share = rng.random()
            hidden.update(at for at in places if rng.random() < share)
    return hidden, silent
