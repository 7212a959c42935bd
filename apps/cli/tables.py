"""`cinnabar tables` writes the tables of documents, without a schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow.parquet as pq
import typer

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.options import AsJson, takes_options
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import examine, gather, parse_locations
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.extraction.review.table_files import DocumentTable, document_tables, write_tables
from cinnabar.extraction.store.exporting import export_table
from cinnabar.wording import harmless, with_noun


@takes_options("password_file", "hidden", "ocr", "ocr_engine", "workers")
def tables(
    paths: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files, folders, mailboxes and stores to read.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the tables.")],
    to: Annotated[
        Literal["csv", "xlsx"] | None, typer.Option("--to", help="Each table as such a file, too.")
    ] = None,
    as_json: AsJson = False,
    **run_options: Any,
) -> int:
    """Write every table of the documents as a Parquet table, with its page, heading and box; no schema is asked for.

    tables.parquet lists them, and tables.duckdb has a view for all tables with the same heads. Columns are typed where
    each cell is a number or a day. Exit status 1 if a file cannot be read; the others are written.

    \b
    Examples:
      cinnabar tables reports --out tables
      cinnabar tables reports/2026.pdf --out tables --to xlsx
    """
    options = RunPlan.of((), None, **run_options).options
    settings = parser_settings(options)
    locations = parse_locations(paths)
    failed: list[str] = []
    with ExitStack() as connections:
        items = [examine(item, locations) for item in gather(locations, None, connections, settings.passwords)]
        pool = connections.enter_context(ParserPool(options.workers, settings=settings))

        def found() -> Iterator[DocumentTable]:
            readable = pool.parse_many([item.content for item in items if item.problem is None])
            for item in items:
                parsed = next(readable)[1] if item.problem is None else item.problem
                if isinstance(parsed, DocumentError):
                    failed.append(item.path)
                    print(harmless(f"cinnabar: {item.path}: {parsed.code}: {problem_message(parsed)}"), file=sys.stderr)
                else:
                    yield from document_tables(item.path, parsed)

        listed = write_tables(out, found())
    for one in listed if to is not None else ():
        file = out / one["file"]
        export_table(pq.read_table(file), file.with_suffix(f".{to}"), str(to))
    if as_json:
        print(json.dumps(listed, ensure_ascii=False))
    else:
        shown = ("file", "view", "document", "page", "heading", "rows")
        standard_output().print(table(shown, ([one[name] for name in shown] for one in listed)))
        print(f"{with_noun(len(listed), 'table')} of {with_noun(len(items) - len(failed), 'document')} in {out}")
    return int(bool(failed))
