"""The checks of a run by its plan: what it would refuse, before it begins, and the limit that it broke, at its end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cinnabar.apps.cli.notices import print_notice
from cinnabar.flows.parameters import broken_limits

if TYPE_CHECKING:
    from cinnabar.extraction.filling.progress import ReasonCount
    from cinnabar.extraction.plan.run_options import RunPlan
    from cinnabar.extraction.run.batch.assignment import Assignment
    from cinnabar.extraction.run.stored_run import Summary


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


def limit_status(summary: Summary, reasons: Sequence[ReasonCount], plan: RunPlan) -> int:
    """Returns 3, and tells why on standard error, if the run broke a limit; else 0."""
    if not (broken := broken_limits(summary, reasons, plan)):
        return 0
    print_notice(broken)
    return 3
