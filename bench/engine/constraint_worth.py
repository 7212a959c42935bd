"""Passes and time of the same checkpoint with the constraint and without it, and tokens a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.diffusion.pages import Page

from bench.engine.figures import Figure, Settings, mean
from bench.engine.workload import TimedDenoiser, Work, held_back_pages, small_model, work_of
from cinnabar.engine.diffusion.decoded import Decoded

PAGES = 60
#: The most passes and decoding time with the constraint, as shares of those without it.
PASSES, TIME = 0.6, 0.8


@dataclass(frozen=True, slots=True)
class Written:
    """A record, the seconds that it took without its prefill, and its chosen and forced tokens."""

    text: bytes
    passes: int
    seconds: float
    chosen: int
    forced: int


def alone(denoiser: TimedDenoiser, works: Sequence[Work], repeat: int = 2) -> list[Written]:
    """Decodes each task alone; the time is the least of some."""
    found = []
    for work in works:
        seconds = []
        for _ in range(repeat):
            before = denoiser.decoding
            (decoded,) = denoiser.decode([work.task])
            seconds.append(denoiser.decoding - before)
        assert isinstance(decoded, Decoded)
        chosen = sum(decoded.chosen)
        found.append(Written(decoded.text, decoded.passes, min(seconds), chosen, len(decoded.chosen) - chosen))
    return found


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figures, over pages whose records are valid both ways."""
    model = small_model(settings)
    pages: list[Page] = held_back_pages(settings, PAGES)
    works = [work_of(model, page) for page in pages]
    on = alone(TimedDenoiser(model.decoder, model.tokenizer, "medium"), works)
    off = alone(TimedDenoiser(model.decoder, model.tokenizer, "medium", constrained=False), works)
    both = [at for at, work in enumerate(works) if work.accepts(on[at].text) and work.accepts(off[at].text)]
    with_, without = ([side[at] for at in both] for side in (on, off))
    said = f"{len(both)} of {len(pages)} pages valid both ways"
    passes = mean([one.passes for one in with_]), mean([one.passes for one in without])
    yield Figure(
        f"passes a record, schema on : off, effort medium, all passes counted ({said})",
        f"<= {PASSES}",
        f"{passes[0] / passes[1]:.2f} ({passes[0]:.1f} : {passes[1]:.1f})" if both else "-",
        bool(both) and passes[0] <= PASSES * passes[1],
    )
    time = mean([one.seconds for one in with_]), mean([one.seconds for one in without])
    yield Figure(
        "the same: decoding time, prefill apart",
        f"<= {TIME}",
        f"{time[0] / time[1]:.2f} ({1000 * time[0]:.0f} : {1000 * time[1]:.0f} ms)" if both else "-",
        bool(both) and time[0] <= TIME * time[1],
    )
    counts = [(sum(one.chosen for one in side), sum(one.forced for one in side), sum(one.passes for one in side))
              for side in (on, with_, without)]  # fmt: skip
    rates = [
        f"{chosen / passes:.2f} chosen, {forced / passes:.2f} forced" for chosen, forced, passes in counts if passes
    ]
    yield Figure(f"tokens a pass, all {len(pages)} pages", "reported", rates[0])
    if both:
        yield Figure("tokens a pass, pages valid both ways, on; off", "reported", "; ".join(rates[1:]))
