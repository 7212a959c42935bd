"""The judge of a schema, compiled once: it decides whether parsed JSON values meet the schema.

Building of the nodes that judge a value: every schema that can be reached is read once, before any value.

Raises SchemaError if the value of a keyword is broken. Raises UnsupportedSchema if a reference leads nowhere or in a
circle, if a pattern is not regular, or if schemas are nested too deeply at one value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.judging import applicators as apply
from cinnabar.schemas.judging import assertions, containers
from cinnabar.schemas.judging.checks import KeywordCheck, Node, Scope, show_value
from cinnabar.schemas.judging.dialects import Dialect, Entry, modern
from cinnabar.schemas.judging.resources import RECURSIVE, Documents, Place, Resource
from cinnabar.schemas.keywords import DECIMALS
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason why a value does not meet its schema.

    `pointer` is the place in the value, `schema_pointer` the place of the keyword in the schema, both RFC 6901; in a
    meta-schema its URI stands before the pointer. `str()` gives the whole sentence.
    """

    pointer: str
    schema_pointer: str
    keyword: str
    expected: str
    got: str

    def __str__(self) -> str:
        place, rule = self.pointer or "/", self.schema_pointer or "/"
        return f"{place}: expected {self.expected}, got {self.got} (by {rule})"


class Judge:
    """A schema that is ready to judge; threads may share it."""

    __slots__ = ("__weakref__", "_root")

    def __init__(self, root: Node) -> None:
        self._root = root

    def accepts(self, value: Any) -> bool:
        """Whether this parsed JSON value meets the schema.

        Numbers may be int, Decimal or float. A value that is nested too deeply for the stack is not accepted.
        Raises ValueError if the value is nothing that a JSON parser returns.
        """
        try:
            return self._root.holds(value, Scope())
        except RecursionError:
            return False

    def violation(self, value: Any) -> Violation | None:
        """The first keyword that the value does not meet, at the deepest part of the value that is to blame alone."""
        try:
            scope = Scope()
            return None if self._root.holds(value, scope) else _find_violation(self._root, value, scope)
        except RecursionError:
            return Violation("", "", "depth", "a value with fewer levels", "one that is nested too deeply")


def judge_of(schema: dict[str, Any] | bool) -> Judge:
    """The judge of a schema; each draft from 4 to 2020-12 has its own rules.

    Raises SchemaError if the schema is broken. Raises UnsupportedSchema, with the pointer of the keyword, if a keyword
    cannot be judged.
    """
    return Judge(Builder(schema).build())


def _find_violation(node: Node, value: Any, scope: Scope) -> Violation:
    pointer = ""
    while True:
        scope = node.enter(scope)
        check = next(c for c in node.checks if not all(test(value, scope) for test in c.tests(type(value))))
        step = _step(check, value, scope)
        if step is None:
            return Violation(pointer, check.place.pointer, check.keyword, check.wanted, show_value(value))
        token, value, node = step
        if token is not None:
            pointer += "/" + escape(token)


def _step(check: KeywordCheck, value: Any, scope: Scope) -> tuple[str | None, Any, Node] | None:
    """The part of the value that makes the keyword fail, if there is one."""
    return next((step for step in check.below(value, scope) if not step[2].holds(step[1], scope)), None)


MAX_BESIDE = 100
"""The most schemas that may be nested at one value; each takes a frame or two of the stack."""

Entries = dict[str, Entry]


