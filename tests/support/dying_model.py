"""Models for engine processes, which import them by name: they end their process, or cannot be loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.reading_model import ReadingModel

from cinnabar.errors import ModelError


class DyingModel(ReadingModel):
    """A model that ends its process at the word DIE, and at the first passage that names a file that is not there."""

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        for passage in passages:
            once = [word.removeprefix("once=") for word in passage.text.split() if word.startswith("once=")]
            first = [mark for mark in map(Path, once) if not mark.exists()]
            for mark in first:
                mark.touch()
            if first or "DIE" in passage.text:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(passages)


def missing() -> ReadingModel:
    """Raises ModelError."""
    raise ModelError("its weights are not there")
