"""`cinnabar init` makes a folder to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import GAP, PAGE_WIDTH, short, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.notices import print_notice
from cinnabar.extraction.review.drafting.draft import DRAFTED, SCHEMA, FieldFound, make_project
from cinnabar.extraction.store.reading import plain
from cinnabar.wording import harmless

#: What is said if documents have no labels in common.
NO_LABELS = "they print no labels alike: the schema is a template, in which to write your fields"
# The documents in which the values of a schema are shown.
_SHOWN = 2


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it may exist.")] = Path(),
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT...", help="Your documents, which choose the schema."),
    ] = None,
) -> Answer:
    """Make a folder to begin with: schema, settings, sample document, deployment.

    With documents of yours no sample is written. If they look like a schema of the library, it is that one, else one is
    drafted from the labels that your documents print before values. What is found in two of them is shown.
    No file is overwritten: one that exists is kept, and named.

    \b
    Examples:
      cinnabar init parcels mails
    """
    schema, comment, fields = None, None, list[FieldFound]()
    if documents:
        # Cold start: Torch takes a second.
        from cinnabar.extraction.review.drafting.draft import (
            choose_library_schema,
            fields_found,
            library_schema,
            parsed_documents,
        )
        from cinnabar.extraction.review.drafting.labels import draft_of_labels

        parsed, problems = parsed_documents([str(path) for path in documents])
        for path, reason in problems:
            print_notice(f"{path}: left out: {reason}")
        choice = choose_library_schema([*parsed.values()])
        print_notice(str(choice))
        if choice.schema is not None:
            schema = library_schema(choice.schema)
        else:
            schema, comment = draft_of_labels([*parsed.values()]), DRAFTED
            print_notice("fields drafted from their labels" if schema else NO_LABELS)
    done = make_project(folder, documents, schema, comment)
    if schema is not None and str(folder / SCHEMA) in done.written:
        fields = fields_found(schema, dict([*parsed.items()][:_SHOWN]))
    yield asdict(done) | {"fields": [plain(asdict(one)) for one in fields]}
    for name in done.written:
        print(harmless(f"{name}: written"))
    for name in done.kept:
        print(harmless(f"{name}: kept, it was there already"))
    if fields:
        _print_fields(fields)
    print("Edit the schema, then:")
    for command in done.next:
        print(harmless(f"  {command}"))


def _print_fields(fields: Sequence[FieldFound]) -> None:
    """Prints the fields of a schema with the values that were found in the first documents, in a page's width."""
    heads = ("field", "type", *(Path(path).name for path in fields[0].found))
    rows = [(one.name, one.type, *map(_value, one.found.values())) for one in fields]
    names = sum(max(len(head), *(len(row[at]) for row in rows)) + GAP for at, head in enumerate(heads[:2]))
    each = (PAGE_WIDTH - names) // len(fields[0].found) - GAP
    shown = [(*row[:2], *(short(value, each) for value in row[2:])) for row in rows]
    standard_output(PAGE_WIDTH).print(table([short(head, each) for head in heads], shown))


def _value(found: Any) -> Any:
    """Returns what a field's value is in the table: a null was not found."""
    return "nothing found" if found is None or found == [] else found
