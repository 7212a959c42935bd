"""The parameters of flows: the ranges of their own, those of a plan, and the limit that a run must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

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


def flow_parameters(paths: list[str], plan: RunPlan) -> dict[str, Any]:
    """Returns the parameters of the flow `extract_folder` for a plan: what its maker said."""
    own = plan.model_dump(
        exclude_unset=True, exclude_none=True, exclude={"schemas", "out", "options"}
    )
    options = plan.options.model_dump(exclude_unset=True, exclude_none=True)
    named = plan.schemas if plan.route else plan.schemas[0]
    return {"paths": paths, "record_schema": named, "out": str(plan.out), **own, **options}


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
