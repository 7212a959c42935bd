"""`cinnabar schema` shows the form of a schema."""

from __future__ import annotations

from typing import Annotated

import typer

schema_app = typer.Typer(help="Check schemas.")


@schema_app.callback(invoke_without_command=True)
def schema_group(context: typer.Context) -> None:
    """Check schemas."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@schema_app.command("check")
def check_schema(
    schema: Annotated[
        str, typer.Argument(metavar="S", help="A name of the library, a JSON Schema file, or module:Class.")
    ],
) -> None:
    """Show the form of a schema, the constraint of each place, and the parts that the form leaves out.

    Exit status 2, with the JSON pointer of the keyword and the reason, if the schema cannot be enforced or no
    record meets it.

    \b
    Examples:
      cinnabar schema check invoice
      cinnabar schema check delivery.json
    """
    from cinnabar.extraction.records.validation import Validator
    from cinnabar.extraction.routing.kinds import kind_of
    from cinnabar.flows.cli.console import standard_output, table
    from cinnabar.schemas import compile_schema, load_schema
    from cinnabar.schemas.describe import describe

    source = load_schema(schema)
    compiled = compile_schema(source.schema)
    Validator(source)
    rows = [(row.pointer, row.values, row.enforced) for row in describe(compiled, source)]
    described = isinstance(source.schema, dict) and source.schema.get("description")
    compared = kind_of(source).heading if described else "nothing: it needs a description at /description"
    rows.insert(2, ("", "--route and --related compare", compared))
    standard_output().print(table(("place", "values", "enforced"), rows))
