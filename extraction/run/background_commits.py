"""Commits batches in a thread, so that the next batch is filled meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Generic, Self, TypeVar

_Batch = TypeVar("_Batch")


class BackgroundCommits(Generic[_Batch]):
    """Commits one batch at a time, in order; a context manager.

    `commit` runs in a thread, in the context of the caller. The end waits for the last commit. Once a commit has
    failed, the next call, or the end, raises its error and no later batch is committed.
    """

    def __init__(self, commit: Callable[[_Batch], object]) -> None:
        self._commit = commit
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._flying: Future[object] | None = None

    def add(self, batch: _Batch) -> None:
        """Begins to commit this batch once the one before it is committed."""
        self._land()
        # Prefect's loggers find their run in the context.
        self._flying = self._thread.submit(copy_context().run, self._commit, batch)

    def _land(self) -> None:
        """Waits for the commit in flight."""
        if self._flying is not None:
            self._flying.result()
            self._flying = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._land()
        finally:
            # A commit in flight ends even after an error, because the store must not be closed under it.
            self._thread.shutdown()
