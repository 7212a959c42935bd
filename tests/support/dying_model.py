"""Models for engine processes, which import them by name: they end their process, fail, or cannot be loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.reading_model import ReadingModel

from cinnabar.errors import ModelError, RunError


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


class FailingModel(ReadingModel):
    """A model that counts its attempts at a passage in the file that a word names, and fails or ends its process.

    `twice=FILE` has it raise an error of the run twice, `always=FILE` each time; at `dies=FILE` its process ends.
    """

    def encode(self, passages: Sequence[Any]) -> list[Any]:
        for word in " ".join(passage.text for passage in passages).split():
            kind, _, name = word.partition("=")
            if kind in ("twice", "always", "dies"):
                tried = count_attempt(Path(name))
                if kind == "dies":
                    os.kill(os.getpid(), signal.SIGKILL)
                if kind == "always" or tried < 3:
                    raise RunError("the disk has a bad moment")
        return super().encode(passages)


@dataclass(frozen=True, slots=True)
class ThirdLoad:
    """Loads a model that cannot be loaded on the first two attempts, which it counts in a file."""

    counted: Path

    def __call__(self) -> ReadingModel:
        if count_attempt(self.counted) < 3:
            raise OSError("the disk has a bad moment")
        return FailingModel()


def count_attempt(path: Path) -> int:
    """Adds a character to the file, and returns how many it has."""
    with path.open("a") as counted:
        counted.write("x")
        return counted.tell()


def missing() -> ReadingModel:
    """Raises ModelError."""
    raise ModelError("its weights are not there")
