"""The fill of one batch, the same in every process, and the error of a batch that failed on all attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.store.tables import printable
from cinnabar.schemas.errors import RunError
from cinnabar.schemas.wording import with_noun

# The pipeline imports torch, which takes a second.
if TYPE_CHECKING:
    from cinnabar.extraction.reading.pipeline import Batch, Job, Read
    from cinnabar.extraction.run.work.refilling import Known

# How many documents of a failed batch its message names.
_NAMED = 5


def fill_batch(read: Sequence[Read], known: Known | None, job: Job) -> Batch:
    """Returns the outcomes of a batch, in whatever process it is filled.

    `known` holds the stored records in a backfill. Long documents get none if the batch has other documents; each has
    to come again, alone.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.reading.pipeline import run_batch
    from cinnabar.extraction.run.work.refilling import refill_batch

    if known is None:
        return run_batch(read, job, set_aside=True)
    return refill_batch(read, known, job, set_aside=True)


def batch_failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """Returns the error of a batch that failed on each of its attempts; it names the batch's first documents."""
    named = ", ".join(printable(item.path) for item in batch[:_NAMED])
    more = " …" if len(batch) > _NAMED else ""
    return RunError(
        f"batch {number} of {with_noun(len(batch), 'document')} ({named}{more}) failed three times:"
        f" {type(cause).__name__}: {cause}; committed batches are kept; run the same command again"
    )
