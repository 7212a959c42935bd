"""The fill of one batch, the same in the run's own process, in an engine process and on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

# The pipeline imports torch, which takes a second.
if TYPE_CHECKING:
    from cinnabar.extraction.backfill.refilling import Known
    from cinnabar.extraction.pipeline import Batch, Job, Read


def fill_batch(read: Sequence[Read], known: Known | None, job: Job) -> Batch:
    """Returns the outcomes of a batch; `known` holds the stored records in a backfill.

    Long documents get none if the batch has other documents; each has to come again, alone.
    """
    from cinnabar.extraction.backfill.refilling import refill_batch
    from cinnabar.extraction.pipeline import run_batch

    if known is None:
        return run_batch(read, job, set_aside=True)
    return refill_batch(read, known, job, set_aside=True)
