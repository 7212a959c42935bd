"""How often a batch that fails is tried again: one policy, whatever fills it.

It holds in this process, in engine processes, on a cluster and in Prefect's tasks. Errors of a document never come
here: they are its outcome. Whatever fails, committed batches are kept, and the same command goes on behind them.

- A batch that raises an error while it is read, filled or committed has three attempts in all, 1 s and 10 s apart; then
  the run fails and names its documents. The cause is a disk, a mailbox or a bug; a bug comes again and costs 11 s.
- UsageError, ModelError and NoEngine (also of a service with patience of its own) are raised at once.
- If a process ends that works on a batch, the batch has two attempts as a whole, then each of its documents goes alone.
  A document whose process ends again is held back as `engine_died`. If three batches end so before a model has filled
  any, no document is the cause, and the run fails.
- A process that does not start is started five times, on a cluster three times in each place. If none is there then,
  the run fails.
- If the run's own process ends, so does the run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cinnabar.errors import DocumentError, ModelError, NoEngine, RunError, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.processes.process import WorkerDied
from cinnabar.extraction.store.records import DocumentInfo, Outcome
from cinnabar.extraction.store.tables import printable
from cinnabar.wording import with_noun

# The pipeline imports torch, which takes a second.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch

#: Attempts for a batch that raises errors, and for a start on a cluster; the seconds before each further attempt.
ATTEMPTS, DELAYS = 3, (1.0, 10.0)
#: Attempts for a batch as a whole whose process ends; the last attempt takes each of its documents alone.
WHOLE_ATTEMPTS = ATTEMPTS - 1
#: Errors that only repeat.
FINAL_ERRORS = (UsageError, ModelError, NoEngine)
#: The code of a document whose process ended on each attempt.
ENGINE_DIED = "engine_died"
# How many documents of a failed batch its message names.
_NAMED = 5
_ADVICE = "; committed batches are kept; run the same command again"

T = TypeVar("T")


class BatchAttempts:
    """Counts the failed attempts of a run's batches, and tells each to `note`."""

    def __init__(self, note: Callable[[str], object]) -> None:
        self._note = note
        self._failed: Counter[int] = Counter()
        self._lost = 0
        self._worked = False

    def make(self, number: int, batch: Sequence[Input], work: Callable[[], T]) -> T:
        """Returns what the work on a batch returns, at the latest on its last attempt; waits between them.

        Raises the errors of `pause_after`, and WorkerDied.
        """
        while True:
            try:
                return work()
            except WorkerDied:
                raise
            except Exception as error:
                time.sleep(self.pause_after(error, number, batch))

    def pause_after(self, error: BaseException, number: int, batch: Sequence[Input]) -> float:
        """Returns the seconds until the next attempt of a batch that has raised an error.

        Raises the error if it is final, and `batch_failure` after the last attempt.
        """
        if isinstance(error, FINAL_ERRORS):
            raise error
        self._failed[number] += 1
        failed = self._failed[number]
        if failed >= ATTEMPTS:
            raise batch_failure(number, batch, error) from error
        pause = DELAYS[failed - 1]
        what = f"attempt {failed} of {ATTEMPTS} failed on batch {number} ({_named(batch)})"
        self._note(f"{what}: {_error_text(error)}; the next one begins in {pause:g} s")
        return pause

    def check_lost(self, batch: Batch) -> None:
        """Raises RunError if processes ended on every document of three batches, before a model filled any."""
        died = [one for one in batch.outcomes if one.code == ENGINE_DIED]
        self._worked = self._worked or batch.steps > 0
        self._lost += bool(died)
        if self._lost >= ATTEMPTS and died and not self._worked:
            raise RunError(
                f"the processes of {with_noun(self._lost, 'batch', 'batches')} ended, and none has filled a document:"
                f" no document is the cause; the last one was {printable(died[0].path)}: {died[0].detail}{_ADVICE}"
            )


def batch_failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """Returns the error of a batch that failed on every attempt; it names the batch's first documents."""
    said = f"batch {number} of {with_noun(len(batch), 'document')} ({_named(batch)}) failed on every attempt"
    return RunError(f"{said}: {_error_text(cause)}{_ADVICE}")


def _named(batch: Sequence[Input]) -> str:
    return ", ".join(printable(item.path) for item in batch[:_NAMED]) + (" …" if len(batch) > _NAMED else "")


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(_ADVICE)


def lose_document(path: str, digest: str, found: Document | DocumentError | None, cause: str) -> Batch:
    """Returns the batch of a document alone whose process ended again; `found` is what was parsed, None if unknown."""
    # Cold start: Torch takes a second.
    from cinnabar.extraction.filling.pipeline import Batch

    detail = f"each engine that filled it died ({cause}); more memory or a lower context may help"
    info = DocumentInfo.of(found) if isinstance(found, Document) else None
    return Batch([Outcome(path, "quarantined", ENGINE_DIED, detail, digest, info)])


def join_alone(alone: Sequence[Batch]) -> Batch:
    """Returns the one batch of documents that went alone, in their order."""
    # Cold start: Torch takes a second.
    from cinnabar.extraction.filling.pipeline import in_order

    return in_order(len(alone), {}, [((at,), one) for at, one in enumerate(alone)], 0.0)
