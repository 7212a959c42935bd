"""Runs whose process was killed become Crashed, by an automation of Prefect's server and at the start of a service.

A killed process cannot report its end, so its run would stay Running for ever. It can be known by its heartbeats,
which stop. The server evaluates the automation itself, so it works while no flow, worker or command of ours runs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# First, because it sets the environment that Prefect reads on import.
import cinnabar.flows.tasks  # noqa: F401
from cinnabar.extraction.store.files import is_locked

from prefect.automations import AutomationCore, EventTrigger, Posture  # isort: skip
from prefect.client.orchestration import get_client  # isort: skip
from prefect.client.schemas.filters import (  # isort: skip
    DeploymentFilter,
    DeploymentFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType  # isort: skip
from prefect.events.actions import ChangeFlowRunState  # isort: skip
from prefect.events.schemas.events import ResourceSpecification  # isort: skip
from prefect.states import Crashed  # isort: skip

#: Seconds without a heartbeat after which a run is dead; `flows.tasks` has one sent every 30 seconds.
SILENT = 180.0
# Seconds in which a run that begins takes the lock of its folder.
_BEGINNING = 30.0
# The name of the automation in Prefect.
_KILLED = "cinnabar: killed runs"
_OURS = ResourceSpecification.model_validate(
    {"prefect.resource.role": "flow", "prefect.resource.name": ["extract-folder", "backfill-folder"]}
)
_RUN = "prefect.flow-run."
_ENDED = {f"{_RUN}{state}" for state in ("Completed", "Failed", "Crashed", "Cancelled", "TimedOut")}


def mark_killed_runs(silent: float = SILENT) -> None:
    """Has the server mark runs of our flows as Crashed if they send no heartbeat for so many seconds.

    An automation that is the same stays as it is: an update has the server forget the runs that it watches.
    """
    why = f"no sign of life for {silent:g} seconds: its process was killed, or its machine is away"
    after = "committed records are kept, and the next run goes on from there"
    trigger = EventTrigger(
        # Running is the server's own event: a run may be killed before its first heartbeat is sent.
        after={f"{_RUN}Running", f"{_RUN}heartbeat"},
        expect={f"{_RUN}heartbeat"} | _ENDED,
        match_related=_OURS,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=silent),
    )
    crash = ChangeFlowRunState(state=StateType.CRASHED, name="Crashed", message=f"{why}; {after}", force=False)
    automation = AutomationCore(name=_KILLED, trigger=trigger, actions=[crash])
    with get_client(sync_client=True) as client:
        there = client.read_automations_by_name(_KILLED)
        if not there:
            client.create_automation(automation)
        elif _content(there[0]) != _content(automation):
            client.update_automation(there[0].id, automation)


def end_dead_runs(name: str) -> None:
    """Marks the runs of this deployment as Crashed whose folder no process holds: who served them before is dead.

    They would keep its one slot until the server misses their heartbeats, and all runs due meanwhile be cancelled. A
    run that has just begun may not hold its folder yet; the server looks after it.
    """
    states = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING]))
    deployment = DeploymentFilter(name=DeploymentFilterName(any_=[name]))
    why = "its folder is not locked: its process was killed; committed records are kept, and the next run goes on"
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=FlowRunFilter(state=states), deployment_filter=deployment):
            since = run.state.timestamp if run.state is not None else datetime.now(UTC)
            out, old = run.parameters.get("out"), datetime.now(UTC) - since > timedelta(seconds=_BEGINNING)
            if isinstance(out, str) and old and not is_locked(Path(out)):
                client.set_flow_run_state(run.id, Crashed(message=why))


def _content(automation: AutomationCore) -> dict[str, Any]:
    """Returns what an automation does, without the ids that a server gives its parts; sets, as JSON has an order."""
    content = automation.model_dump(include=set(AutomationCore.model_fields))
    content["trigger"].pop("id", None)
    return content
