"""The baseline: a decoder with blocks of one token, under the masks of xgrammar and its jump-forward string.

One token is chosen a pass. Text that the grammar forces behind it is read in the same pass as the token, as engines
with jump-forward decoding do; the tokens of that text are the tokenizer's own.

The decoder reads as the traits say. With the shift, as autoregressive models do, the last token read scores the next
one. Without it a mask token is read behind it, whose keys are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import xgrammar

from bench.engine.figures import clock
from cinnabar.engine.models.language.cache import CacheRow, PagedCache
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.pages import Ints
from cinnabar.engine.models.language.passes import Passes, Piece
from cinnabar.engine.models.language.tokenizer import Tokenizer

#: Tokens of a prompt that are read in one pass, at most.
PREFILL = 512
#: Pages of the cache, of which memory is taken as they are used.
PAGES = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """What the baseline wrote: the text, forward passes without those of the prompt, tokens that the model chose."""

    text: bytes
    passes: int
    chosen: int
    ended: bool


class Grammars:
    """Compiles schemas to grammars over a model's tokens; texts are those that `json.dumps` writes on one line."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        texts = [tokenizer.decode([token]) for token in range(tokenizer.size)]
        # Tokens without text are special for xgrammar, too; it never allows them.
        info = xgrammar.TokenizerInfo(
            texts, xgrammar.VocabType.RAW, vocab_size=tokenizer.size, stop_token_ids=[tokenizer.end]
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def compile(self, schema: Any) -> xgrammar.CompiledGrammar:
        """Returns the grammar of a schema's records."""
        return self._compiler.compile_json_schema(schema, any_whitespace=False, separators=(", ", ": "))


class _Row:
    """One answer while it is written."""

    def __init__(self, index: int, prompt: Sequence[int], grammar: xgrammar.CompiledGrammar, budget: int) -> None:
        self.index, self.budget = index, budget
        self.matcher = xgrammar.GrammarMatcher(grammar)
        self.pending: list[int] = []
        self.held = CacheRow([])
        self.read = len(prompt)
        self.text = b""
        self.passes = self.chosen = self.written = 0
        self.ended = False

    @property
    def over(self) -> bool:
        return self.ended or self.written >= self.budget


class Autoregressive:
    """Writes records token by token. `prefill` and `decoding` have the seconds spent so far."""

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer) -> None:
        traits = decoder.traits
        if traits.block != 1:
            raise ValueError(f"expected a decoder with blocks of one token, got {traits.block}")
        self.decoder, self.tokenizer = decoder, tokenizer
        self.prefill = self.decoding = 0.0
        self._mask = [] if traits.shift else [traits.mask or 0]
        self._spelled: dict[bytes, list[int]] = {}
        dtype = decoder.model.norm.weight.dtype
        self._cache = PagedCache(traits, PAGES, decoder.device, dtype)
        self._passes = Passes(decoder, self._cache)

    @torch.inference_mode()
    def write(
        self,
        prompts: Sequence[Sequence[int]],
        grammars: Sequence[xgrammar.CompiledGrammar],
        budget: int,
        follow: Sequence[bytes] | None = None,
    ) -> list[Answer]:
        """Returns the answers to these prompts, written in one batch.

        With `follow` the text of each answer is given: all is computed, and then the token of that text is taken.
        """
        begin = clock()
        rows = [_Row(at, *pair, budget) for at, pair in enumerate(zip(prompts, grammars, strict=True))]
        self._read_prompts(rows, prompts)
        for row, prompt in zip(rows, prompts, strict=True):
            # The last token of the prompt is read with the first pass.
            row.read -= 1
            row.pending = [prompt[-1]]
            self._jump(row)
        read = clock()
        self.prefill += read - begin
        whole = list(rows)
        bitmask = xgrammar.allocate_token_bitmask(len(rows), self.tokenizer.size)
        while rows:
            logits = self._pass(rows)
            for at, row in enumerate(rows):
                row.matcher.fill_next_token_bitmask(bitmask, at)
            xgrammar.apply_token_bitmask_inplace(logits, bitmask[: len(rows)])
            for row, token in zip(rows, logits.argmax(-1).tolist(), strict=True):
                self._take(row, token if follow is None else self._given(row, follow[row.index]))
            for row in rows:
                if row.over:
                    self._cache.close(row.held)
            rows = [row for row in rows if not row.over]
        self.decoding += clock() - read
        return [Answer(row.text, row.passes, row.chosen, row.ended) for row in whole]

    def _read_prompts(self, rows: Sequence[_Row], prompts: Sequence[Sequence[int]]) -> None:
        for row, prompt in zip(rows, prompts, strict=True):
            for at in range(0, len(prompt) - 1, PREFILL):
                part = np.array(prompt[at : min(at + PREFILL, len(prompt) - 1)], np.int64)
                self._read([(row.held, at, part)], 0)

    def _pass(self, rows: Sequence[_Row]) -> torch.Tensor:
        """Reads what is not in the cache yet; returns the scores [R, V] float32 of the next tokens."""
        inputs = [np.array([*row.pending, *self._mask], np.int64) for row in rows]
        hidden = self._read([(row.held, row.read, text) for row, text in zip(rows, inputs, strict=True)], 1)
        for row in rows:
            row.read += len(row.pending)
            row.pending = []
            row.passes += 1
        return self.decoder.logits(hidden).float()

    def _read(self, parts: Sequence[tuple[CacheRow, int, Ints]], wanted: int) -> torch.Tensor:
        """Returns [R, D], the hidden states of the last token of each part."""
        for row, begin, tokens in parts:
            if not self._cache.extend(row, begin + len(tokens)):
                raise ValueError("expected room for each text")
        pieces = [
            Piece(row, begin, tokens, None, begin + np.arange(len(tokens) - wanted, len(tokens)))
            for row, begin, tokens in parts
        ]
        return self._passes(pieces)

    def _take(self, row: _Row, token: int) -> None:
        if not row.matcher.accept_token(token):
            raise ValueError(f"the grammar refuses the token {token} behind {row.text!r}")
        row.chosen += 1
        row.written += 1
        row.pending.append(token)
        if row.matcher.is_terminated():
            row.ended = True
        else:
            row.text += self.tokenizer.decode([token])
            self._jump(row)

    def _jump(self, row: _Row) -> None:
        """Writes the text that the grammar forces."""
        forced: str = row.matcher.find_jump_forward_string()
        if forced:
            tokens = self.tokenizer.encode(forced)
            row.matcher.accept_string(forced)
            row.text += forced.encode()
            row.pending += tokens
            row.written += len(tokens)

    def _given(self, row: _Row, text: bytes) -> int:
        rest = text[len(row.text) :]
        if not rest:
            return self.tokenizer.end
        if rest not in self._spelled:
            # A second call with the same texts pays nothing for this.
            self._spelled[rest] = self.tokenizer.encode(rest.decode())[:1]
        return self._spelled[rest][0]


def causal(decoder: Decoder, shift: bool) -> Decoder:
    """Returns a decoder with the same weights and blocks of one token; with `shift` it reads as causal models do."""
    like = decoder.traits
    if shift:
        traits = replace(like, visibility="causal", noise="none", block=1, shift=True)
    else:
        traits = replace(like, visibility="block_causal", block=1, shift=False)
    with torch.device("meta"):
        made = Decoder(traits)
    made.load_state_dict(decoder.state_dict(), assign=True)
    if traits.tied:
        made.lm_head.weight = made.model.embed_tokens.weight
    return made.eval().requires_grad_(False)
