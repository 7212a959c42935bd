"""How often a batch that fails is tried again: the policy of all drivers, in one table.

| where it is filled | it raises an error | its process ends |
|---|---|---|
| this process | the run fails at once: the error would come again | - |
| a Prefect task | the task has three attempts, 1 s and 10 s apart; then the run fails | Prefect marks the run |
| engine processes | the run fails at once | two attempts; then each document alone, `engine_died` if it ends again |
| a cluster | three attempts, 1 s and 10 s apart; then the run fails | three attempts at once; then the run fails |

A Prefect task with several engines, or on a cluster, does as these do. A cluster finishes the other batches before the
run fails, unless three batches fail: then no single batch is the cause. A UsageError or ModelError is never tried
again. Whatever fails, committed batches are kept, and the same command goes on behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cinnabar.errors import ModelError, RunError, UsageError
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.store.tables import printable
from cinnabar.wording import with_noun

#: Attempts for a batch, and for a start of a process; the seconds before each further attempt after an error.
ATTEMPTS, DELAYS = 3, (1.0, 10.0)
#: Attempts of engine processes for a batch as a whole; the last attempt takes each of its documents alone.
WHOLE_ATTEMPTS = ATTEMPTS - 1
#: Errors that only repeat.
FINAL_ERRORS = (UsageError, ModelError)
# How many documents of a failed batch its message names.
_NAMED = 5


def batch_failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """Returns the error of a batch that failed on every attempt; it names the batch's first documents."""
    named = ", ".join(printable(item.path) for item in batch[:_NAMED])
    more = " …" if len(batch) > _NAMED else ""
    return RunError(
        f"batch {number} of {with_noun(len(batch), 'document')} ({named}{more}) failed on every attempt:"
        f" {type(cause).__name__}: {cause}; committed batches are kept; run the same command again"
    )
