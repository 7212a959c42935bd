"""Tiny random decoders of all kinds of attention and noise, a small tokenizer, and graphs of small records."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from cinnabar.engine.models.language.checkpoint import network_of
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.lifting import Vocabulary
from cinnabar.engine.models.language.traits import ExpertTraits, LocalTraits, Traits
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.operations import concat, literal

#: Texts of more than a byte: such as bridge the borders of values, and pieces of names.
PIECES = [
    '",', '", ', '", "', '":', '": ', '": "', '{"', '"}', ' "', "na", "name", "total", "da", "date", "20", "2024", "-0",
    "-1", "tr", "true", "fal", "false", "null", "nu", "ll", "ab", "the", "kind", "é", "1.", "00", ": ", ", ",
]  # fmt: skip
TEXTS: list[bytes | None] = [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in PIECES)]
END, MASK = len(TEXTS), len(TEXTS) + 1
VOCABULARY = Vocabulary([*TEXTS, None, None], END)


class TinyTokenizer:
    """Takes the longest piece at each place."""

    vocabulary, end = VOCABULARY, END

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        left, found = text.encode(), list[int]()
        while left:
            fitting = [token for token, piece in enumerate(TEXTS) if piece and left.startswith(piece)]
            found.append(max(fitting, key=lambda token: len(TEXTS[token] or b"")))
            left = left[len(TEXTS[found[-1]] or b"") :]
        return found


TOKENIZER = TinyTokenizer()
BLOCK = Traits(
    family="tiny", vocabulary=VOCABULARY.size, width=32, layers=2, heads=4, key_heads=2, head_width=8, inner=48,
    epsilon=1e-6, window=4096, visibility="block_causal", block=8, mask=MASK, qk_norm=True,
)  # fmt: skip
REVISING = replace(BLOCK, revises=True)
CAUSAL = replace(BLOCK, visibility="causal", noise="none", block=1, mask=None, shift=True)
BLOCK_SHIFTED = replace(BLOCK, shift=True)
TOKEN_CAUSAL = replace(BLOCK, visibility="token_causal")
MIXTURE = ExpertTraits(count=6, chosen=2, inner=16, shared=16, groups=2, dense=1)
EXPERTS = replace(BLOCK, experts=MIXTURE, rotary_width=4)
UNIFORM = replace(
    TOKEN_CAUSAL, mask=None, noise="uniform", revises=True, tied=True, key_heads=1, head_width=16, softcap=20.0,
    rope={"rope_type": "proportional", "partial_rotary_factor": 0.25},
    experts=ExpertTraits(count=4, chosen=2, inner=16),
    local=LocalTraits(sliding=(True, False), window=6, key_heads=2, head_width=8),
)  # fmt: skip
KINDS = {
    "block": BLOCK,
    "revising": REVISING,
    "block with shift": BLOCK_SHIFTED,
    "token-causal": TOKEN_CAUSAL,
    "experts": EXPERTS,
    "causal": CAUSAL,
    "uniform noise": UNIFORM,
}
#: One kind of each way of seeing an open block: the quick tests of what does not depend on the kind.
FEW_KINDS = ("revising", "token-causal", "block with shift")
#: The kinds that are read with a cache.
CACHED = {kind: traits for kind, traits in KINDS.items() if traits.noise != "uniform"}


def decoder(traits: Traits, seed: int = 0, scale: float = 6.0) -> Decoder:
    """A random decoder; a larger scale makes it surer."""
    torch.manual_seed(seed)
    made = network_of(traits)
    made.lm_head.weight.data *= scale
    return made.eval()


def record(properties: dict[str, Any]) -> tuple[Automaton, Callable[[bytes], bool], bytes]:
    """The automaton of records with these properties, all required; whether a text is such a record; a smallest one."""
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    form = compile_schema(schema).form
    parts: list[Automaton] = []
    for at, (name, slot) in enumerate(zip(properties, form.slots, strict=True)):
        parts += [literal(f"{', ' if at else '{'}{json.dumps(name)}: ".encode()), slot.automaton]
    automaton = concat(*parts, literal(b"}"))

    def judge(text: bytes) -> bool:
        return form.judge is None or form.judge.accepts(json.loads(text))

    return automaton, judge, automaton.shortest() or b""
