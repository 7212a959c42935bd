"""The report of `cinnabar schema check`: what a schema asks, how it is filled, and what is not promised."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from cinnabar.engine.choices import ways_of_choices
from cinnabar.extraction.people.diagnosis.misspelt_keywords import misspelt_keywords
from cinnabar.extraction.reading.checks.checks import KEYWORD, Checks
from cinnabar.extraction.reading.records.validation import Validator
from cinnabar.extraction.reading.routing.kinds import kind_of
from cinnabar.schemas import SchemaSource, compile_schema, load_schema
from cinnabar.schemas.compiling.bindings import bound_places, proposals
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.describe import describe
from cinnabar.schemas.compiling.fields_in_words import FieldInWords, fields_in_words
from cinnabar.schemas.decimals import inexact_multiples

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """What `cinnabar schema check` shows of a schema.

    places: pointer, values and what is enforced. choices: path, and how it is decided. not_promised: pointer and
    reason. checks: name and expression. proposals: pointer and fact.
    """

    name: str
    fields: list[FieldInWords]
    places: list[tuple[str, str, str]]
    choices: Pairs
    not_promised: Pairs
    checks: Pairs
    proposals: Pairs

    @property
    def as_json(self) -> dict[str, Any]:
        """The report as a JSON value."""
        return {
            "name": self.name,
            "fields": [asdict(field) for field in self.fields],
            "not_promised": [{"place": pointer or "/", "reason": reason} for pointer, reason in self.not_promised],
            "places": [dict(zip(("place", "values", "enforced"), row, strict=True)) for row in self.places],
            "choices": [{"choice": path, "decided": way} for path, way in self.choices],
        }

    @property
    def lines(self) -> list[str]:
        """The sentences below the table of fields."""
        return [
            "A record is written only if it meets the whole schema; a document that is held back waits in quarantine.",
            "Not promised: that a value is the right one. Its confidence tells how sure it is.",
            *(f"Not promised: {pointer or '/'}: {reason}" for pointer, reason in self.not_promised),
            *(f"Checked in each record: {name}: {expression}" for name, expression in self.checks),
            *(f"Could come from the file itself: {pointer}: {fact}" for pointer, fact in self.proposals),
            "--details shows the form that is filled: its slots, automata and choices.",
        ]


def report_of(schema: str) -> SchemaReport:
    """Returns the report of a schema. Raises UsageError if it cannot be enforced, or no record meets it."""
    source = load_schema(schema)
    compiled = compile_schema(source.schema)
    Validator(source)
    return report_of_schema(source, compiled)


def report_of_schema(source: SchemaSource, compiled: CompiledSchema) -> SchemaReport:
    """Returns the report of a schema that can be enforced."""
    checks = Checks(source, compiled)
    misspelt = [
        (pointer, f'this keyword is unknown and has no effect; did you mean "{near}"?')
        for pointer, near in misspelt_keywords(source.schema)
    ]
    return SchemaReport(
        source.name,
        fields_in_words(compiled.form),
        _places(source, compiled, checks, misspelt),
        _choices(compiled),
        [*compiled.unenforced_demands, *inexact_multiples(source.schema), *misspelt],
        [(one.name, one.expression) for one in checks.each],
        [(one.pointer, one.fact) for one in proposals(compiled.form)],
    )


def _places(
    source: SchemaSource, compiled: CompiledSchema, checks: Checks, misspelt: Pairs
) -> list[tuple[str, str, str]]:
    rows = [(row.pointer, row.values, row.enforced) for row in describe(compiled, source)]
    if isinstance(source.schema, dict) and source.schema.get("description"):
        rows.insert(2, ("", "--route and --related compare", kind_of(source).heading))
    rows += [(pointer, "warning", text) for pointer, text in misspelt]
    rows += [(f"/{KEYWORD}/{one.name}", one.expression, f"checked: {', '.join(one.places)}") for one in checks.each]
    return rows


def _choices(compiled: CompiledSchema) -> Pairs:
    nodes = ((place.fact, place.node) for place in bound_places(compiled.form))
    facts = {getattr(node, "item", node).path: fact for fact, node in nodes}
    return [
        (path, f"the fact {facts[path]}, no model is asked" if path in facts else way)
        for path, way in ways_of_choices(compiled.form)
    ]
