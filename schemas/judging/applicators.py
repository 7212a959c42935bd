"""Keywords that apply schemas to the value itself: references, combinations, conditions, dependencies.

JSON Schema Core 2020-12, sections 8.2.3 and 10.2.
"""

# ruff: noqa: ARG002, all keywords share one signature, and few use all of it

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cinnabar.schemas.judging.checks import KINDS, OBJECT, KeywordCheck, Node, Scope, Test
from cinnabar.schemas.judging.resources import Place, Resource

Below = Iterator[tuple[str | None, Any, Node]]


class AllOf(KeywordCheck):
    """`allOf`, and `$ref` as an `allOf` of one."""

    __slots__ = ("nodes",)
    marks = True
    wanted = "a value that meets every one of these schemas"

    def __init__(self, place: Place, keyword: str, nodes: list[Node]) -> None:
        super().__init__(place, keyword, KINDS)
        self.nodes = tuple(nodes)

    def tests(self, kind: type) -> tuple[Test, ...]:
        # The parts are tested one by one, which spares a call and a frame of the stack.
        return tuple(node.holds for node in self.nodes if not node.whole)

    def holds(self, value: Any, scope: Scope) -> bool:
        return all(node.holds(value, scope) for node in self.nodes)

    def beside(self) -> tuple[Node, ...]:
        return self.nodes

    def admits(self, kind: type) -> bool:
        return all(node.admits(kind) for node in self.nodes)

    def below(self, value: Any, scope: Scope) -> Below:
        yield from ((None, value, node) for node in self.nodes)

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        for node in self.nodes:
            node.mark(value, scope, seen)


class Dynamic(KeywordCheck):
    """`$dynamicRef`, and `$recursiveRef` of 2019-09: the outermost entered schema that has the anchor."""

    __slots__ = ("otherwise", "where")
    marks = True
    wanted = "a value that meets the schema referred to"

    def __init__(self, place: Place, keyword: str, otherwise: Node, where: dict[Resource, Node]) -> None:
        super().__init__(place, keyword, KINDS)
        self.otherwise, self.where = otherwise, where

    def _target(self, scope: Scope) -> Node:
        where = self.where
        return next((where[resource] for resource in scope.resources if resource in where), self.otherwise)

    def holds(self, value: Any, scope: Scope) -> bool:
        where = self.where
        for resource in scope.resources:
            if resource in where:
                return where[resource].holds(value, scope)
        return self.otherwise.holds(value, scope)

    def beside(self) -> tuple[Node, ...]:
        # The target depends on the way here; the written target is checked for circles.
        return (self.otherwise,)

    def below(self, value: Any, scope: Scope) -> Below:
        yield None, value, self._target(scope)

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        self._target(scope).mark(value, scope, seen)


class Alternatives(KeywordCheck):
    """`anyOf` and `oneOf`."""

    __slots__ = ("nodes",)
    marks = True

    def __init__(self, place: Place, keyword: str, nodes: list[Node]) -> None:
        super().__init__(place, keyword, KINDS)
        self.nodes = tuple(nodes)

    def holds(self, value: Any, scope: Scope) -> bool:
        raise NotImplementedError

    def beside(self) -> tuple[Node, ...]:
        return self.nodes

    def admits(self, kind: type) -> bool:
        return any(node.admits(kind) for node in self.nodes)

    def below(self, value: Any, scope: Scope) -> Below:
        # If only one alternative is for values of this kind, its violation is the one to report.
        possible = [node for node in self.nodes if node.admits(type(value))]
        if len(possible) == 1:
            yield None, value, possible[0]

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        for node in self.nodes:
            if node.holds(value, scope):
                node.mark(value, scope, seen)


class AnyOf(Alternatives):
    """`anyOf`."""

    __slots__ = ()
    wanted = "a value that fits at least one of the alternatives"

    def holds(self, value: Any, scope: Scope) -> bool:
        for node in self.nodes:  # noqa: SIM110, a generator would take a frame of the stack
            if node.holds(value, scope):
                return True
        return False


class OneOf(Alternatives):
    """`oneOf`."""

    __slots__ = ()
    wanted = "a value that fits exactly one of the alternatives"

    def holds(self, value: Any, scope: Scope) -> bool:
        met = False
        for node in self.nodes:
            if node.holds(value, scope):
                if met:
                    return False
                met = True
        return met


class Not(KeywordCheck):
    """`not`; properties and items evaluated within it do not count outside."""

    __slots__ = ("node",)
    wanted = "a value that does not meet this schema"

    def __init__(self, place: Place, keyword: str, node: Node) -> None:
        super().__init__(place, keyword, KINDS)
        self.node = node

    def holds(self, value: Any, scope: Scope) -> bool:
        return not self.node.holds(value, scope)

    def beside(self) -> tuple[Node, ...]:
        return (self.node,)


class If(KeywordCheck):
    """`if` with its `then` and `else`; alone it only marks what it has evaluated."""

    __slots__ = ("condition", "no", "yes")
    marks = True
    wanted = "a value that meets the branch of its condition"

    def __init__(self, place: Place, condition: Node, yes: Node | None, no: Node | None) -> None:
        super().__init__(place, "if", KINDS)
        self.condition, self.yes, self.no = condition, yes, no

    def tests(self, kind: type) -> tuple[Test, ...]:
        return (self.holds,) if self.yes or self.no else ()

    def holds(self, value: Any, scope: Scope) -> bool:
        node = self.yes if self.condition.holds(value, scope) else self.no
        return node is None or node.holds(value, scope)

    def beside(self) -> tuple[Node, ...]:
        return tuple(node for node in (self.condition, self.yes, self.no) if node)

    def below(self, value: Any, scope: Scope) -> Below:
        node = self.yes if self.condition.holds(value, scope) else self.no
        if node:
            yield None, value, node

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        met = self.condition.holds(value, scope)
        if met:
            self.condition.mark(value, scope, seen)
        node = self.yes if met else self.no
        if node:
            node.mark(value, scope, seen)


class DependentSchemas(KeywordCheck):
    """`dependentSchemas`: if a property is present, the whole object meets a schema."""

    __slots__ = ("nodes",)
    marks = True
    wanted = "an object that meets the schemas of its properties"

    def __init__(self, place: Place, keyword: str, nodes: dict[str, Node]) -> None:
        super().__init__(place, keyword, OBJECT)
        self.nodes = nodes

    def holds(self, value: Any, scope: Scope) -> bool:
        for name, node in self.nodes.items():  # noqa: SIM110, a generator would take a frame of the stack
            if name in value and not node.holds(value, scope):
                return False
        return True

    def beside(self) -> tuple[Node, ...]:
        return tuple(self.nodes.values())

    def below(self, value: Any, scope: Scope) -> Below:
        yield from ((None, value, node) for name, node in self.nodes.items() if name in value)

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        for _, _, node in self.below(value, scope):
            node.mark(value, scope, seen)


class DependentRequired(KeywordCheck):
    """`dependentRequired`: if a property is present, others are too."""

    __slots__ = ("names", "wanted")

    def __init__(self, place: Place, keyword: str, names: dict[str, frozenset[str]]) -> None:
        super().__init__(place, keyword, OBJECT)
        self.names = names
        rules = (f"{', '.join(sorted(needed))} beside {name}" for name, needed in names.items())
        self.wanted = f"the properties {'; '.join(rules)}"

    def holds(self, value: Any, scope: Scope) -> bool:
        return all(value.keys() >= needed for name, needed in self.names.items() if name in value)