class Builder:
    """All nodes of a schema, by their places."""

    def __init__(self, schema: Any) -> None:
        self.documents = Documents(schema)
        self.nodes: dict[Place, Node] = {}
        self._pending: list[Node] = []
        # For each anchor the targets of its dynamic references. It grows while schemas are found.
        self.dynamic: dict[str, dict[Resource, Node]] = {}

    def build(self) -> Node:
        """The node of the whole schema."""
        root = self.node(self.documents.root)
        while self._pending or self._found_anchors():
            node = self._pending.pop()
            node.tests.checks = tuple(self._checks(node))
        anchored = {resource for where in self.dynamic.values() for resource in where}
        # To find the unevaluated parts, the other checks of a schema are asked a second time.
        twice = any(isinstance(c, containers.Unevaluated) for n in self.nodes.values() for c in n.checks)
        for node in self.nodes.values():
            node.shared = node.shared or twice
            if node.place.resource in anchored:
                node.enters = node.place.resource
        _check_circles(list(self.nodes.values()))
        return root

    def node(self, place: Place) -> Node:
        """The node of this place; a new one is filled later."""
        node = self.nodes.get(place)
        if node is None:
            if not isinstance(place.value, (dict, bool)):
                raise assertions.broken(place, "a schema")
            node = self.nodes[place] = Node(place)
            self._pending.append(node)
        else:
            node.shared = True
        return node

    def _found_anchors(self) -> bool:
        """Whether a new schema was found that a dynamic reference may lead to."""
        for name, where in self.dynamic.items():
            for resource in set(self.documents.resources.values()):
                if name in resource.dynamic and resource not in where:
                    where[resource] = self.node(resource.dynamic[name])
                    where[resource].shared = True
        return bool(self._pending)

    def _checks(self, node: Node) -> list[KeywordCheck]:
        place = node.place
        if isinstance(place.value, bool):
            return [] if place.value else [assertions.Never(place)]
        entries = modern(place.value, place.resource.dialect)
        checks = (make(self, node, entries, keyword) for keyword, make in MAKERS.items() if keyword in entries)
        return [check for check in checks if check is not None]

    def list_nodes(self, place: Place) -> list[Node]:
        """The nodes of a keyword that holds a list of schemas."""
        if not isinstance(place.value, list):
            raise assertions.broken(place, "a list of schemas")
        return [self.node(place.child(str(i))) for i in range(len(place.value))]

    def named_nodes(self, place: Place) -> dict[str, Node]:
        """The nodes of a keyword that holds schemas by name."""
        if not isinstance(place.value, dict):
            raise assertions.broken(place, "schemas by name")
        return {name: self.node(place.child(name)) for name in place.value}


Maker = Callable[[Builder, Node, Entries, str], KeywordCheck | None]


def _at(node: Node, entries: Entries, keyword: str) -> Place:
    return node.place.child(entries[keyword][0])


def _assertion(make: Callable[[Place, str], KeywordCheck | None]) -> Maker:
    return lambda _builder, node, entries, keyword: make(_at(node, entries, keyword), keyword)


