"""A decoder that says given logits at each position, whatever its weights would say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from tiny_models import MASK, VOCABULARY

from cinnabar.engine.models.language.attention import Attend, PagedAttention
from cinnabar.engine.models.language.cache import NOWHERE
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.traits import Traits

#: Returns the logits at a position [V], given the row's visible tokens by position.
Script = Callable[[int, dict[int, int]], torch.Tensor]


def favour(token: int, logit: float = 12.0) -> torch.Tensor:
    """Logits that prefer one token."""
    logits = torch.zeros(VOCABULARY.size)
    logits[token] = logit
    return logits


class ScriptedDecoder(Decoder):
    """Counts its passes and the positions that it reads; `read` has the positions of each pass, by row."""

    def __init__(self, traits: Traits, script: Script) -> None:
        super().__init__(traits)
        self._script, self._said = script, list[torch.Tensor]()
        self._visible: list[dict[int, int]] = []
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
            sizes = [*attend.packed.sizes]
            lines, places = (list(x[0, : sum(sizes)].split(sizes)) for x in (tokens, positions))
        else:
            lines, places = [*tokens], [*positions]
        self.read.append([[p for p in row.tolist() if p != NOWHERE] for row in places])
        said: list[int] = []
        for line, at in zip(lines, places, strict=True):
            pairs = zip(at.tolist(), line.tolist(), strict=True)
            seen = {place: token for place, token in pairs if token != MASK and place >= 0}
            for place in at.tolist():
                self._said.append(self._script(place + int(self.traits.shift), seen))
                said.append(len(self._said) - 1)
        return torch.tensor(said, dtype=torch.float32).view(*tokens.shape, 1)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Returns what the script said."""
        return torch.stack([self._said[int(at)] for at in np.asarray(hidden[..., 0])])
