"""Validates texts of records by the judge of their schema, then by the Pydantic class if there is one."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from cinnabar.schemas.automata.strings import shared_value
from cinnabar.schemas.compiling.compile import compile_schema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.pointers import pointer_of


@dataclass(frozen=True, slots=True)
class RecordViolation:
    """A place in a record, by JSON pointer (RFC 6901), and the rule that it breaks."""

    pointer: str
    message: str


class Validator:
    """Checks records against one schema; threads may share it. Raises the exceptions of `compile_schema`."""

    def __init__(self, source: SchemaSource) -> None:
        self._model: TypeAdapter[Any] | None = None if source.model is None else TypeAdapter(source.model)
        self._judge = compile_schema(source.schema).judge

    def check(self, record_text: str) -> list[RecordViolation]:
        """Returns the violations in this JSON text; [] if it is valid."""
        try:
            value = shared_value(record_text)
        except ValueError as error:
            return [RecordViolation("", f"expected one JSON text, got {error}")]
        found = [RecordViolation(one.pointer, one.message) for one in self._judge.violations(value)]
        return found or self._check_model(record_text)

    def _check_model(self, record_text: str) -> list[RecordViolation]:
        if self._model is None:
            return []
        try:
            self._model.validate_json(record_text)
        except ValidationError as error:
            # Pydantic's locations also hold union branches; such a pointer names the nearest place it can.
            return [RecordViolation(pointer_of(part["loc"]), part["msg"]) for part in error.errors(include_url=False)]
        except Exception as error:  # The user's validators may raise anything.
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error}"
            where = f"{last.filename}, line {last.lineno}"
            return [RecordViolation("", f"the class's own code failed at {where}: {reason}")]
        return []
