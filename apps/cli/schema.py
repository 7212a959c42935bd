"""`cinnabar schema` shows the form of a schema."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from cinnabar.apps.cli import completion, drafting
from cinnabar.apps.cli.console import PAGE_WIDTH, standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.engine.choices import ways_of_choices
from cinnabar.extraction.people.diagnosis.misspelt_keywords import misspelt_keywords
from cinnabar.extraction.reading.checks.checks import KEYWORD, Checks
from cinnabar.extraction.reading.records.validation import Validator
from cinnabar.extraction.reading.routing.kinds import kind_of
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.compiling.bindings import bound_places, proposals
from cinnabar.schemas.compiling.describe import describe
from cinnabar.schemas.compiling.fields_in_words import fields_in_words
from cinnabar.schemas.decimals import inexact_multiples
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.wording import harmless

schema_app = typer.Typer()


@schema_app.callback(invoke_without_command=True)
def schema_group(context: typer.Context) -> None:
    """List, check, offer and infer schemas.

    \b
    Examples:
      cinnabar schema draft inbox --to invoice.yaml
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
    source = load_schema(schema)
    compiled = compile_schema(source.schema)
    Validator(source)
    checks = Checks(source, compiled)
    rows = [(row.pointer, row.values, row.enforced) for row in describe(compiled, source)]
    described = isinstance(source.schema, dict) and source.schema.get("description")
    compared = kind_of(source).heading if described else "nothing: it needs a description at /description"
    rows.insert(2, ("", "--route and --related compare", compared))
    misspelt = [
        (pointer, f'this keyword is unknown and has no effect; did you mean "{near}"?')
        for pointer, near in misspelt_keywords(source.schema)
    ]
    rows += [(pointer, "warning", text) for pointer, text in misspelt]
    rows += [(f"/{KEYWORD}/{one.name}", one.expression, f"checked: {', '.join(one.places)}") for one in checks.each]
    nodes = ((place.fact, place.node) for place in bound_places(compiled.form))
    facts = {getattr(node, "item", node).path: fact for fact, node in nodes}
    ways = [
        (path, f"the fact {facts[path]}, no model is asked" if path in facts else way)
        for path, way in ways_of_choices(compiled.form)
    ]
    fields = fields_in_words(compiled.form)
    open_ends = [*compiled.unenforced, *inexact_multiples(source.schema), *misspelt]
    if as_json:
        places = [dict(zip(("place", "values", "enforced"), row, strict=True)) for row in rows]
        choices = [{"choice": path, "decided": way} for path, way in ways]
        result = {
            "name": source.name,
            "fields": [asdict(field) for field in fields],
            "not_promised": [{"place": pointer or "/", "reason": text} for pointer, text in open_ends],
            "places": places,
            "choices": choices,
        }
        print(json.dumps(result, ensure_ascii=False))
        return
    if details:
        console = standard_output()
        console.print(table(("place", "values", "enforced"), rows))
        if ways:
            console.print(table(("choice", "decided"), ways))
        return
    console = standard_output(PAGE_WIDTH)
    field_rows = [(field.name, field.asked, field.otherwise) for field in fields]
    console.print(table(("field", "asks for", "if it is missing"), field_rows, source.name))
    lines = [
        "A record is written only if it meets the whole schema; a document that is held back waits in quarantine.",
        "Not promised: that a value is the right one. Its confidence tells how sure it is.",
        *(f"Not promised: {pointer or '/'}: {text}" for pointer, text in open_ends),
        *(f"Checked in each record: {one.name}: {one.expression}" for one in checks.each),
        *([] if described else ["Without a description the schema cannot be told from others (--route, --related)."]),
        *(f"Could come from the file itself: {one.pointer}: {one.fact}" for one in proposals(compiled.form)),
        "--details shows the form that is filled: its slots, automata and choices.",
    ]
    for line in lines:
        console.print(harmless(line), markup=False)


schema_app.command("draft", short_help="Offer documents a schema of the library.")(drafting.draft)
schema_app.command("infer", short_help="Make one from a class, a CSV file or records.")(drafting.infer)
