"""Who asks, and what they may do: readers see, reviewers correct and audit, owners also train."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from starlette.types import Scope


class Role(IntEnum):
    """What a person may do; each role may do what those before it may."""

    READER = 1
    REVIEWER = 2
    OWNER = 3


#: The key of the person in the scope of a request.
PERSON = "cinnabar.person"
# A request that changes something and is not named is for owners alone.
_LEAST = {
    "/api/readings": Role.READER,
    "/api/ask": Role.REVIEWER,
    "/api/correct": Role.REVIEWER,
    "/api/undo": Role.REVIEWER,
    "/api/packet": Role.REVIEWER,
    "/api/claim": Role.REVIEWER,
    "/api/audit": Role.REVIEWER,
    "/api/improve": Role.OWNER,
}
# Reading is for all, but for what fills a document again, and what a second reader must not know beforehand.
_LEAST_READING = {"/api/steps": Role.REVIEWER, "/api/audit": Role.REVIEWER, "/api/audit/document": Role.REVIEWER}


@dataclass(frozen=True, slots=True)
class Person:
    """A person with their name and role; `alone` if nobody else uses this review."""

    name: str
    role: Role
    alone: bool = False


def least_role(method: str, path: str) -> Role:
    """Returns the least role that may make this request."""
    if method in ("GET", "HEAD"):
        return _LEAST_READING.get(path, Role.READER)
    return _LEAST.get(path, Role.OWNER)


def person_of(scope: Scope, alone: str) -> Person:
    """Returns the person of a request; without a team it is the one of this name, who may do everything."""
    found = scope.get(PERSON)
    return found if isinstance(found, Person) else Person(alone, Role.OWNER, alone=True)
