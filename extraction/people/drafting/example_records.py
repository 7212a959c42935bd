"""A JSON Schema from example records: every example is valid under it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cinnabar.extraction.people.drafting.naming import title_of
from cinnabar.extraction.people.drafting.value_types import LONGEST_CHOICE, MOST_CHOICES, TIMES_EACH, decimal_places
from cinnabar.schemas.formats.formats import is_format

#: The most different texts of a field that are counted; a field with more has no choices.
_MOST_TEXTS = 4 * MOST_CHOICES
_FORMATS = ("date", "date-time", "email", "uri", "uuid")
_CLOCK = re.compile(r"^([01][0-9]|2[0-3]):[0-5][0-9]$")
_CODE = re.compile(r"^[A-Z]{3}$")


@dataclass(slots=True)
class Observed:
    """The values of one place in all records, in bounded memory."""

    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] | None = field(default_factory=Counter)
    formats: list[str] = field(default_factory=lambda: list(_FORMATS))
    clocks: bool = True
    codes: bool = True
    places: int = 0
    members: dict[str, Observed] = field(default_factory=dict)
    items: Observed | None = None

    def add(self, value: Any) -> None:
        """Counts a value."""
        self.count += 1
        match value:
            case None:
                self.kinds["null"] += 1
            case bool():
                self.kinds["boolean"] += 1
            case int() | float() | Decimal():
                self._add_number(value)
            case str():
                self._add_text(value)
            case dict():
                self.kinds["object"] += 1
                for name, part in value.items():
                    self.members.setdefault(name, Observed()).add(part)
            case _:
                self.kinds["array"] += 1
                self.items = self.items or Observed()
                for part in value:
                    self.items.add(part)

    def _add_number(self, value: int | float | Decimal) -> None:
        self.kinds["integer" if isinstance(value, int) else "number"] += 1
        exponent = Decimal(str(value)).as_tuple().exponent
        self.places = max(self.places, -exponent if isinstance(exponent, int) else 0)

    def _add_text(self, value: str) -> None:
        self.kinds["string"] += 1
        self.formats = [name for name in self.formats if _is_of(name, value)]
        self.clocks = self.clocks and _CLOCK.fullmatch(value) is not None
        self.codes = self.codes and _CODE.fullmatch(value) is not None
        if self.texts is not None:
            self.texts[value] += 1
            if len(self.texts) > _MOST_TEXTS:
                self.texts = None

    def schema(self, name: str = "") -> dict[str, Any]:
        """The JSON Schema of these values; `name` becomes the title."""
        kinds = [kind for kind in ("string", "integer", "number", "boolean", "object", "array") if self.kinds[kind]]
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        schemas = [self._of(kind) for kind in kinds]
        titled = {"title": title_of(name.replace("_", " "))} if name else {}
        if not schemas:
            return {**titled, "type": "null"} if self.kinds["null"] else titled
        null = bool(self.kinds["null"])
        if len(schemas) == 1:
            schema = {**titled, **schemas[0]}
            if null:
                schema["type"] = [schema["type"], "null"]
                schema |= {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            return schema
        if all(kind in ("string", "integer", "number", "boolean") for kind in kinds):
            return {**titled, "type": [*kinds, *(["null"] if null else [])]}
        branches = [{"title": kind, **schema} for kind, schema in zip(kinds, schemas, strict=True)]
        return {**titled, "anyOf": [*branches, *([{"type": "null"}] if null else [])]}

    def _of(self, kind: str) -> dict[str, Any]:
        match kind:
            case "object":
                required = [name for name, part in self.members.items() if part.count == self.kinds["object"]]
                properties = {name: part.schema(name) for name, part in self.members.items()}
                return {
                    "type": "object", "additionalProperties": False, "required": required, "properties": properties,
                }  # fmt: skip
            case "array":
                assert self.items is not None
                return {"type": "array"} | ({"items": self.items.schema()} if self.items.count else {})
            case "number":
                return {"type": "number"} | decimal_places(self.places)
            case "string":
                return {"type": "string", **self._text()}
        return {"type": kind}

    def _text(self) -> dict[str, Any]:
        if self.formats:
            return {"format": self.formats[0]}
        if self.clocks:
            return {"pattern": _CLOCK.pattern}
        choices = self.texts
        few = choices is not None and 2 <= len(choices) <= MOST_CHOICES
        if choices and few and choices.total() >= TIMES_EACH * len(choices):
            return {"enum": sorted(choices)} if max(map(len, choices)) <= LONGEST_CHOICE else {}
        return {"pattern": _CODE.pattern} if self.codes else {}


def _is_of(name: str, text: str) -> bool:
    # Any word with a colon behind it is a URI by the standard.
    return is_format(name, text) and (name != "uri" or "://" in text)


def schema_of_records(records: Iterable[Any]) -> dict[str, Any]:
    """The JSON Schema of these records; without any the schema that allows everything."""
    seen = Observed()
    for record in records:
        seen.add(record)
    return seen.schema()
