"""`cinnabar forget` removes all that is stored of a document."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.lazy_commands import AsJson
from cinnabar.apps.cli.options import StoredDocument
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.inputs import file_of
from cinnabar.extraction.maintenance.forgetting import Forgotten
from cinnabar.extraction.maintenance.forgetting import forget as remove
from cinnabar.extraction.store.left_over import about_left_over
from cinnabar.wording import harmless, with_noun


def forget(
    document: StoredDocument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove all that is stored of a document.

    The document's own file stays. A path stands for all bytes that were ever read there. The command tells what
    it removed; on a terminal it asks first, elsewhere it needs --yes.

    \b
    Examples:
      cinnabar forget mails/1042.txt --out tables --yes
    """
    forgotten = remove(out, document, dry_run=True)
    if not dry_run:
        if not yes:
            if as_json or not sys.stdin.isatty():
                reason = "nothing can be asked here; --dry-run tells what would go"
                raise UsageError(f"forget: expected --yes, because {reason}")
            _print_forgotten("will be removed", forgotten)
            typer.confirm("Remove it?", abort=True)
        forgotten = remove(out, document)
    if as_json:
        print(json.dumps({"dry_run": dry_run, "results": asdict(forgotten)}))
        return
    _print_forgotten("would be removed" if dry_run else "removed", forgotten)
    for path in dict.fromkeys(map(file_of, forgotten.paths)):
        if os.path.lexists(path):
            print(harmless(f"kept: the file {path} itself; a run that reads it stores it again"))


def _print_forgotten(verb: str, forgotten: Forgotten) -> None:
    for path in forgotten.paths:
        print(harmless(path))
    print(harmless(", ".join(forgotten.digests) or "no digest: the file could not be opened"))
    rows = ", ".join(f"{table} {count}" for table, count in forgotten.rows.items() if count)
    print(harmless(f"{verb}: rows of {rows}; {with_noun(forgotten.batches, 'batch', 'batches')} written anew"))
    if forgotten.left_over:
        print(harmless(f"{verb}: {about_left_over(forgotten.left_over)}"))
    if forgotten.reports:
        reports = with_noun(len(forgotten.reports), "report")
        print(harmless(f"{verb}: {reports} that named it; those are written anew"))
    for name in forgotten.aside:
        print(harmless(f"{verb}: {name}, a batch that had been set aside"))
