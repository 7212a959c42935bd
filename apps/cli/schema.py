"""`cinnabar schema` tells what a schema asks, how it is filled, and what is not promised."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import PAGE_WIDTH, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer, group_of
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.schemas import SchemaSource, compile_schema, load_schema
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.describe import fields_in_words
from cinnabar.schemas.library import LIBRARY
from cinnabar.wording import harmless

schema_app = group_of(
    """List and check schemas.

    \b
    Examples:
      cinnabar schema list
      cinnabar schema check invoice.yaml
    """
)


@schema_app.command("list")
def list_schemas() -> Answer:
    """List the schemas of the library, with their fields.

    \b
    Examples:
      cinnabar schema list
    """
    sources = [load_schema(name).schema for name in LIBRARY]
    listed = [
        {
            "name": name,
            "description": str(schema.get("description", "")),
            "fields": list(schema.get("properties", {})),
        }
        for name, schema in zip(LIBRARY, sources, strict=True)
        if isinstance(schema, dict)
    ]
    yield listed
    rows = [(one["name"], one["description"], ", ".join(one["fields"])) for one in listed]
    standard_output().print(table(("name", "for", "fields"), rows))


@schema_app.command("check", short_help="Show what a schema asks and what will be filled.")
def check_schema(
    schema: Annotated[
        str,
        typer.Argument(
            metavar="S",
            help="A name of the library, a JSON Schema file or module:Class.",
        ),
    ],
) -> Answer:
    """Show what a schema asks for, what a missing value becomes, and what is not promised.

    Exit status 2, with the JSON pointer of the keyword and the reason, if the schema cannot be enforced or no
    record meets it.

    \b
    Examples:
      cinnabar schema check delivery.json
    """
    source = load_schema(schema)
    compiled = compile_schema(source.schema)
    Validator(source)
    report = report_of_schema(source, compiled)
    yield report
    console = standard_output(PAGE_WIDTH)
    fields = [(field["name"], field["asked"], field["otherwise"]) for field in report["fields"]]
    console.print(table(("field", "asks for", "if it is missing"), fields, report["name"]))
    for line in (
        "A record is written only if it meets the whole schema; a document that is held back waits in quarantine.",
        "Not promised: that a value is the right one. Its confidence tells how sure it is.",
        *(f"Not promised: {one['place']}: {one['reason']}" for one in report["not_promised"]),
        *(f"Checked in each record: {one['name']}: {one['expression']}" for one in report["checks"]),
    ):
        console.print(harmless(line))


def report_of_schema(source: SchemaSource, compiled: CompiledSchema) -> dict[str, Any]:
    """Returns what `schema check` tells of a schema that can be enforced, as a JSON value."""
    return {
        "name": source.name,
        "fields": [asdict(field) for field in fields_in_words(compiled.form)],
        "not_promised": [{"place": at or "/", "reason": reason} for at, reason in compiled.unenforced_demands],
        "checks": [{"name": one.name, "expression": one.expression} for one in Checks(source, compiled).each],
    }
