"""Texts as rows of tokens of the slot alphabet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from cinnabar.engine.canvas import PAD


def spell(texts: Sequence[bytes], length: int) -> torch.Tensor:
    """Returns [len(texts), length] int64: each text's bytes from the left, PAD after its end, cut off at `length`."""
    rows = np.full((len(texts), length), PAD, np.int64)
    for row, text in zip(rows, texts, strict=True):
        head = text[:length]
        row[: len(head)] = np.frombuffer(head, np.uint8)
    return torch.from_numpy(rows)


def text_of(tokens: Sequence[int]) -> bytes:
    """Returns the text of these tokens: the bytes before the first PAD; these tokens must all be bytes."""
    return bytes(tokens[: tokens.index(PAD)] if PAD in tokens else tokens)
