"""`cinnabar schema` shows the form of a schema."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cinnabar.apps.cli import completion
from cinnabar.apps.cli.console import PAGE_WIDTH, standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.apps.cli.schema_report import report_of
from cinnabar.schemas import load_schema
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.wording import harmless

schema_app = typer.Typer()


@schema_app.callback(invoke_without_command=True)
def schema_group(context: typer.Context) -> None:
    """List and check schemas.

    \b
    Examples:
      cinnabar schema list
      cinnabar schema check invoice.yaml
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@schema_app.command("list")
def list_schemas(as_json: AsJson = False) -> None:
    """List the schemas of the library, with their fields.

    \b
    Examples:
      cinnabar schema list
      cinnabar schema list --json
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
    if as_json:
        print(json.dumps(listed, ensure_ascii=False))
        return
    rows = [(one["name"], one["description"], ", ".join(one["fields"])) for one in listed]
    standard_output().print(table(("name", "for", "fields"), rows))


@schema_app.command("check", short_help="Show what a schema asks and what will be filled.")
def check_schema(
    schema: Annotated[
        str,
        typer.Argument(
            metavar="S",
            help="A name of the library, a JSON Schema file (JSON or YAML), or module:Class.",
            autocompletion=completion.schemas,
        ),
    ],
    details: Annotated[
        bool, typer.Option("--details", help="The form place by place: slots, automata, how choices are decided.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the fields that a schema asks for, what a missing value becomes, and what is not promised.

    The last lines propose fields that could be facts of the document, by their names and types. With --details: the
    form that is filled, the constraint of each place, and the parts that the form leaves out.

    Exit status 2, with the JSON pointer of the keyword and the reason, if the schema cannot be enforced or no
    record meets it.

    \b
    Examples:
      cinnabar schema check invoice
      cinnabar schema check delivery.yaml --details
      cinnabar schema check delivery.json --json
    """
    report = report_of(schema)
    if as_json:
        print(json.dumps(report.as_json, ensure_ascii=False))
        return
    if details:
        console = standard_output()
        console.print(table(("place", "values", "enforced"), report.places))
        if report.choices:
            console.print(table(("choice", "decided"), report.choices))
        return
    console = standard_output(PAGE_WIDTH)
    fields = [(field.name, field.asked, field.otherwise) for field in report.fields]
    console.print(table(("field", "asks for", "if it is missing"), fields, report.name))
    for line in report.lines:
        console.print(harmless(line), markup=False)
