"""Keywords that apply schemas to the properties of an object and to the items of an array.

JSON Schema Core 2020-12, sections 10.3 and 11. A property or an item is evaluated if a keyword was applied to it and
the part met the keyword; `unevaluatedProperties` and `unevaluatedItems` apply to the others.
"""

# ruff: noqa: ARG002, all keywords share one signature, and few use all of it

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cinnabar.schemas.judging.applicators import Below
from cinnabar.schemas.judging.checks import ARRAY, OBJECT, KeywordCheck, Node, Scope
from cinnabar.schemas.judging.resources import Place

Match = Callable[[str], bool]


class Properties(KeywordCheck):
    """`properties`."""

    __slots__ = ("nodes",)
    marks = True
    wanted = "properties that meet their schemas"

    def __init__(self, place: Place, nodes: dict[str, Node]) -> None:
        super().__init__(place, "properties", OBJECT)
        self.nodes = nodes

    def holds(self, value: Any, scope: Scope) -> bool:
        nodes = self.nodes
        for name, part in value.items():  # noqa: SIM110, see checks.Node
            if name in nodes and not nodes[name].holds(part, scope):
                return False
        return True

    def below(self, value: Any, scope: Scope) -> Below:
        yield from ((name, part, self.nodes[name]) for name, part in value.items() if name in self.nodes)

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        seen.update(value.keys() & self.nodes.keys())


class PatternProperties(KeywordCheck):
    """`patternProperties`: a property meets the schemas of all patterns that its name matches."""

    __slots__ = ("nodes",)
    marks = True
    wanted = "properties that meet the schemas of their patterns"

    def __init__(self, place: Place, nodes: list[tuple[Match, Node]]) -> None:
        super().__init__(place, "patternProperties", OBJECT)
        self.nodes = nodes

    def holds(self, value: Any, scope: Scope) -> bool:
        for matches, node in self.nodes:
            for name, part in value.items():
                if matches(name) and not node.holds(part, scope):
                    return False
        return True

    def below(self, value: Any, scope: Scope) -> Below:
        for matches, node in self.nodes:
            yield from ((name, part, node) for name, part in value.items() if matches(name))

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        seen.update(name for matches, _ in self.nodes for name in value if matches(name))


class AdditionalProperties(KeywordCheck):
    """`additionalProperties`: the properties that no name and no pattern beside it covers."""

    __slots__ = ("matches", "names", "node")
    marks = True
    wanted = "undeclared properties that meet their schema"

    def __init__(self, place: Place, node: Node, names: frozenset[str], matches: list[Match]) -> None:
        super().__init__(place, "additionalProperties", OBJECT)
        self.node, self.names, self.matches = node, names, tuple(matches)

    def _others(self, value: Any) -> list[str]:
        names = [name for name in value if name not in self.names]
        return [n for n in names if not any(m(n) for m in self.matches)] if self.matches else names

    def holds(self, value: Any, scope: Scope) -> bool:
        node = self.node
        if not node.whole:
            for name in self._others(value):
                if not node.holds(value[name], scope):
                    return False
        return True

    def below(self, value: Any, scope: Scope) -> Below:
        yield from ((name, value[name], self.node) for name in self._others(value))

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        seen.update(self._others(value))


class PropertyNames(KeywordCheck):
    """`propertyNames`: every name, as a string, meets a schema."""

    __slots__ = ("node",)
    wanted = "names of properties that meet their schema"

    def __init__(self, place: Place, keyword: str, node: Node) -> None:
        super().__init__(place, keyword, OBJECT)
        self.node = node

    def holds(self, value: Any, scope: Scope) -> bool:
        return all(self.node.holds(name, scope) for name in value)


class PrefixItems(KeywordCheck):
    """`prefixItems`: the first items, each by its own schema."""

    __slots__ = ("nodes",)
    marks = True
    wanted = "first items that meet their schemas"

    def __init__(self, place: Place, keyword: str, nodes: list[Node]) -> None:
        super().__init__(place, keyword, ARRAY)
        self.nodes = tuple(nodes)

    def holds(self, value: Any, scope: Scope) -> bool:
        for node, part in zip(self.nodes, value, strict=False):  # noqa: SIM110, see checks.Node
            if not node.holds(part, scope):
                return False
        return True

    def below(self, value: Any, scope: Scope) -> Below:
        pairs = enumerate(zip(self.nodes, value, strict=False))
        yield from ((str(i), part, node) for i, (node, part) in pairs)

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        seen.update(range(min(len(self.nodes), len(value))))


class Items(KeywordCheck):
    """`items`: all items behind those of `prefixItems`."""

    __slots__ = ("node", "start")
    marks = True
    wanted = "items that meet their schema"

    def __init__(self, place: Place, node: Node, start: int) -> None:
        super().__init__(place, "items", ARRAY)
        self.node, self.start = node, start

    def holds(self, value: Any, scope: Scope) -> bool:
        holds = self.node.holds
        if not self.node.whole:
            for part in value[self.start :] if self.start else value:
                if not holds(part, scope):
                    return False
        return True

    def below(self, value: Any, scope: Scope) -> Below:
        yield from ((str(i), value[i], self.node) for i in range(self.start, len(value)))

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        seen.update(range(len(value)))


class Contains(KeywordCheck):
    """`contains` with `minContains` and `maxContains`; from 2020-12 on, the items found are evaluated."""

    __slots__ = ("evaluates", "least", "most", "node", "wanted")
    marks = True

    def __init__(self, place: Place, node: Node, least: int, most: int | None, evaluates: bool) -> None:
        super().__init__(place, "contains", ARRAY)
        self.node, self.least, self.most, self.evaluates = node, least, most, evaluates
        self.wanted = f"{least} {'or more' if most is None else f'to {most}'} items that meet its schema"

    def holds(self, value: Any, scope: Scope) -> bool:
        holds, count = self.node.holds, 0
        for part in value:
            if holds(part, scope):
                count += 1
                if self.most is None and count >= self.least:
                    return True
        return count >= self.least and (self.most is None or count <= self.most)

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        if self.evaluates:
            seen.update(i for i, part in enumerate(value) if self.node.holds(part, scope))


class Unevaluated(KeywordCheck):
    """`unevaluatedProperties` and `unevaluatedItems`; tested after all other keywords of the schema."""

    __slots__ = ("node", "owner")
    marks = True
    wanted = "parts that no other keyword describes to meet its schema"

    def __init__(self, place: Place, keyword: str, node: Node, owner: Node) -> None:
        super().__init__(place, keyword, OBJECT if keyword == "unevaluatedProperties" else ARRAY)
        self.node, self.owner = node, owner

    def _others(self, value: Any, scope: Scope) -> Iterator[Any]:
        seen: set[Any] = set()
        for check in self.owner.checks:
            if check.marks and check is not self and type(value) in check.kinds:
                check.mark(value, scope, seen)
        every = value if isinstance(value, dict) else range(len(value))
        return (key for key in every if key not in seen)

    def holds(self, value: Any, scope: Scope) -> bool:
        if not self.node.whole:
            for key in self._others(value, scope):
                if not self.node.holds(value[key], scope):
                    return False
        return True

    def below(self, value: Any, scope: Scope) -> Below:
        yield from ((str(key), value[key], self.node) for key in self._others(value, scope))

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        seen.update(value if isinstance(value, dict) else range(len(value)))
