"""The flow on a schedule, on this one machine: no work pool, no worker."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from cinnabar.flows.extract import extract_folder
from cinnabar.schemas.errors import UsageError

# Prefect is imported after what it reads from the environment was set.
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy  # isort: skip
from prefect.types.entrypoint import EntrypointType  # isort: skip
from prefect.schedules import Cron, Interval, Schedule  # isort: skip


def schedule_of(every: float | None, cron: str | None, timezone: str | None) -> Schedule | None:
    """Every so many seconds, or as cron says it; None where neither is given.

    Raises UsageError for both, and for what cannot be read.
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
    """Run the flow with these parameters when the schedule says so, and when it is asked for, until stopped.

    A run that is due while another one goes on is left out: the next one reads what came in meanwhile.
    """
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
