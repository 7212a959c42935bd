"""Who watches a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cinnabar.extraction.storage.records import Outcome

if TYPE_CHECKING:
    from cinnabar.extraction.estimate import Estimate


class Progress(Protocol):
    """Is told how a run goes."""

    def estimated(self, estimate: Estimate) -> None:
        """A model behind a server will be asked, at about this cost; called before it is."""

    def begin(self, inputs: int) -> None:
        """So many inputs there are."""

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """These were committed."""


class Silent:
    """Progress that nobody watches."""

    def estimated(self, estimate: Estimate) -> None:
        """Nothing."""

    def begin(self, inputs: int) -> None:
        """Nothing."""

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing."""
