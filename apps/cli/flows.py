"""`cinnabar flows` runs extractions on a schedule."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.lazy_commands import Answer, group_of
from cinnabar.apps.cli.login import log_in_to_mailbox
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import (
    RUN_OPTIONS,
    Documents,
    OnOption,
    OutOption,
    SchemasOption,
    plan_of,
    takes_options,
)
from cinnabar.apps.cli.plan_checks import check_plan
from cinnabar.extraction.documents.inputs import gather, parse_locations
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extras import check_extra
from cinnabar.flows.parameters import flow_parameters
from cinnabar.flows.prefect_server import secret, server

flows_app = group_of(
    """Run on a schedule, with Prefect.

    \b
    Examples:
      cinnabar flows serve mails --schema invoice --out tables --cron "0 2 * * *"
    """
)
flows_app.command("login")(log_in_to_mailbox)

_Zone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Of the schedule; else UTC.")
]
_PasswordBlock = Annotated[
    str | None, typer.Option(metavar="NAME", help="Prefect's Secret block with the password.")
]


@flows_app.command("serve")
@takes_options(
    "model",
    *(one for one in RUN_OPTIONS if one not in ("limit", "retry_quarantined", "drop_corrections")),
    *("related", "max_error_rate", "ray"),
)
def serve_schedule(
    paths: Documents,
    schema: SchemasOption,
    out: OutOption,
    on: OnOption = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="The deployment's name.")] = "nightly",
    cron: Annotated[str | None, typer.Option(metavar="CRON", help='Such as "0 2 * * *".')] = None,
    every: Annotated[float | None, typer.Option(metavar="S", help="Seconds between runs.")] = None,
    timezone: _Zone = None,
    password_block: _PasswordBlock = None,
    **run_options: Any,
) -> Answer:
    """Run `extract` on a schedule on this machine, until stopped.

    Without a schedule it runs on demand from Prefect's UI. The server is that of PREFECT_API_URL, else one on
    this machine, which the command starts if needed.

    \b
    Examples:
      cinnabar flows serve mails --schema invoice --out tables --cron "0 2 * * *"
      cinnabar flows serve imaps://me@mail.example.org --every 900 --name mails
    """
    check_extra("flows", "cinnabar flows serve")
    # Extra: flows.
    from cinnabar.flows.crashed_runs import end_dead_runs, mark_killed_runs
    from cinnabar.flows.serve import schedule_of, serve

    # These checks report wrong use now, not at the first scheduled run.
    schedule = schedule_of(every, cron, timezone)
    plan = plan_of(schema, out, on=on, **run_options)
    check_plan(paths, plan, Assignment.of(plan, print_notice), reachable=password_block is None)
    parameters = flow_parameters(paths, plan)
    with server() as url:
        if password_block is not None:
            parameters["password_block"] = password_block
            with ExitStack() as connections:
                gather(parse_locations(paths, secret(password_block)), out, connections)
        yield {"name": name, "url": url, "schedule": schedule_text(every, cron)}
        print_notice(f"{name}: {schedule_text(every, cron)}; see {url.removesuffix('/api')}, stop with Ctrl-C")
        mark_killed_runs()
        end_dead_runs(name)
        serve(name, parameters, schedule)


def schedule_text(every: float | None, cron: str | None) -> str:
    """Returns the schedule as a phrase for a message."""
    if every is not None:
        return f"a run every {every:g} s"
    return f"runs at {cron}" if cron is not None else "runs when asked to"
