"""The commands that run an extraction do this with its plan: notes, early checks, its flow, its status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from cinnabar.flows.parameters import broken_limits
from cinnabar.wording import harmless

if TYPE_CHECKING:
    from cinnabar.extraction.filling.progress import ReasonCount
    from cinnabar.extraction.plan.run_options import RunPlan
    from cinnabar.extraction.run.batch.assignment import Assignment
    from cinnabar.extraction.run.stored_run import Summary


def print_notice(note: str) -> None:
    """Prints a line for people to standard error."""
    print(harmless(f"cinnabar: {note}"), file=sys.stderr, flush=True)


def check_plan(paths: Sequence[str], plan: RunPlan, assignment: Assignment, reachable: bool = True) -> None:
    """Raises UsageError for what a run would refuse: its cluster, and if they are `reachable` without Prefect, inputs.

    A flow reports it now, not at the first scheduled run.
    """
    # Cold start: the other functions are for all commands, this one is for flows.
    from cinnabar.extraction.documents.inputs import gather, parse_locations
    from cinnabar.extraction.documents.parser_settings import parser_settings
    from cinnabar.extraction.run.cluster.connection import check_cluster

    parser_settings(plan.options)
    if plan.ray is not None:
        check_cluster(plan.ray, assignment)
    locations = parse_locations(paths)
    if reachable:
        with ExitStack() as connections:
            gather(locations, plan.out, connections)


def flow_parameters(paths: list[str], plan: RunPlan) -> dict[str, Any]:
    """Returns the parameters of the flow `extract_folder` for a plan: what its maker said."""
    own = plan.model_dump(
        exclude_unset=True, exclude_none=True, exclude={"schemas", "out", "options"}
    )
    options = plan.options.model_dump(exclude_unset=True, exclude_none=True)
    named = plan.schemas if plan.route else plan.schemas[0]
    return {"paths": paths, "record_schema": named, "out": str(plan.out), **own, **options}


def limit_status(summary: Summary, reasons: Sequence[ReasonCount], plan: RunPlan) -> int:
    """Returns 3, and tells why on standard error, if the run broke a limit; else 0."""
    if not (broken := broken_limits(summary, reasons, plan)):
        return 0
    print_notice(broken)
    return 3
