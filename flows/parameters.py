"""The ranges of the parameters that flows declare themselves, and the refusal of blank ones.

Decides whether an ended run fails because too large a share of its documents is in quarantine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from cinnabar.errors import UsageError
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.store.records import EMPTY_RECORD
from cinnabar.wording import with_noun

if TYPE_CHECKING:
    from cinnabar.extraction.filling.progress import ReasonCount
    from cinnabar.extraction.run.stored_run import Summary

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]


def check_given(**texts: str | Sequence[str]) -> None:
    """Raises UsageError if one of these parameters, or one of its entries, is blank."""
    empty = [
        name
        for name, value in texts.items()
        if any(not text.strip() for text in ([value] if isinstance(value, str) else value))
    ]
    if empty:
        raise UsageError(
            f"{', '.join(empty)}: expected text, got an empty parameter; in a deployment this happens if"
            " an environment variable was not set when it was deployed: set it and deploy again"
        )


# The most documents that a message names for each reason.
_NAMED = 3


def broken_limits(summary: Summary, reasons: Sequence[ReasonCount], plan: RunPlan) -> str:
    """Returns what the run broke, in a sentence; "" if it kept its limit. `reasons` names documents of the run."""
    most, held = plan.max_error_rate, summary.held_back
    read = summary.written + held
    if most is None or held <= most * read:
        return ""
    why = "; ".join(
        f"{one.code} {one.documents} ({', '.join(one.first[:_NAMED])})"
        for one in reasons
        if one.outcome == "quarantined" or one.code == EMPTY_RECORD
    )
    where = "in quarantine or empty" if held > summary.quarantined else "in quarantine"
    return f"{held} of {with_noun(read, 'document')} {where}, more than {most:g} of them: {why}."
