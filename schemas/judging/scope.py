"""Where an evaluation stands: the resources that it has entered, and what it has found out on the way.

The dynamic scope is the resources entered, the outermost first, each once: only the first that has an anchor
matters. Under one scope a node says the same of one value each time, and is asked once: schemas that lead to
one another by two routes each would otherwise take twice as long with every step.
"""

from __future__ import annotations

from typing import Any

from cinnabar.schemas.judging.resources import Resource

#: A node and the identity of a value, which lives as long as the judgement does.
Asked = tuple[object, int]


class Scope:
    """One dynamic scope within one judgement; the same resources on the way are the same scope.

    `held` is whether a value meets a node, `evaluated` the names or the indices that it has evaluated by it.
    """

    __slots__ = ("_inner", "evaluated", "held", "resources")

    def __init__(self, resources: tuple[Resource, ...] = ()) -> None:
        self.resources = resources
        self.held: dict[Asked, bool] = {}
        self.evaluated: dict[Asked, set[Any]] = {}
        self._inner: dict[Resource, Scope] = {}

    def entered(self, resource: Resource) -> Scope:
        """The scope within a schema of this resource."""
        if resource in self.resources:
            return self
        found = self._inner.get(resource)
        if found is None:
            found = self._inner[resource] = Scope((*self.resources, resource))
        return found
