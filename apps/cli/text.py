"""`cinnabar text` shows what the parser reads from a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.notices import print_notice
from cinnabar.apps.cli.options import takes_options
from cinnabar.engine.tables.heads import words_of
from cinnabar.engine.tables.table import tables_of
from cinnabar.errors import DocumentError, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings, problem_message
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import Input, examine, gather, parse_locations
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.plan.folder_settings import folder_settings
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.review.table_files import document_tables, write_tables
from cinnabar.wording import harmless, with_noun

_PARTS = ("part", "kind", "name", "page", "start", "end", "width", "height", "parent", "media_type")
_WORDS = ("start", "end", "part", "page", "x0", "top", "x1", "bottom", "sure", "text")


@takes_options("password_file", "hidden", "ocr")
def text(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files, folders, mailboxes and stores.")
    ],
    tables: Annotated[bool, typer.Option("--tables", help="The tables by cell.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --tables: a folder for Parquet files.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="A JSON object a line for each document: parts, words, tables, facts."),
    ] = False,
    **run_options: Any,
) -> int:
    """Show what the parser reads: text, tables, or with --json all of it.

    Positions are characters of the text, ends exclusive. Boxes are in points from the page's top left corner.
    With --tables and --out each table becomes a file, with typed columns where each cell is a number or a day.
    Exit status 1 if a file cannot be read.

    \b
    Examples:
      cinnabar text letter.pdf --hidden --password-file passwords.txt
      cinnabar text scans --tables --out found_tables
    """
    if tables and as_json:
        raise UsageError("expected at most one of --tables and --json")
    if out is not None and not tables:
        raise UsageError("--out goes with --tables: it is the folder for their files")
    engine = {name: value for name, value in folder_settings().run.items() if name == "ocr_engine"}
    options = RunOptions(**run_options, **engine)
    settings = parser_settings(options)
    failed: list[str] = []
    with ExitStack() as connections:
        several, read = open_documents(paths, connections, failed, settings)
        if out is not None:
            _write_tables(out, read)
        else:
            for path, document in read:
                _print(path, document, several, tables, as_json)
    return int(bool(failed))


def open_documents(
    paths: Sequence[str],
    connections: ExitStack,
    failed: list[str],
    settings: ParserSettings = DEFAULT,
    most: int | None = None,
) -> tuple[bool, Iterator[tuple[str, Document]]]:
    """Returns whether several inputs are at these paths, and the first of them as documents by path.

    Of one that cannot be read it tells why when its turn comes, and adds its path to `failed`.
    """
    locations = parse_locations(paths)
    items = [examine(item, locations) for item in gather(locations, None, connections, settings.passwords)[:most]]
    pool = connections.enter_context(ParserPool(1, settings=settings))
    return len(items) > 1, _read(items, pool, failed)


def _read(items: Sequence[Input], pool: ParserPool, failed: list[str]) -> Iterator[tuple[str, Document]]:
    readable = pool.parse_many([item.content for item in items if item.problem is None])
    for item in items:
        parsed = next(readable)[1] if item.problem is None else item.problem
        if isinstance(parsed, DocumentError):
            print_notice(f"{item.path}: {parsed.code}: {problem_message(parsed)}")
            failed.append(item.path)
        else:
            yield item.path, parsed


def _write_tables(out: Path, read: Iterator[tuple[str, Document]]) -> None:
    listed = write_tables(out, (one for path, document in read for one in document_tables(path, document)))
    shown = ("file", "document", "page", "heading", "rows")
    standard_output().print(table(shown, ([one[name] for name in shown] for one in listed)))
    print(f"{with_noun(len(listed), 'table')} in {out}")


def _print(path: str, document: Document, several: bool, tables: bool, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_object(path, document), ensure_ascii=False))
        return
    if several:
        print(f"==> {harmless(path)} <==")
    if tables:
        _print_tables(document)
    elif sys.stdout.isatty():
        print("\n".join("\t".join(map(harmless, line.split("\t"))) for line in document.text.split("\n")))
    else:
        print(document.text)


def _print_tables(document: Document) -> None:
    for number, one in enumerate(_tables(document), 1):
        print(f"table {number}: characters {one['start']} to {one['end']}, rows: {len(one['rows'])}")
        columns = [f"{at} {head}".rstrip() for at, head in enumerate(one["heads"], 1)]
        standard_output().print(table(columns, one["rows"]))


def _object(path: str, document: Document) -> dict[str, Any]:
    return {
        "path": path,
        "document": document.digest,
        "media_type": document.media_type,
        "size": document.size,
        "flags": list(document.flags),
        "metadata": document.metadata,
        "text": document.text,
        "parts": _parts(document),
        "words": _words(document),
        "tables": _tables(document),
        "facts": _facts(document),
    }


def _facts(document: Document) -> list[dict[str, Any]]:
    found = sorted(document.facts.items())
    return [{"fact": name, "value": fact.value, "spans": [list(span) for span in fact.spans]} for name, fact in found]


def _parts(document: Document) -> list[dict[str, Any]]:
    return [
        {name: number if name == "part" else getattr(part, name) for name in _PARTS}
        for number, part in enumerate(document.parts)
    ]


def _tables(document: Document) -> list[dict[str, Any]]:
    passage = passage_of(document)
    text = passage.text
    return [
        {
            "start": passage.offset + one.start,
            "end": passage.offset + one.end,
            "heads": [words_of(head, text) for head in one.heads],
            "rows": [[words_of(cell, text) for cell in row.cells] for row in one.rows],
        }
        for one in tables_of(text, passage.word_start, passage.word_box)
    ]


def _words(document: Document) -> list[dict[str, Any]]:
    words, found = document.words, []
    for index, (start, end, part) in enumerate(zip(words.start, words.end, words.part, strict=True)):
        box = words.box[index].round(2)
        sides = (None,) * 4 if bool((box != box).any()) else tuple(round(float(side), 2) for side in box)
        page = document.parts[part].page
        sure = None if words.sure is None else round(float(words.sure[index]), 4)
        spelled = document.text[start:end]
        row = (int(start), int(end), int(part), page, *sides, sure, spelled)
        found.append(dict(zip(_WORDS, row, strict=True)))
    return found
