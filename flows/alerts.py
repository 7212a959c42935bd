"""Automations of Prefect's server: killed runs become Crashed, and alerts are told outside of Prefect.

A killed process cannot report its end, so its run would stay Running for ever. It can be known by its heartbeats,
which stop. The server evaluates automations itself, so they work while no flow, worker or command of ours runs.
"""

from __future__ import annotations

import logging
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

# First, because it sets the environment that Prefect reads on import.
import cinnabar.flows.tasks  # noqa: F401
from cinnabar.errors import UsageError
from cinnabar.extraction.store.files import is_locked

from prefect.automations import AutomationCore, EventTrigger, Posture  # isort: skip
from prefect.blocks.notifications import SlackWebhook  # isort: skip
from prefect.client.orchestration import get_client  # isort: skip
from prefect.client.schemas.filters import (  # isort: skip
    DeploymentFilter,
    DeploymentFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import StateType  # isort: skip
from prefect.events.actions import ChangeFlowRunState, SendNotification  # isort: skip
from prefect.events.schemas.events import ResourceSpecification  # isort: skip
from prefect.states import Crashed  # isort: skip

#: Seconds without a heartbeat after which a run is dead; `flows.tasks` has one sent every 30 seconds.
SILENT = 180.0
#: Seconds after which a run that is due and has not begun is told.
LATE = 900.0
# Seconds in which a run that begins takes the lock of its folder.
_BEGINNING = 30.0
# The names of the block and of the automations in Prefect.
_BLOCK, _KILLED, _FAILED, _LATE = "cinnabar", "cinnabar: killed runs", "cinnabar: failed runs", "cinnabar: late runs"
_OURS = ResourceSpecification.model_validate(
    {"prefect.resource.role": "flow", "prefect.resource.name": ["extract-folder", "backfill-folder"]}
)
_RUN = "prefect.flow-run."
_ENDED = {f"{_RUN}{state}" for state in ("Completed", "Failed", "Crashed", "Cancelled", "TimedOut")}
_SUBJECT = "Cinnabar: {{ flow_run.name }}: "
_WHERE = "\n\n{{ flow.name }}{% if deployment %}/{{ deployment.name }}{% endif %}: {{ flow_run|ui_url }}"


def mark_killed_runs(silent: float = SILENT) -> None:
    """Has the server mark runs of our flows as Crashed if they send no heartbeat for so many seconds."""
    why = f"no sign of life for {silent:g} seconds: its process was killed, or its machine is away"
    after = "committed records are kept, and the next run goes on from there"
    _put(
        _KILLED,
        # Running is the server's own event: a run may be killed before its first heartbeat is sent.
        _silence({f"{_RUN}Running", f"{_RUN}heartbeat"}, {f"{_RUN}heartbeat"} | _ENDED, silent),
        ChangeFlowRunState(state=StateType.CRASHED, name="Crashed", message=f"{why}; {after}", force=False),
    )


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


def alert(address: str) -> None:
    """Has the server send a message to this address if a run fails or crashes, or is due and does not begin.

    The address is one of Apprise, such as mailtos://USER:PASSWORD@HOST?to=NAME@HOST or jsons://HOST/PATH; the server
    keeps it in a block. Raises UsageError if it is none.
    """
    check_address(address)
    # Of the blocks that every server has, this one hands an address that is not Slack's to Apprise as it is.
    block = cast(UUID, SlackWebhook(url=address).save(_BLOCK, overwrite=True))  # type: ignore[arg-type]

    def message(subject: str, body: str) -> SendNotification:
        return SendNotification(block_document_id=block, subject=subject, body=body)

    _put(
        _FAILED,
        _trigger_of({f"{_RUN}Failed", f"{_RUN}Crashed", f"{_RUN}TimedOut"}, match_related=_OURS),
        message(_SUBJECT + "{{ flow_run.state.name }}", "{{ flow_run.state.message }}" + _WHERE),
    )
    begun = {f"{_RUN}{state}" for state in ("Pending", "Running", "Scheduled")} | _ENDED
    due = f"It was due, and has not begun for {LATE:g} seconds: is a worker, or the service, running?"
    _put(_LATE, _silence({f"{_RUN}Late"}, begun, LATE), message(f"{_SUBJECT}late", due + _WHERE))


def check_address(address: str) -> None:
    """Raises UsageError if this is no address of Apprise; it says nothing of the address, which may hold a password."""
    # Extra: flows.
    from apprise import Apprise

    log = logging.getLogger("apprise")
    with warnings.catch_warnings():
        # To find the one that knows an address, Apprise imports all its plugins, some of which use old modules.
        warnings.simplefilter("ignore", DeprecationWarning)
        log.disabled = True
        try:
            known = Apprise.instantiate(address, suppress_exceptions=True)
        finally:
            log.disabled = False
    if not known:
        raise UsageError(
            "expected an address in the form of Apprise, such as mailtos://USER:PASSWORD@HOST?to=ADDRESS for mail or"
            " jsons://HOST/PATH for a webhook, got another text; https://appriseit.com lists all forms"
        )


def _trigger_of(expect: set[str], **match: Any) -> EventTrigger:
    """Returns the trigger that fires at each of these events."""
    return EventTrigger(expect=expect, for_each={"prefect.resource.id"}, posture=Posture.Reactive, threshold=1, **match)


def _silence(after: set[str], expect: set[str], seconds: float) -> EventTrigger:
    """Returns the trigger that fires if a run has one of these events and none of the others in so many seconds."""
    return EventTrigger(
        after=after,
        expect=expect,
        match_related=_OURS,
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )


def _put(name: str, trigger: EventTrigger, action: Any) -> None:
    """Creates this automation, or brings the one of this name up to date.

    One that is the same stays as it is: an update has the server forget the runs that it watches.
    """
    automation = AutomationCore(name=name, trigger=trigger, actions=[action])
    with get_client(sync_client=True) as client:
        automations = client.read_automations_by_name(name)
        if not automations:
            client.create_automation(automation)
        elif _content(automations[0]) != _content(automation):
            client.update_automation(automations[0].id, automation)


def _content(automation: AutomationCore) -> dict[str, Any]:
    """Returns what an automation does, without the ids that a server gives its parts."""
    content = automation.model_dump(mode="json", include=set(AutomationCore.model_fields))
    content["trigger"].pop("id", None)
    return content
