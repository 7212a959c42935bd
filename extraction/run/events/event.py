"""An event of a run in the form of CloudEvents 1.0; a repeated delivery has the same id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

#: The media type of an event as JSON (CloudEvents 1.0, structured mode).
CONTENT_TYPE = "application/cloudevents+json"
_TYPE = "dev.cinnabar.run."
#: The kinds of events, and what each tells.
KINDS = {
    "finished": "a run ended, with its counts",
    "failed": "a run failed, or its process was killed",
    "quarantine": "more documents are in quarantine than --max-error-rate allows",
    "drift": "a run differs from earlier runs by more than chance",
    "list_incomplete": "lists have another length than their documents tell",
    "review_wanted": "documents wait for a person",
}


def type_of(kind: str) -> str:
    """Returns the type of the events of this kind, as receivers and automations know it."""
    return f"{_TYPE}{kind}"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a run: counts and sentences, never the content of a document.

    `source` is the folder of the results as //HOST/PATH, `time` is in UTC (RFC 3339).
    """

    kind: str
    run: str
    source: str
    time: str
    data: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Returns the id, which follows from run and kind, so that a receiver knows a repeated event."""
        return f"{self.run}-{self.kind}"

    @property
    def subject(self) -> str:
        """Returns a line for people."""
        return f"Cinnabar: {self.kind.replace('_', ' ')}: {', '.join(self.data['schemas']) or self.run}"

    @property
    def text(self) -> str:
        """Returns the event for people: its sentences, then where to look."""
        return "\n".join([*self.data["sentences"], "", *self.data["look"], ""])

    def json(self) -> bytes:
        """Returns the event as JSON in CloudEvents' structured mode."""
        return orjson.dumps(
            {
                "specversion": "1.0",
                "id": self.id,
                "source": self.source,
                "type": type_of(self.kind),
                "subject": self.run,
                "time": self.time,
                "datacontenttype": "application/json",
                "data": dict(self.data),
            }
        )

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Event:
        """Returns the event in this JSON. Raises KeyError if it is none."""
        kind = str(content["type"]).removeprefix(_TYPE)
        return cls(kind, content["subject"], content["source"], content["time"], content["data"])
