"""`cinnabar schema infer` and `cinnabar schema draft` propose a schema to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.flows.cli.options import AsJson
from cinnabar.schemas.wording import counted

ToOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A new file for the schema, .yaml or .json; without it, standard output."),
]

def infer(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="module:Class, a CSV file, example records (.json, .jsonl, .yaml), or an OpenAPI document.",
        ),
    ],
    component: Annotated[
        str | None, typer.Option(metavar="NAME", help="The schema of the OpenAPI document to take.")
    ] = None,
    to: ToOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a schema from a Pydantic class, the columns of a CSV file, an OpenAPI document, or example records.

    Types come from the class or the values: whole and decimal numbers, dates, times, addresses, and a choice where few
    values repeat. It is a proposal: write descriptions before you use it.

    \b
    Examples:
      cinnabar schema infer claims:Claim --to claim.yaml
      cinnabar schema infer orders.csv --to order.yaml
      cinnabar schema infer records.jsonl --json
      cinnabar schema infer api.yaml --component Invoice --to invoice.json
    """
    from cinnabar.extraction.drafting.inferring import infer_schema
    from cinnabar.extraction.drafting.schema_files import INFERRED
    from cinnabar.schemas import load_schema

    schema = infer_schema(source, component)
    load_schema(schema)
    deliver(schema, to, as_json, INFERRED.format(source=source))


def deliver(schema: dict[str, Any], to: Path | None, as_json: bool, comment: str) -> None:
    """Writes the schema to its file and says the next step, or prints it: YAML, or JSON with `as_json`."""
    import json

    from cinnabar.extraction.drafting.schema_files import schema_document, write_schema
    from cinnabar.flows.cli.console import harmless

    if to is None:
        print(schema_document(schema, comment, as_yaml=not as_json), end="")
        return
    write_schema(schema, to, comment)
    fields = schema.get("properties", {})
    if as_json:
        print(json.dumps({"file": str(to), "fields": list(fields)}, ensure_ascii=False))
        return
    print(f"{harmless(str(to))}: {counted(len(fields), 'field')}; edit titles and descriptions, then")
    print(f"  cinnabar schema check {harmless(str(to))}")
