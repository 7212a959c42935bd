"""The exit status of a command whose run broke a limit of its owner."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import harmless

if TYPE_CHECKING:
    from cinnabar.extraction.batched_run import Summary
    from cinnabar.extraction.progress import Reason
    from cinnabar.flows.parameters import FailOn


def check_error_rate(share: float | None) -> None:
    """Raises UsageError if `--max-error-rate` is no share."""
    if share is not None and not 0 <= share <= 1:
        raise UsageError(f"--max-error-rate: expected 0 to 1, got {share}")


def limit_status(
    summary: Summary, reasons: Sequence[Reason], max_error_rate: float | None, fail_on: FailOn | None
) -> int:
    """Returns 3, and tells why on standard error, if the run broke a limit; else 0."""
    from cinnabar.flows.limits import broken_limits

    if not (broken := broken_limits(summary, reasons, max_error_rate, fail_on)):
        return 0
    print(harmless(f"cinnabar: {broken}"), file=sys.stderr)
    return 3
