"""`cinnabar init` makes a folder to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import GAP, PAGE_WIDTH, short, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.text import open_documents
from cinnabar.errors import UsageError
from cinnabar.extraction.review.drafting.draft import (
    OFFER_SCHEMA,
    SCHEMA,
    FieldFound,
    fields_found,
    library_schema,
    make_project,
    nearest_schema,
)
from cinnabar.extraction.review.drafting.labels import draft_of_labels
from cinnabar.extraction.store.reading import plain
from cinnabar.wording import harmless, with_noun

NO_LABELS = "they print no labels alike: the schema has no fields, write yours before you extract"
# The most documents that are looked at, more of them change little, and those in which values are shown.
_MOST_DOCUMENTS, _SHOWN = 20, 2


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it may exist.")] = Path(),
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT...", help="Your documents, to choose or draft the schema."),
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
    schema, fields = None, list[FieldFound]()
    if documents:
        with ExitStack() as connections:
            _, read = open_documents([str(path) for path in documents], connections, [], most=_MOST_DOCUMENTS)
            parsed = {path: document for path, document in read if document.text.strip()}
        if not parsed:
            raise UsageError(f"{', '.join(map(str, documents))[:200]}: expected documents with text, got none")
        nearest, mean = nearest_schema([*parsed.values()])
        alike = f"like `{nearest}`" if mean >= OFFER_SCHEMA else f"like no schema of the library, most like `{nearest}`"
        print_notice(f"{with_noun(len(parsed), 'document')} looked at: {alike} (mean probability {mean:.2f})")
        if mean >= OFFER_SCHEMA:
            schema = library_schema(nearest)
        else:
            schema = draft_of_labels([*parsed.values()])
            print_notice("fields drafted from their labels" if schema["properties"] else NO_LABELS)
    done = make_project(folder, documents, schema)
    if schema and schema["properties"] and str(folder / SCHEMA) in done.written:
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
    names = sum(max(map(len, column)) + GAP for column in [*zip(heads, *rows, strict=True)][:2])
    each = (PAGE_WIDTH - names) // len(fields[0].found) - GAP
    shown = [(*row[:2], *(short(value, each) for value in row[2:])) for row in rows]
    standard_output(PAGE_WIDTH).print(table([short(head, each) for head in heads], shown))


def _value(found: Any) -> Any:
    """Returns what a field's value is in the table: a null was not found."""
    return "nothing found" if found is None or found == [] else found
