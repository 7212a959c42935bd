"""The protocols of a filler: the engine, or a model behind a server; and what fillers over an engine share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from cinnabar.engine.request import Passage, Request, Result
from cinnabar.schemas.form.form import Form


class Filler(Protocol):
    """Fills requests, each by itself; the records depend on nothing that `fingerprint` leaves out."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything that a record depends on."""
        ...

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage, as `count_tokens` counts them."""
        ...

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking."""
        ...

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) that are read as one window, for chunking (`Model.windows`)."""
        ...

    def fill(self, requests: Sequence[Request]) -> list[Result]:
        """Returns exactly one result for each request, in their order. Raises RunError if it can give none.

        A filler on this machine keeps the time limit of `engine/time_limit.py`.
        """
        ...


@runtime_checkable
class Prompted(Protocol):
    """A filler whose prompt tells the form in words, which leaves less room for a passage."""

    def context_beside(self, form: Form) -> int:
        """Returns the most tokens of one passage beside this form and its answer, instead of `context_tokens`.

        Raises UsageError if there is no room for any.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """A filler that does something once for each form."""

    def prepare(self, form: Form) -> None:
        """Does what the first request of a form would do; it takes long for thousands of fields or choices.

        Another thread may fill requests meanwhile. Raises the errors of `fill`.
        """
        ...


class OverEngine:
    """What fillers over another one share: all but `fill` is that one's own."""

    _engine: Filler

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the engine."""
        return self._engine.fingerprint

    @property
    def context_tokens(self) -> int:
        """The most tokens of one passage."""
        return self._engine.context_tokens

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text, for chunking."""
        return self._engine.count_tokens(text)

    def windows(self, passage: Passage) -> list[tuple[int, int]]:
        """Returns the characters [start, end) that the model reads as one window, for chunking."""
        return self._engine.windows(passage)


class OverPromptedEngine(OverEngine):
    """The same over an engine whose prompt tells the form in words."""

    def context_beside(self, form: Form) -> int:
        """Returns the most tokens of a passage beside this form and its answer. Raises UsageError if none is left."""
        assert isinstance(self._engine, Prompted)
        return self._engine.context_beside(form)


@runtime_checkable
class Metered(Protocol):
    """A filler that a server charges for."""

    def usage(self) -> Mapping[str, int | str | None]:
        """Returns this run's requests, tokens and cost as JSON values; dollars are decimal text."""
        ...

    def close(self, settled: bool) -> None:
        """Ends the run; if all is `settled`, the filler drops the answers that it kept for a rerun."""
        ...
