"""The letters of values that may be written: each is spelled from the window that most likely holds it."""

from __future__ import annotations

import math

import torch

from cinnabar.engine.canvas import MASK, Canvas
from cinnabar.engine.models.reader.answers.scores import Answers, Decided
from cinnabar.engine.models.reader.memory import Memory
from cinnabar.engine.models.reader.network.network import Network
from cinnabar.engine.models.reader.network.speller import HINT_BYTES, POSITIONS


def spell(
    network: Network, own: list[int], decided: dict[int, Decided], memory: Memory, canvas: Canvas,
    out: Answers,
) -> None:  # fmt: skip
    """Add to the answers the letters of those of a request's own slots that are open and may be written."""
    spelled = [k for k in own if out.generate[k] > -math.inf and canvas.values[k] is None]
    if not spelled:
        return
    states = torch.stack([decided[k].likeliest_state() for k in spelled])
    hint = torch.full((len(spelled), HINT_BYTES), MASK)
    for i, k in enumerate(spelled):
        spans = out.candidates[k][0].spans if out.candidates[k] else ()
        seen = memory.passage.text[spans[0][0] : spans[0][1]].encode()[:HINT_BYTES] if spans else b""
        hint[i, : len(seen)] = torch.tensor(list(seen), dtype=torch.long)
    tokens, length = canvas.tokens[spelled], canvas.length[spelled]
    width = min(int(length.max()), POSITIONS)
    device = states.device
    logits = network.speller(states, hint.to(device), tokens[:, :width].to(device), length.to(device))
    for i, k in enumerate(spelled):
        out.letters[k] = logits[i]
