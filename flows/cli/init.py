"""`cinnabar init` makes a folder to begin with."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.flows.cli.options import AsJson


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it may exist.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Make a folder with a schema to edit, a sample document, a deployment for Prefect, and the next steps.

    No file is overwritten: one that exists is kept, and named.

    \b
    Examples:
      cinnabar init
      cinnabar init parcels
    """
    from cinnabar.extraction.drafting.project import make_project
    from cinnabar.flows.cli.console import harmless

    done = make_project(folder)
    if as_json:
        print(json.dumps(asdict(done), ensure_ascii=False))
        return
    for name in done.written:
        print(harmless(f"{name}: written"))
    for name in done.kept:
        print(harmless(f"{name}: kept, it was there already"))
    print("Edit the schema, then:")
    for command in done.next:
        print(harmless(f"  {command}"))
