"""Emits the events of a run to Prefect's server too, so that its automations act on them (`flows/notices.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import NAMESPACE_URL, uuid5

from cinnabar.extraction.run.events.event import Event, type_of


def emit(events: Sequence[Event]) -> None:
    """Emits these events with their type as name and their data as payload; a repeated one has the same id."""
    # Extra: flows.
    from prefect.events import emit_event

    for event in events:
        emit_event(
            event=type_of(event.kind),
            resource={"prefect.resource.id": f"cinnabar.run.{event.run}", "prefect.resource.name": event.subject},
            payload=dict(event.data) | {"source": event.source, "subject": event.subject, "text": event.text},
            id=uuid5(NAMESPACE_URL, f"{event.source} {event.id}"),
        )
