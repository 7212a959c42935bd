"""The error of a batch that failed on each of its attempts."""

from __future__ import annotations

from collections.abc import Sequence

from cinnabar.extraction.inputs import Input
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas.errors import RunError
from cinnabar.schemas.wording import counted

# How many documents of a failed batch its message names.
_NAMED = 5


def batch_failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """Returns the error of a batch that failed on each of its attempts; it names the batch's first documents."""
    named = ", ".join(printable(item.path) for item in batch[:_NAMED])
    more = " …" if len(batch) > _NAMED else ""
    return RunError(
        f"batch {number} of {counted(len(batch), 'document')} ({named}{more}) failed three times:"
        f" {type(cause).__name__}: {cause}; committed batches are kept; run the same command again"
    )
