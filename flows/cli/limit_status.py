"""The exit status of a command whose run broke a limit of its owner."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinnabar.schemas.wording import harmless

if TYPE_CHECKING:
    from cinnabar.extraction.batched_run import Summary
    from cinnabar.extraction.progress import Reason
    from cinnabar.extraction.run_options import FailOn


def limit_status(
    summary: Summary, reasons: Sequence[Reason], max_error_rate: float | None, fail_on: FailOn | None
) -> int:
    """Returns 3, and tells why on standard error, if the run broke a limit; else 0."""
    from cinnabar.flows.limits import broken_limits

    if not (broken := broken_limits(summary, reasons, max_error_rate, fail_on)):
        return 0
    print(harmless(f"cinnabar: {broken}"), file=sys.stderr)
    return 3
