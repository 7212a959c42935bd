"""The passes of a model whose open positions hold random tokens, as DiffusionGemma's do.

A text is read causally, once. The open block is a canvas: its open positions hold tokens that are drawn anew for each
pass, and it sees itself, the text before it, and what the last pass expected of it. A finished canvas is read again as
text, with the first pass of the next one. A canvas ends where the budget of its answer ends, so no pass denoises
positions that no answer has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from cinnabar.engine.language.sequences import Block, OpenSequence
from cinnabar.engine.models.language.arrays import Ints
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma, Held, PassText
from cinnabar.engine.models.language.memory import cache_budget, free_memory, position_numbers

#: Tokens of a text that are read in one pass, at most; passes end at multiples of them.
PREFILL = 256
#: A pass expects tokens by its logits divided by a temperature, which falls from MAX to MIN over so many passes: the
#: sampler of the family (`generation_diffusion_gemma.py` of `transformers`) was published with these.
MAX_TEMPERATURE, MIN_TEMPERATURE, PASSES = 0.8, 0.4, 48


@dataclass(slots=True)
class _CachedSequence:
    """The kept state of one sequence.

    seed: of its random tokens. length: how many of its tokens were read as text. held: their keys and values by layer.
    canvas: the first position of the canvas that was read last. states: [C, D], its hidden states. passes: how often it
    was read. most: the bytes that its keys and values may come to take.
    """

    seed: bytes
    length: int = 0
    held: list[Held] = field(default_factory=list)
    canvas: int = -1
    states: torch.Tensor | None = None
    passes: int = 0
    most: int = 0


class NoiseContext:
    """Reads sequences whose open positions hold random tokens.

    end: the end token. room: the bytes that keys and values may take; without it they take their share of the memory
    that is free now.
    """

    def __init__(self, decoder: DiffusionGemma, end: int, room: int | None = None) -> None:
        self._decoder, self._end = decoder, end
        free = free_memory(decoder.device)
        #: None where the system does not tell what is free.
        self._room = room if room is not None or free is None else cache_budget(free)
        local = decoder.traits.local
        assert local is not None
        self._local = local
        #: Positions that a layer with a window keeps: two canvases can be taken back.
        self._most = local.window + 2 * decoder.traits.block
        self._texts: dict[int, _CachedSequence] = {}

    def clear(self) -> None:
        """Drops all sequences."""
        self._texts = {}

    def refusal(self, tokens: int) -> str | None:
        """Returns why the keys and values of so many tokens never fit into the memory, None if they do."""
        if self._room is None or (size := self._bytes(tokens)) <= self._room:
            return None
        return (
            f"the keys and values of prompt and answer may take {size:,} bytes, and the memory has room for"
            f" {self._room:,}; use a smaller context"
        )

    def join(self, sequence: OpenSequence) -> bool:
        """Takes a sequence in if the memory has room for it when all texts are at their longest."""
        wanted = self._bytes(sequence.limit)
        if self._room is not None and self._texts and wanted + sum(t.most for t in self._texts.values()) > self._room:
            return False
        self._join(sequence).most = wanted
        return True

    def _bytes(self, positions: int) -> int:
        """Returns the memory of the keys and values of a text; layers with a window keep a part of it."""
        local = self._local
        near = 2 * local.sliding.count(True) * local.key_heads * local.head_width
        held = position_numbers(self._decoder.traits) * positions + near * min(positions, self._most)
        return held * self._decoder.model.norm.weight.element_size()

    def leave(self, sequence: OpenSequence, spoilt: bool = False) -> None:  # noqa: ARG002, as in `PagedContext`
        """Drops the text of a sequence, spoilt or not: no other one has a part of it."""
        self._texts.pop(id(sequence), None)

    def count_cached(self, _: OpenSequence) -> int:
        """Returns 0: each sequence reads its own prompt."""
        return 0

    def hidden(self, sequences: Sequence[OpenSequence], wanted: Sequence[Ints]) -> tuple[list[int], torch.Tensor]:
        """Reads the open canvas of each sequence, and its full block if there is one; all sequences are scored."""
        readings: list[PassText] = []
        read: list[tuple[_CachedSequence, Block, Ints]] = []
        for sequence, at in zip(sequences, wanted, strict=True):
            text = self._join(sequence)
            # A full block is scored as a canvas, while the next one sees it as text.
            for block in (sequence.checked, sequence.block):
                if block is not None:
                    readings.append(self._read_block(sequence, text, block))
                    read.append((text, block, at[(at >= block.begin) & (at < block.stop)]))
        states, made = self._decoder.read(readings)
        # Of two readings of one sequence the second one has read more as text.
        after = {id(text): (text, place) for place, (text, _, _) in enumerate(read)}
        for text, place in after.values():
            reading = readings[place]
            self._extend(text, reading.opened, made[place])
            text.passes = text.passes + 1 if text.canvas == reading.opened else 1
            text.canvas, text.states = reading.opened, states[place][reading.opened - reading.begin :]
        picked = [
            one[torch.from_numpy(at - reading.begin).to(one.device)]
            for one, reading, (_, _, at) in zip(states, readings, read, strict=True)
        ]
        return [*range(len(sequences))], torch.cat(picked)

    def rewind(self, sequence: OpenSequence, begin: int) -> None:
        """Drops the canvas from this border of blocks on, and the keys behind it."""
        text = self._texts[id(sequence)]
        if text.canvas >= begin:
            text.canvas, text.states, text.passes = -1, None, 0
        many = text.length - begin
        if many <= 0:
            return
        first = text.length - min(keys.shape[1] for keys, _ in text.held)
        if first > max(begin - self._local.window + 1, 0):
            # Keys that are seen from there on were dropped, so the text is read anew.
            text.length, text.held = 0, []
            return
        text.held = [(keys[:, :-many], values[:, :-many]) for keys, values in text.held]
        text.length = begin

    def shown(self, sequence: OpenSequence, begin: int, stop: int) -> Ints:
        """Returns the tokens of a canvas in the next pass: random ones in open positions, end tokens behind an end.

        They depend on the request and on the number of its pass alone.
        """
        tokens, many = sequence.tokens[begin:stop], stop - begin
        seed = self._join(sequence).seed + sequence.passes.to_bytes(8, "little")
        drawn = np.frombuffer(hashlib.shake_256(seed).digest(8 * many), "<u8") % self._decoder.traits.vocabulary
        behind = np.logical_or.accumulate(tokens == self._end)
        return np.where(tokens >= 0, tokens, np.where(behind, self._end, drawn.astype(np.int64)))

    def _join(self, sequence: OpenSequence) -> _CachedSequence:
        """Returns what is kept of a sequence."""
        text = self._texts.get(id(sequence))
        if text is None:
            seed = hashlib.sha256(np.array(sequence.task.prompt, "<i8").tobytes()).digest()
            text = self._texts[id(sequence)] = _CachedSequence(seed)
        return text

    def _read_block(self, sequence: OpenSequence, text: _CachedSequence, block: Block) -> PassText:
        # A prompt is read in passes of its own, however short it is.
        if text.length < sequence.begin or block.begin - text.length > self._decoder.traits.block:
            self._read(text, sequence.tokens, block.begin)
        tokens = np.concatenate(
            [sequence.tokens[text.length : block.begin], self.shown(sequence, block.begin, block.stop)]
        )
        expected = None
        if text.states is not None and text.canvas == block.begin:
            expected = self._decoder.expected_embeddings(text.states, temperature(text.passes))
        return PassText(self._to_device(tokens), text.length, block.begin, text.held, expected)

    def _read(self, text: _CachedSequence, tokens: Ints, end: int) -> None:
        """Reads the tokens of a text up to this position."""
        while text.length < end:
            stop = min((text.length // PREFILL + 1) * PREFILL, end)
            part = PassText(self._to_device(tokens[text.length : stop]), text.length, stop, text.held)
            self._extend(text, stop, self._decoder.read([part])[1][0])

    def _extend(self, text: _CachedSequence, end: int, made: Sequence[Held]) -> None:
        """Keeps the keys and values of a text up to this position; `made` begins where the text ended."""
        many = end - text.length
        if not many:
            return
        kept: list[Held] = []
        for layer, (keys, values) in enumerate(made):
            keys, values = keys[:, :many], values[:, :many]
            if text.held:
                keys = torch.cat([text.held[layer][0], keys], 1)
                values = torch.cat([text.held[layer][1], values], 1)
            if self._local.sliding[layer] and keys.shape[1] > self._most:
                keys, values = keys[:, -self._most :], values[:, -self._most :]
            # Parts of a pass would hold all of it.
            kept.append((keys.clone(), values.clone()))
        text.held, text.length = kept, end

    def _to_device(self, tokens: Ints) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(tokens)).to(self._decoder.device)


def temperature(passes: int) -> float:
    """Returns what the logits of the last one of so many passes of a canvas are divided by."""
    return MIN_TEMPERATURE + (MAX_TEMPERATURE - MIN_TEMPERATURE) * max(PASSES - passes + 1, 1) / PASSES
