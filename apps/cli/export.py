"""`cinnabar export` writes a view or an answer to a file for other programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.options import OutOption
from cinnabar.errors import UsageError
from cinnabar.extraction.store.exporting import export as write
from cinnabar.extraction.store.exporting import format_of
from cinnabar.extraction.store.names import check_local
from cinnabar.wording import harmless, with_noun

_View = Annotated[
    str | None,
    typer.Argument(
        metavar="VIEW", help="A schema's view, fields, quarantine, …."
    ),
]
_Target = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The file; else standard output."),
]
_Format = Annotated[
    str | None,
    typer.Option("--format", metavar="F", help="csv, json, jsonl, parquet or xlsx."),
]


def export(
    out: OutOption,
    view: _View = None,
    sql: Annotated[str | None, typer.Option(metavar="QUERY", help="A query instead of a view.")] = None,
    to: _Target = None,
    form: _Format = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --to: one JSON object about the file.")
    ] = False,
) -> None:
    """Write a view, or the answer to a query, as CSV, JSON, Excel or Parquet.

    In CSV a text that a spreadsheet would run as a formula gets an apostrophe before it; numbers do not change.
    In Excel texts are texts, each list of a schema's view is a sheet, and hashes are left out; a text that is too long
    for a cell is cut and ends with "…".

    \b
    Examples:
      cinnabar export --sql "select path from invoice" --format jsonl --out tables
    """
    kind, colon, _ = (to or "").partition(":")
    if colon and kind.startswith(("postgres", "delta")):
        advice = "docs/recipes.md brings a view into PostgreSQL and into Delta tables"
        raise UsageError(f"--to {kind}:…: expected a file; {advice}")
    path = None if to is None else Path(to)
    check_local(path or "", "--to")
    if (view is None) == (sql is None):
        raise UsageError("expected the name of a view, or --sql with a query")
    if as_json and to is None:
        raise UsageError("--json: expected --to FILE beside it; --format json writes the rows as JSON")
    chosen = format_of(path, form)
    target = sys.stdout.buffer if path is None else path
    rows = write(out, view or sql or "", chosen, target, sql=sql is not None)
    if as_json:
        print(json.dumps({"file": str(to), "rows": rows}, ensure_ascii=False))
    elif to is not None:
        print(harmless(f"{with_noun(rows, 'row')}: {to}"))
