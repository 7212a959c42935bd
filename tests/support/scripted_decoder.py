"""A decoder that says given logits at each position, whatever its weights would say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from tests.support.tiny_models import MASK, VOCABULARY

from cinnabar.engine.language.decoded import Decoded, DecodingRun, Undecoded
from cinnabar.engine.language.denoiser import Denoiser, Listed
from cinnabar.engine.language.sequences import OpenSequence, Task
from cinnabar.engine.models.language.attention import Attend, PackedTokens, PagedAttention
from cinnabar.engine.models.language.cache import NOWHERE
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.diffusion_gemma import DiffusionGemma, Held, PassText
from cinnabar.engine.models.language.traits import Traits

#: Returns the logits at a position [V], given the row's visible tokens by position.
Script = Callable[[int, dict[int, int]], torch.Tensor]


def favour(token: int, logit: float = 12.0) -> torch.Tensor:
    """Logits that prefer one token."""
    logits = torch.zeros(VOCABULARY.size)
    logits[token] = logit
    return logits


class _Script:
    """Takes what the script says of tokens; in place of hidden states it gives the numbers of what was said."""

    def __init__(self, traits: Traits, script: Script) -> None:
        self._shift, self._script = int(traits.shift), script
        self._said: list[torch.Tensor] = []

    def states(self, tokens: list[int], places: list[int]) -> torch.Tensor:
        """[T, 1], for the tokens at these places."""
        seen = {place: token for place, token in zip(places, tokens, strict=True) if token != MASK and place >= 0}
        self._said += [self._script(place + self._shift, seen) for place in places]
        last = len(self._said)
        return torch.arange(last - len(places), last, dtype=torch.float32)[:, None]

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Returns what the script said."""
        return torch.stack([self._said[int(at)] for at in np.asarray(hidden[..., 0])])


class Said(Decoder):
    """Says the logits that it is given as hidden states."""

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """The same."""
        return hidden.clone()


def _sizes(packed: PackedTokens) -> list[int]:
    """The tokens of each row of a pass; a row may be attended in parts, which follow each other and share its pages."""
    rows = [row for group in packed.groups for row in zip(group.queries, group.pages, strict=True)]
    pages = {int(queries[0]): int(own[0]) for queries, own in rows}
    places, begins = packed.positions.tolist(), sorted(pages)
    new = [at for last, at in pairwise(begins) if places[at] != places[at - 1] + 1 or pages[at] != pages[last]]
    return [end - begin for begin, end in pairwise([0, *new, len(places)])]


class ScriptedDecoder(Decoder):
    """Counts its passes and the positions that it reads; `read` has the positions of each pass, by row."""

    def __init__(self, traits: Traits, script: Script) -> None:
        super().__init__(traits)
        self._said = _Script(traits, script)
        self.read: list[list[list[int]]] = []

    def forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        attend: Attend | None = None,
        opened: torch.Tensor | None = None,  # noqa: ARG002, as in its base
    ) -> torch.Tensor:
        """Returns in place of hidden states the numbers of what `logits` will say."""
        if isinstance(attend, PagedAttention):
            sizes = _sizes(attend.packed)
            lines, places = (list(torch.split(x[0, : sum(sizes)], sizes)) for x in (tokens, positions))
        else:
            lines, places = [*tokens], [*positions]
        self.read.append([[p for p in row.tolist() if p != NOWHERE] for row in places])
        said = [self._said.states(line.tolist(), at.tolist()) for line, at in zip(lines, places, strict=True)]
        return torch.cat(said).view(*tokens.shape, 1)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Returns what the script said."""
        return self._said.logits(hidden)


class ScriptedGemma(DiffusionGemma):
    """The same for canvases of random tokens; the script sees these as tokens."""

    def __init__(self, traits: Traits, script: Script) -> None:
        super().__init__(traits)
        self._said = _Script(traits, script)

    def read(self, readings: Sequence[PassText]) -> tuple[list[torch.Tensor], list[list[Held]]]:
        """Returns numbers in place of hidden states, and keys that are zero."""
        states = [self._said.states(one.tokens.tolist(), one.positions.tolist()) for one in readings]
        empty = [torch.zeros(1, len(one.tokens), 1) for one in readings]
        return states, [[(keys, keys)] * self.traits.layers for keys in empty]

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Returns what the script said."""
        return self._said.logits(hidden)


def scripted(traits: Traits, script: Script) -> Decoder:
    """Returns a decoder of these traits that says what the script says."""
    return ScriptedGemma(traits, script) if traits.noise == "uniform" else ScriptedDecoder(traits, script)


def edited(
    denoiser: Denoiser, tasks: Sequence[Task], edit: Callable[[int, Sequence[OpenSequence]], None]
) -> list[Decoded | Undecoded]:
    """Decodes tasks whose sequences are changed after each step, as by wrong tokens that are put in."""

    def watch(step: int, runs: Sequence[DecodingRun]) -> None:
        edit(step, [run.sequence for run in runs])
        for run in runs:
            if run.sequence.block is not None:
                run.sequence.block.rewind()

    found = dict(denoiser.serve(Listed(tasks), watch))
    return [found[at] for at in range(len(tasks))]


def put_other(sequence: OpenSequence, at: int, number: int) -> int:
    """Puts another token of its class, which a record may have there too, in the place of a committed one."""
    kinds = sequence.task.graph.token_class
    others = [one for one in np.flatnonzero(kinds == kinds[sequence.tokens[at]]) if one != sequence.tokens[at]]
    sequence.tokens[at], sequence.posterior[at] = others[number], 0.0
    return int(others[number])
