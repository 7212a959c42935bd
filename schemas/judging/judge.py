"""The judge of a schema, compiled once: it decides whether parsed JSON values meet the schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.judging.building import Builder
from cinnabar.schemas.judging.checks import KeywordCheck, Node
from cinnabar.schemas.judging.scope import Scope
from cinnabar.schemas.judging.values import show_value
from cinnabar.schemas.pointers import escape


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

    __slots__ = ("_root",)

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
