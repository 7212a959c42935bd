"""Wrong tokens put into the open block on purpose, and the share of them that re-masking mends."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from bench.engine.figures import Figure, Settings, percent
from bench.engine.workload import Work, held_back_pages, small_model, work_of
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.sequences import Block, OpenSequence

PAGES = 100
WANTED = 0.6
#: Draws of a wrong token, of which the first one that fits is taken.
DRAWS = 40


class WrongToken:
    """Replaces one token that the model chose by another one that the graph allows and a whole record can have.

    It does so in one step of one request, after the model has chosen `after` tokens. `put` tells whether it could.
    """

    def __init__(self, after: int, rng: random.Random, end: int) -> None:
        self._after, self._rng, self._end = after, rng, end
        self.put = False

    def __call__(self, _: int, sequences: Sequence[OpenSequence]) -> None:
        """Edits the sequence of the only request; see `Denoiser.decode`."""
        (sequence,) = sequences
        block = sequence.block
        if self.put or block is None or int(sequence.chosen.sum()) < self._after:
            return
        at = block.first + np.flatnonzero(sequence.chosen[block.first : block.stop])
        at = at[(sequence.tokens[at] >= 0) & (sequence.tokens[at] != self._end)]
        if not len(at):
            return
        place = int(self._rng.choice(at.tolist()))
        wrong = self._wrong(sequence, block, place)
        if wrong is None:
            return
        self.put = True
        sequence.replace(place, wrong)
        sequence.witness[place] = wrong
        # The front may have passed the place, in another state.
        block.rewind()

    def _wrong(self, sequence: OpenSequence, block: Block, place: int) -> int | None:
        """A wrong token for this place, with which the committed tokens and the witness still make a record."""
        graph, tokens = sequence.task.graph, sequence.tokens[block.first : block.stop]
        whole = np.where(tokens < 0, sequence.witness[block.first : block.stop], tokens).tolist()
        here = place - block.first
        before = graph.run(whole[:here], block.state)
        allowed = graph.label[(graph.source == before) & (graph.label != graph.end_class)]
        fitting = graph.tokens[np.isin(graph.token_class[graph.tokens], allowed)]
        for token in self._rng.sample(fitting.tolist(), min(DRAWS, len(fitting))):
            behind = graph.run([token, *whole[here + 1 :]], before)
            if token != whole[here] and behind >= 0 and 0 <= graph.distance[behind] <= sequence.limit - block.stop:
                return int(token)
        return None


def mended(denoiser: Denoiser, works: Sequence[Work], seed: int) -> tuple[int, int]:
    """Returns (wrong tokens that were put in, records that come out as they do without them)."""
    rng = random.Random(seed)
    put = right = 0
    for work in works:
        (plain,) = denoiser.decode([work.task])
        if not isinstance(plain, Decoded) or not any(plain.chosen):
            continue
        edit = WrongToken(rng.randint(1, sum(plain.chosen)), rng, denoiser.end)
        (found,) = denoiser.decode([work.task], edit=edit)
        put += edit.put
        right += edit.put and isinstance(found, Decoded) and found.text == plain.text
    return put, right


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figures of all efforts."""
    model = small_model(settings)
    works = [work_of(model, page) for page in held_back_pages(settings, PAGES)]
    shares = {}
    for effort in ("low", "medium", "high"):
        put, right = mended(Denoiser(model.decoder, model.tokenizer, effort), works, settings.seed)
        shares[effort] = right / max(1, put), f"{percent(right / max(1, put))} of {put}"
    best = max(shares["medium"][0], shares["high"][0])
    yield Figure(
        "wrong tokens put into the open block, one a page: records that come out as without it",
        f">= {percent(WANTED)}",
        f"medium {shares['medium'][1]}, high {shares['high'][1]} (low, which never masks again: {shares['low'][1]})",
        best >= WANTED,
    )
