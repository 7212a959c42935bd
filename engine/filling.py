"""The seam between documents and whatever fills their forms: an engine of our own, or a model elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from cinnabar.engine.request import Passage, Request, Result


class Filler(Protocol):
    """Fills requests, whichever way."""

    @property
    def fingerprint(self) -> str:
        """Names everything that a record depends on."""
        ...

    @property
    def context_tokens(self) -> int:
        """Tokens that one passage may have, as `count_tokens` counts them."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of this text, for chunking."""
        ...

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """The characters [start, end) of a text that are read as one, for chunking (`Model.windows`)."""
        ...

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        """Exactly one result for each request, in their order; RunError where none can be had."""
        ...


@runtime_checkable
class Metered(Protocol):
    """A filler whose work is paid for."""

    def usage(self) -> Mapping[str, int | str | None]:
        """What this run asked and what it cost, as JSON holds it; dollars as decimal text."""
        ...

    def close(self, settled: bool) -> None:
        """The run has ended; where all is `settled`, answers that were kept for a rerun are dropped."""
        ...