def _type(_builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    return assertions.Type(_at(node, entries, keyword), entries[keyword][1])


def _content(_builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck | None:
    encoded = entries.get("contentEncoding", ("", ""))[1] == "base64"
    return assertions.media_type(_at(node, entries, keyword), encoded)


def _reference(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    """Returns `$ref`, `$dynamicRef` or `$recursiveRef`: the node that it leads to, or its look-up at run time."""
    target, fragment = builder.documents.resolve(entries[keyword][1], node.place, keyword)
    place = node.place.child(keyword)
    name = RECURSIVE if keyword == "$recursiveRef" else fragment
    # Only a reference that leads by its text to a dynamic anchor is looked up again at run time.
    if keyword == "$ref" or target.resource.dynamic.get(name) is not target:
        return apply.AllOf(place, keyword, [builder.node(target)])
    return apply.Dynamic(place, keyword, builder.node(target), builder.dynamic.setdefault(name, {}))


def _of_list(make: Callable[[Place, str, list[Node]], KeywordCheck]) -> Maker:
    def maker(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
        place = _at(node, entries, keyword)
        return make(place, keyword, builder.list_nodes(place))

    return maker


def _of_one(make: Callable[[Place, str, Node], KeywordCheck]) -> Maker:
    def maker(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
        place = _at(node, entries, keyword)
        return make(place, keyword, builder.node(place))

    return maker


def _if(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    then, otherwise = (
        builder.node(node.place.child(branch)) if branch in entries else None for branch in ("then", "else")
    )
    place = _at(node, entries, keyword)
    return apply.If(place, builder.node(place), then, otherwise)


def _dependent_schemas(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    if not isinstance(entries[keyword][1], dict):
        raise assertions.broken(place, "schemas by name")
    nodes = {name: builder.node(place.child(name)) for name in entries[keyword][1]}
    return apply.DependentSchemas(place, entries[keyword][0], nodes)


def _dependent_required(_builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    if not isinstance(entries[keyword][1], dict):
        raise assertions.broken(place, "lists of names by name")
    names = {name: frozenset(assertions.strings(place.child(name))) for name in entries[keyword][1]}
    return apply.DependentRequired(place, entries[keyword][0], names)


def _properties(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    return containers.Properties(place, builder.named_nodes(place))


def _patterns(node: Node, entries: Entries) -> dict[str, containers.Match]:
    if "patternProperties" not in entries:
        return {}
    place = _at(node, entries, "patternProperties")
    if not isinstance(place.value, dict):
        raise assertions.broken(place, "schemas by pattern")
    return {p: assertions.matcher(place.child(p), "patternProperties", p) for p in place.value}


def _pattern_properties(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    matches, place = _patterns(node, entries), _at(node, entries, keyword)
    nodes = builder.named_nodes(place)
    return containers.PatternProperties(place, [(matches[pattern], nodes[pattern]) for pattern in nodes])


def _additional(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    names = frozenset(entries.get("properties", ("", {}))[1])
    matches = list(_patterns(node, entries).values())
    return containers.AdditionalProperties(place, builder.node(place), names, matches)


def _items(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    return containers.Items(place, builder.node(place), len(entries.get("prefixItems", ("", ()))[1]))


def _contains(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    least = assertions.natural(_at(node, entries, "minContains")) if "minContains" in entries else 1
    most = assertions.natural(_at(node, entries, "maxContains")) if "maxContains" in entries else None
    evaluates = node.place.resource.dialect >= Dialect.DRAFT_2020_12
    return containers.Contains(place, builder.node(place), least, most, evaluates)


def _make_unevaluated(builder: Builder, node: Node, entries: Entries, keyword: str) -> KeywordCheck:
    place = _at(node, entries, keyword)
    return containers.Unevaluated(place, keyword, builder.node(place), node)


MAKERS: dict[str, Maker] = {
    "type": _type,
    "enum": _assertion(assertions.choices),
    "const": _assertion(assertions.choices),
    "minimum": _assertion(assertions.bound),
    "maximum": _assertion(assertions.bound),
    "exclusiveMinimum": _assertion(assertions.bound),
    "exclusiveMaximum": _assertion(assertions.bound),
    "multipleOf": _assertion(assertions.multiple),
    DECIMALS: _assertion(assertions.decimal_places),
    "minLength": _assertion(assertions.count),
    "maxLength": _assertion(assertions.count),
    "minItems": _assertion(assertions.count),
    "maxItems": _assertion(assertions.count),
    "minProperties": _assertion(assertions.count),
    "maxProperties": _assertion(assertions.count),
    "required": _assertion(assertions.required),
    "dependentRequired": _dependent_required,
    "dependencies:dependentRequired": _dependent_required,
    "pattern": _assertion(assertions.pattern),
    "format": _assertion(assertions.format_of),
    "contentEncoding": _assertion(assertions.encoding),
    "contentMediaType": _content,
    "propertyNames": _of_one(containers.PropertyNames),
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "prefixItems": _of_list(containers.PrefixItems),
    "items": _items,
    "contains": _contains,
    "uniqueItems": _assertion(assertions.unique),
    "$ref": _reference,
    "$dynamicRef": _reference,
    "$recursiveRef": _reference,
    "allOf": _of_list(apply.AllOf),
    "anyOf": _of_list(apply.AnyOf),
    "oneOf": _of_list(apply.OneOf),
    "not": _of_one(apply.Not),
    "if": _if,
    "dependentSchemas": _dependent_schemas,
    "dependencies:dependentSchemas": _dependent_schemas,
    # The unevaluated parts are known after all other keywords.
    "unevaluatedProperties": _make_unevaluated,
    "unevaluatedItems": _make_unevaluated,
}
"""The makers of all keywords that assert, by their names in 2020-12, in the order of their tests: cheap first."""


def _check_circles(nodes: list[Node]) -> None:
    """Refuses schemas that come back to themselves at the same value, or are nested too deeply there."""
    depth: dict[Node, int] = {}
    for start in nodes:
        stack = [] if start in depth else [start]
        open_nodes: set[Node] = set()
        while stack:
            node = stack[-1]
            if node in depth:
                stack.pop()
                continue
            beside = [(check, other) for check in node.checks for other in check.beside()]
            fresh = [(check, other) for check, other in beside if other not in depth]
            if node in open_nodes or not fresh:
                depth[node] = 1 + max((depth[other] for _, other in beside if other in depth), default=0)
                stack.pop()
                open_nodes.discard(node)
                continue
            open_nodes.add(node)
            for check, other in fresh:
                if other in open_nodes:
                    raise refused(Refusal.CIRCLE, check.place.pointer, check.keyword)
                stack.append(other)
    deep = next((node for node in nodes if depth[node] > MAX_BESIDE), None)
    if deep is not None:
        check = next(c for c in deep.checks if any(depth[other] >= MAX_BESIDE for other in c.beside()))
        pointer, got = check.place.pointer, depth[deep]
        raise refused(Refusal.NESTED_AT_ONE_VALUE, pointer, check.keyword, most=MAX_BESIDE, got=got)
