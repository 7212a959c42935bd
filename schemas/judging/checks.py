"""Nodes and checks, the forms of schemas and keywords that judge values.

A check belongs to one keyword. A node knows the functions to call for each kind of value, so a string never meets the
keywords of objects.

The state of an evaluation: the resources that it has entered, and its verdicts so far.

The dynamic scope is the resources entered, the outermost first, each once, since only the first with an anchor
matters. Under one scope a node gives the same verdict on one value each time, so it is asked once. Without this,
schemas that lead to one another by two routes each would take twice as long with every step.

JSON values by the standard: their types, and equality.

Numbers are equal by value in any spelling; true is no number; the order of properties makes no difference. A value is
the result of a JSON parser: dict, list, str, bool, None, and int, Decimal or float. A float counts as the decimal of
its shortest spelling.
"""

# ruff: noqa: ARG002, all keywords share one signature, and few use all of it

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from types import NoneType
from typing import Any

from cinnabar.schemas.automata.strings import decimal
from cinnabar.schemas.judging.resources import Place, Resource

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


Test = Callable[[Any, Scope], bool]


class KeywordCheck:
    """One keyword of one schema. `kinds` are the Python types of the values that the keyword judges."""

    __slots__ = ("keyword", "kinds", "place")
    wanted = "a value that meets the schema"  # the expectation of the keyword, as the rest of a sentence
    marks = False  # whether it marks properties or items as evaluated, in the sense of unevaluatedProperties

    def __init__(self, place: Place, keyword: str, kinds: tuple[type, ...]) -> None:
        self.place, self.keyword, self.kinds = place, keyword, kinds

    def holds(self, value: Any, scope: Scope) -> bool:
        """Whether a value of one of `kinds` meets the keyword."""
        raise NotImplementedError

    def tests(self, kind: type) -> tuple[Test, ...]:
        """The tests that a value of this kind must pass: the keyword as a whole, or each of its parts."""
        return (self.holds,) if kind in self.kinds else ()

    def beside(self) -> tuple[Node, ...]:
        """The nodes that judge the same value as this one."""
        return ()

    def admits(self, kind: type) -> bool:
        """False if clearly no value of this kind can meet the keyword."""
        return True

    def below(self, value: Any, scope: Scope) -> Iterator[tuple[str | None, Any, Node]]:
        """The parts that must meet further nodes, as (step to it, None for the value itself; part; node)."""
        yield from ()

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        """Adds the names or indices of the parts that the keyword has evaluated in a value that meets it."""


class Tests(dict[type, tuple[Test, ...]]):
    """The functions to call for each kind of value, collected when the first value of its kind comes."""

    __slots__ = ("checks",)

    def __init__(self) -> None:
        super().__init__()
        self.checks: tuple[KeywordCheck, ...] = ()

    def __missing__(self, kind: type) -> tuple[Test, ...]:
        if kind not in KINDS:
            raise ValueError(f"expected parsed JSON, got {kind.__name__}")
        found = self[kind] = tuple(test for check in self.checks for test in check.tests(kind))
        return found


class Node:
    """A schema that is ready to judge. `enters` is its resource if dynamic references may ask for it.

    A `shared` node may be asked about the same value more than once; it remembers its verdicts.
    """

    __slots__ = ("_admitted", "enters", "place", "shared", "tests", "whole")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.enters: Resource | None = None
        self.shared = False
        self.whole = place.value is True or place.value == {}
        self.tests = Tests()
        self._admitted: dict[type, bool] | None = None

    @property
    def checks(self) -> tuple[KeywordCheck, ...]:
        """The checks of its keywords, in the order in which they are tried."""
        return self.tests.checks

    def holds(self, value: Any, scope: Scope) -> bool:
        """Whether the value meets the schema; raises ValueError if the value is not parsed JSON."""
        if self.enters is not None:
            scope = scope.enter(self.enters)
        if self.shared:
            asked = self, id(value)
            known = scope.held.get(asked)
            if known is None:
                # A generator would halve the speed, and a generator or a method would take a frame of the stack.
                known = True
                for test in self.tests[type(value)]:
                    if not test(value, scope):
                        known = False
                        break
                scope.held[asked] = known
            return known
        for test in self.tests[type(value)]:  # noqa: SIM110, as above
            if not test(value, scope):
                return False
        return True

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        """Adds the parts that the schema has evaluated in a value that meets it."""
        scope = self.enter(scope)
        evaluated = scope.evaluated.get((self, id(value)))
        if evaluated is None:
            evaluated = scope.evaluated[self, id(value)] = set()
            for check in self.checks:
                if check.marks and type(value) in check.kinds:
                    check.mark(value, scope, evaluated)
        seen |= evaluated

    def enter(self, scope: Scope) -> Scope:
        """The dynamic scope within this node."""
        return scope if self.enters is None else scope.enter(self.enters)

    def admits(self, kind: type) -> bool:
        """False if clearly no value of this kind meets the schema."""
        if self._admitted is None:  # A dictionary in each node from the start would make up most of its size.
            self._admitted = {}
        if kind not in self._admitted:
            self._admitted[kind] = all(check.admits(kind) for check in self.checks)
        return self._admitted[kind]


OBJECT: tuple[type, ...] = (dict,)
ARRAY: tuple[type, ...] = (list,)
STRING: tuple[type, ...] = (str,)
NUMBER: tuple[type, ...] = (int, Decimal, float)
KINDS: tuple[type, ...] = (dict, list, str, int, Decimal, float, bool, NoneType)
"""The Python types of parsed JSON."""

TYPES: dict[str, tuple[type, ...]] = {
    "object": OBJECT,
    "array": ARRAY,
    "string": STRING,
    "number": NUMBER,
    "integer": NUMBER,
    "boolean": (bool,),
    "null": (NoneType,),
}
"""The types of the standard, each with the Python types of its values."""

_TRUE, _FALSE = ("true",), ("false",)


def frozen(value: Any) -> Hashable:
    """A key that two JSON values share exactly if they are equal; raises ValueError if the value is not JSON."""
    kind = type(value)
    if kind is str or kind is int or kind is Decimal or value is None:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return _TRUE if value else _FALSE
    if kind is list:
        return ("[", *map(frozen, value))
    if kind is dict:
        return ("{", frozenset([(name, frozen(part)) for name, part in value.items()]))
    if kind is float:
        return decimal(value)
    raise ValueError(f"expected parsed JSON, got {kind.__name__}")


def split(value: int | Decimal | float) -> tuple[int, int]:
    """The size of a number as (mantissa, exponent of ten), without zeros at the end of the mantissa."""
    _, digits, exponent = decimal(value).as_tuple()
    assert isinstance(exponent, int)
    kept = len(digits)
    while kept > 1 and digits[kept - 1] == 0:
        kept -= 1
        # Decimal has no limit on the number of digits; int() has one on texts.
    mantissa = int(Decimal((0, digits[:kept], 0)))
    return (mantissa, exponent + len(digits) - kept) if mantissa else (0, 0)


def is_whole(value: int | Decimal | float) -> bool:
    """Whether a number has no fraction in any spelling: 1.0 and 1e2 have none."""
    return type(value) is int or split(value)[1] >= 0


def show_value(value: Any) -> str:
    """A value for a message, as JSON if possible, cut to 80 characters."""
    if isinstance(value, Decimal):
        text = str(value)
    elif isinstance(value, (dict, list)):
        few = f"{len(value)} {'properties' if isinstance(value, dict) else 'items'}"
        text = f"an {'object' if isinstance(value, dict) else 'array'} of {few}"
    else:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else text[:79] + "…"
