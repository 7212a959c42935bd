"""`cinnabar schema infer` makes a schema to edit, `cinnabar schema draft` offers one of the library."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.options import AsJson
from cinnabar.extraction.people.drafting.inferring import infer_schema
from cinnabar.extraction.people.drafting.parsed_documents import parsed_documents
from cinnabar.extraction.people.drafting.schema_files import INFERRED, OFFERED, schema_document, write_schema
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import counted, harmless

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
    schema = infer_schema(source, component)
    load_schema(schema)
    deliver(schema, to, as_json, INFERRED.format(source=source))


def draft(
    documents: Annotated[
        list[str], typer.Argument(metavar="DOCUMENT...", help="Files and folders of documents of one kind.")
    ],
    to: ToOption = None,
    as_json: AsJson = False,
) -> None:
    """Offer documents of one kind the schema of the library that they look like.

    Standard output or FILE gets that schema to edit. Exit status 2 if they look like none, with the ways to write one.

    \b
    Examples:
      cinnabar schema draft inbox
      cinnabar schema draft inbox --to invoice.yaml
      cinnabar schema draft inbox --json
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.people.drafting.library_choice import choose_library_schema, library_schema

    parsed, problems = parsed_documents(documents)
    for path, reason in problems:
        print(harmless(f"cinnabar: {path}: left out: {reason}"), file=sys.stderr)
    choice = choose_library_schema(parsed)
    if choice.schema is None:
        raise UsageError(
            f"{choice}; write one: `cinnabar init DIR` makes a schema to edit, `cinnabar schema infer` takes a class,"
            " a CSV file, example records or an OpenAPI document"
        )
    print(f"cinnabar: {choice}; `--schema {choice.schema}` uses it as it is", file=sys.stderr)
    deliver(library_schema(choice.schema), to, as_json, OFFERED.format(name=choice.schema))


def deliver(schema: dict[str, Any], to: Path | None, as_json: bool, comment: str) -> None:
    """Writes the schema to its file and says the next step, or prints it: YAML, or JSON with `as_json`."""
    if to is None:
        print(schema_document(schema, comment, as_yaml=not as_json), end="")
        return
    write_schema(schema, to, comment)
    fields = fields_of(schema)
    if as_json:
        print(json.dumps({"file": str(to), "fields": fields}, ensure_ascii=False))
        return
    field_count = counted(len(fields), "field") if fields else "written"
    print(f"{harmless(str(to))}: {field_count}; edit titles and descriptions, then")
    print(f"  cinnabar schema check {harmless(str(to))}")


def fields_of(schema: dict[str, Any]) -> list[str]:
    """The names of the properties of a record; none if a record is no object."""
    named = schema.get("$defs", {}).get(str(schema.get("$ref", "")).removeprefix("#/$defs/"), schema)
    return list(named.get("properties", {}))
