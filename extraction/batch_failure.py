"""The error of a batch that failed as often as it may."""

from __future__ import annotations

from collections.abc import Sequence

from cinnabar.extraction.inputs import Input
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas.errors import RunError

# Documents of a failed batch that its message names.
_NAMED = 5


def batch_failure(number: int, batch: Sequence[Input], cause: BaseException) -> RunError:
    """The error of a batch that failed as often as it may, with the names of its documents."""
    named = ", ".join(printable(item.path) for item in batch[:_NAMED])
    more = " …" if len(batch) > _NAMED else ""
    return RunError(
        f"batch {number} of {len(batch)} documents ({named}{more}) failed three times:"
        f" {type(cause).__name__}: {cause}; what was committed stands, run it again"
    )
