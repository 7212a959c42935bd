"""The state of an evaluation: the resources that it has entered, and its verdicts so far.

The dynamic scope is the resources entered, the outermost first, each once, since only the first with an anchor
matters. Under one scope a node gives the same verdict on one value each time, so it is asked once. Without this,
schemas that lead to one another by two routes each would take twice as long with every step.
"""

from __future__ import annotations

from typing import Any

from cinnabar.schemas.judging.resources import Resource

#: A node and the identity of a value; the value lives as long as the judgement.
Asked = tuple[object, int]


class Scope:
    """One dynamic scope within one judgement; equal resources on the way give the same scope.

    `held` tells whether a value meets a node, `evaluated` the names or the indices that the node has evaluated in it.
    """

    __slots__ = ("_inner", "evaluated", "held", "resources")

    def __init__(self, resources: tuple[Resource, ...] = ()) -> None:
        self.resources = resources
        self.held: dict[Asked, bool] = {}
        self.evaluated: dict[Asked, set[Any]] = {}
        self._inner: dict[Resource, Scope] = {}

    def enter(self, resource: Resource) -> Scope:
        """The scope within a schema of this resource."""
        if resource in self.resources:
            return self
        scope = self._inner.get(resource)
        if scope is None:
            scope = self._inner[resource] = Scope((*self.resources, resource))
        return scope
