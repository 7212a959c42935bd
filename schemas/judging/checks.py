"""A schema as a node with checks, which is what judging runs on.

A check belongs to one keyword. A node knows for each kind of value the functions to call, so that a string
never meets the keywords of objects.
"""

# ruff: noqa: ARG002, one signature for all keywords, of which few use all of it

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cinnabar.schemas.judging.resources import Place, Resource
from cinnabar.schemas.judging.scope import Scope
from cinnabar.schemas.judging.values import KINDS

Test = Callable[[Any, Scope], bool]


class Check:
    """One keyword of one schema. `kinds` are the Python types of values that it says something about."""

    __slots__ = ("keyword", "kinds", "place")
    wanted = "what the schema says"  # what the keyword expects, as the rest of a sentence
    marks = False  # whether it leaves properties or items evaluated, in the sense of unevaluatedProperties

    def __init__(self, place: Place, keyword: str, kinds: tuple[type, ...]) -> None:
        self.place, self.keyword, self.kinds = place, keyword, kinds

    def holds(self, value: Any, scope: Scope) -> bool:
        """Whether a value of one of `kinds` meets the keyword."""
        raise NotImplementedError

    def tests(self, kind: type) -> tuple[Test, ...]:
        """What has to hold, all of it, for a value of this kind: the keyword, or each of its parts."""
        return (self.holds,) if kind in self.kinds else ()

    def beside(self) -> tuple[Node, ...]:
        """The nodes that judge the same value as this one."""
        return ()

    def admits(self, kind: type) -> bool:
        """False where no value of this kind can meet the keyword, as far as is plain."""
        return True

    def below(self, value: Any, scope: Scope) -> Iterator[tuple[str | None, Any, Node]]:
        """What has to meet further nodes: the step to it (None: the value itself), the part, the node."""
        yield from ()

    def mark(self, value: Any, scope: Scope, seen: set[Any]) -> None:
        """Add the names or the indices that a value which meets the keyword has evaluated by it."""


class Tests(dict[type, tuple[Test, ...]]):
    """What is called for each kind of value, found when the first of its kind comes."""

    __slots__ = ("checks",)

    def __init__(self) -> None:
        super().__init__()
        self.checks: tuple[Check, ...] = ()

    def __missing__(self, kind: type) -> tuple[Test, ...]:
        if kind not in KINDS:
            raise ValueError(f"expected parsed JSON, got {kind.__name__}")
        found = self[kind] = tuple(test for check in self.checks for test in check.tests(kind))
        return found


class Node:
    """A schema that is ready to judge. `enters` is its resource where dynamic references may ask for it.

    One that is `shared` may be asked of the same value more than once, and remembers what it said.
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
    def checks(self) -> tuple[Check, ...]:
        """The checks of its keywords, in the order in which they are tried."""
        return self.tests.checks

    def holds(self, value: Any, scope: Scope) -> bool:
        """Whether the value meets the schema; raises ValueError for what is no parsed JSON."""
        if self.enters is not None:
            scope = scope.entered(self.enters)
        if self.shared:
            asked = self, id(value)
            known = scope.held.get(asked)
            if known is None:
                # A generator would cost half the speed, and it or a method a frame of the stack.
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
        """Add what a value that meets the schema has evaluated by it."""
        scope = self.entered(scope)
        found = scope.evaluated.get((self, id(value)))
        if found is None:
            found = scope.evaluated[self, id(value)] = set()
            for check in self.checks:
                if check.marks and type(value) in check.kinds:
                    check.mark(value, scope, found)
        seen |= found

    def entered(self, scope: Scope) -> Scope:
        """The dynamic scope within this node."""
        return scope if self.enters is None else scope.entered(self.enters)

    def admits(self, kind: type) -> bool:
        """False where plainly no value of this kind meets the schema."""
        if self._admitted is None:  # A dictionary for each node from the start would be most of its size.
            self._admitted = {}
        if kind not in self._admitted:
            self._admitted[kind] = all(check.admits(kind) for check in self.checks)
        return self._admitted[kind]
