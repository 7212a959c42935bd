"""Nodes and checks, the forms of schemas and keywords that judge values.

A check belongs to one keyword. A node knows the functions to call for each kind of value, so a string never meets the
keywords of objects.
"""

# ruff: noqa: ARG002, all keywords share one signature, and few use all of it

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cinnabar.schemas.judging.resources import Place, Resource
from cinnabar.schemas.judging.scope import Scope
from cinnabar.schemas.judging.values import KINDS

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
