"""The fill of one batch, the same in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

# The pipeline imports torch, which takes a second.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Batch, Job, OpenedInput
    from cinnabar.extraction.run.work.refilling import Known


def fill_batch(read: Sequence[OpenedInput], known: Known | None, job: Job) -> Batch:
    """Returns the outcomes of a batch, in whatever process it is filled.

    `known` holds the stored records in a backfill. Long documents get none if the batch has other documents; each has
    to come again, alone.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.filling.pipeline import run_batch
    from cinnabar.extraction.run.work.refilling import refill_batch

    if known is None:
        return run_batch(read, job, set_aside=True)
    return refill_batch(read, known, job, set_aside=True)
