"""`cinnabar init` makes a folder to begin with."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.notices import print_notice
from cinnabar.extraction.filling.run_models import largest_model
from cinnabar.extraction.review.drafting.draft import DRAFTED, make_project, parsed_documents
from cinnabar.wording import harmless


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it may exist.")] = Path(),
    documents: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT...", help="Your documents, which choose the schema."),
    ] = None,
) -> Answer:
    """Make a folder to begin with: schema, settings, sample document, deployment.

    With documents of yours no sample is written. If they look like a schema of the library, it is that one, else a
    language model that you have fetched drafts one.
    No file is overwritten: one that exists is kept, and named.

    \b
    Examples:
      cinnabar init parcels mails
    """
    schema = comment = None
    if documents:
        # Cold start: Torch takes a second.
        from cinnabar.extraction.review.drafting.draft import choose_library_schema, library_schema

        parsed, problems = parsed_documents([str(path) for path in documents])
        for path, reason in problems:
            print_notice(f"{path}: left out: {reason}")
        choice = choose_library_schema(parsed)
        schema = None if choice.schema is None else library_schema(choice.schema)
        print_notice(str(choice))
        if schema is None and (name := largest_model()) is not None:
            # Cold start: as above.
            from cinnabar.engine.models.language.language_model import load_language_model
            from cinnabar.extraction.review.drafting.draft import drafted_schema

            shortest = min(parsed, key=lambda one: len(one.text))
            schema, comment = drafted_schema(shortest, load_language_model(name)), DRAFTED
            drafted = "no fields found" if schema is None else f"{len(schema['properties'])} fields drafted"
            print_notice(f"{drafted} by {name}; check them")
    done = make_project(folder, documents, schema, comment)
    yield asdict(done)
    for name in done.written:
        print(harmless(f"{name}: written"))
    for name in done.kept:
        print(harmless(f"{name}: kept, it was there already"))
    print("Edit the schema, then:")
    for command in done.next:
        print(harmless(f"  {command}"))
