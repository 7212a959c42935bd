"""Serves the flow on a schedule on this machine, without a work pool or worker."""

from __future__ import annotations

import os
from typing import Any
from zoneinfo import available_timezones

from cinnabar.engine.child_process import SAFE_PATH
from cinnabar.errors import UsageError
from cinnabar.flows.extract import extract_folder

# After the flow's import, because that sets the environment that Prefect reads.
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy  # isort: skip
from prefect.types.entrypoint import EntrypointType  # isort: skip
from prefect.schedules import Cron, Interval, Schedule  # isort: skip


def schedule_of(every: float | None, cron: str | None, timezone: str | None) -> Schedule | None:
    """Returns a schedule of every so many seconds or by a cron expression; None if neither is given.

    Raises UsageError if both are given or one is not valid.
    """
    if every is not None and cron is not None:
        raise UsageError("expected --every or --cron, got both")
    if every is not None and every <= 0:
        raise UsageError(f"--every: expected seconds above 0, got {every:g}")
    if timezone is not None and timezone not in available_timezones():
        raise UsageError(f"--timezone: expected a name such as Europe/Berlin, got {timezone}")
    if every is not None:
        return Interval(every, timezone=timezone)
    try:
        return None if cron is None else Cron(cron, timezone=timezone)
    except ValueError as error:
        raise UsageError(f'--cron: expected five fields such as "0 2 * * *", got "{cron}"') from error


def serve(name: str, parameters: dict[str, Any], schedule: Schedule | None) -> None:
    """Runs the flow with these parameters on the schedule, and on demand, until stopped.

    A run that is due during another one is skipped: the next one reads the new documents.
    """
    # Prefect starts a process for each run.
    os.environ.update(SAFE_PATH)
    extract_folder.serve(
        name=name,
        schedule=schedule,
        parameters=parameters,
        global_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
        entrypoint_type=EntrypointType.MODULE_PATH,
        print_starting_message=False,
    )
