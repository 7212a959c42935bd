"""Decoding time against the same body with blocks of one token, xgrammar's masks and its jump-forward string.

The baseline writes the very records that the diffusion model wrote, so that both have the same work: its pass, its mask
and its choice are computed, and then the record's token is taken. It reads causally with the shift, which is the
cheapest pass there is, one token for each that is chosen. Beside it the same weights choose for themselves, with a mask
token behind the text: that tells what records they make one token a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from bench.engine.autoregressive import Autoregressive, Grammars, causal
from bench.engine.figures import Figure, Settings, mean
from bench.engine.growth import HALF_BILLION, grown
from bench.engine.workload import SLOT, TimedDenoiser, Work, held_back_pages, record_of, small_model, value_f1, work_of
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.language.tokenizer import Tokenizer, TokenizerFile

FIELDS, PAGES, FEW = 12, 16, 4
#: Documents of one batch, for documents/s.
BATCH = 8
FASTER = 2.0


@dataclass(frozen=True, slots=True)
class Side:
    """Seconds of decoding and of prefill, passes, and the records' texts."""

    decoding: float
    prefill: float
    passes: int
    texts: list[bytes]


def diffusion(model: LanguageModel, works: Sequence[Work], batch: int, repeat: int) -> Side:
    """Decodes in batches; times are the least of some."""
    sides = []
    denoiser = TimedDenoiser(model.decoder, model.tokenizer, "medium")
    for _ in range(1 + repeat):
        denoiser.prefill = denoiser.decoding = 0.0
        found = [one for at in range(0, len(works), batch)
                 for one in denoiser.decode([work.task for work in works[at : at + batch]])]  # fmt: skip
        decoded = [one for one in found if isinstance(one, Decoded)]
        passes = sum(one.passes for one in decoded)
        sides.append(Side(denoiser.decoding, denoiser.prefill, passes, [one.text for one in decoded]))
    return min(sides[1:], key=lambda side: side.decoding)


def baseline(
    model: LanguageModel, works: Sequence[Work], batch: int, repeat: int, follow: Sequence[bytes] | None
) -> Side:
    """Decodes in batches, token by token; times are the least of some."""
    sides = []
    writer = Autoregressive(causal(model.decoder, shift=follow is not None), model.tokenizer)
    grammars = Grammars(model.tokenizer)
    made = [grammars.compile(work.page.schema) for work in works]
    for _ in range(1 + repeat):
        writer.prefill = writer.decoding = 0.0
        found = []
        for at in range(0, len(works), batch):
            part = slice(at, at + batch)
            given = None if follow is None else follow[part]
            prompts = [work.task.prompt for work in works[part]]
            found += writer.write(prompts, made[part], SLOT * FIELDS if given is None else max(map(len, given)), given)
        sides.append(
            Side(writer.decoding, writer.prefill, sum(one.passes for one in found), [one.text for one in found])
        )
    return min(sides[1:], key=lambda side: side.decoding)


def half_billion(settings: Settings, model: LanguageModel) -> LanguageModel:
    """The same model in the shape of half a billion parameters and 151,936 tokens, in bfloat16 as such models come."""
    size = HALF_BILLION.vocabulary
    end = next(text for text, token in model.tokenizer.added.items() if token.id == model.tokenizer.end)
    tokenizer = Tokenizer(TokenizerFile(settings.model), size, end, model.traits.mask)
    return replace(model, decoder=grown(model.decoder, HALF_BILLION, torch.bfloat16), tokenizer=tokenizer)


def compared(name: str, model: LanguageModel, works: Sequence[Work], repeat: int) -> Iterator[Figure]:
    """Takes the figures of one body."""
    ours = diffusion(model, works, 1, repeat)
    theirs = baseline(model, works, 1, repeat, ours.texts)
    if theirs.texts != ours.texts:
        raise ValueError("expected the baseline to write the given records")
    faster, count = theirs.decoding / ours.decoding, len(works)
    yield Figure(
        f"decoding time, block 1 with xgrammar and jump-forward : ours, records of {FIELDS} fields, one at a time,"
        f" {name}",
        f">= {FASTER:.1f}",
        f"{faster:.2f} ({1000 * theirs.decoding / count:.0f} : {1000 * ours.decoding / count:.0f} ms a record;"
        f" {theirs.passes / count:.1f} : {ours.passes / count:.1f} passes)",
        faster >= FASTER,
    )
    rates = [f"{count / (side.decoding + side.prefill):.2f}" for side in (ours, theirs)]
    yield Figure("the same: documents/s with their prompts, ours : block 1", "reported", " : ".join(rates))
    if count < BATCH:
        return
    ours = diffusion(model, works, BATCH, repeat)
    theirs = baseline(model, works, BATCH, repeat, ours.texts)
    yield Figure(
        f"the same, {BATCH} in a batch: decoding; documents/s with their prompts, ours : block 1",
        "reported",
        f"{theirs.decoding / ours.decoding:.2f}; {count / (ours.decoding + ours.prefill):.2f} :"
        f" {count / (theirs.decoding + theirs.prefill):.2f}",
    )


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figures of the small body."""
    model = small_model(settings)
    pages = held_back_pages(settings, PAGES, asked=FIELDS)
    works = [work_of(model, page) for page in pages]
    yield from compared(_size(model), model, works, repeat=2)
    own = baseline(model, works, 1, 1, None)
    ours = diffusion(model, works, 1, 1)
    f1 = [value_f1(pages, [record_of(text) for text in side.texts]) for side in (ours, own)]
    valid = mean([float(work.accepts(text)) for work, text in zip(works, own.texts, strict=True)])
    yield Figure(
        "the same weights choosing one token a pass for themselves, block 1: F1 and valid records; ours",
        "reported",
        f"{f1[1]:.3f}, {valid:.0%} ({own.passes / len(pages):.1f} passes,"
        f" {1000 * own.decoding / len(pages):.0f} ms a record); {f1[0]:.3f}",
    )


def measure_large(settings: Settings) -> Iterator[Figure]:
    """Takes the figures of the large body, over fewer pages."""
    model = half_billion(settings, small_model(settings))
    works = [work_of(model, page) for page in held_back_pages(settings, FEW, asked=FIELDS)]
    yield from compared(f"{_size(model)} (24 layers of width 896, 151,936 tokens) in bfloat16", model, works, repeat=1)


def _size(model: LanguageModel) -> str:
    count = sum(weight.numel() for weight in model.decoder.parameters())
    return f"{count / 1e6:.1f}M parameters"
