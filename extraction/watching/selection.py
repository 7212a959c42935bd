"""Selects documents of a folder for an export, with their records, values, corrections and texts."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from cinnabar.extraction.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.ocr.page_store import PAGES, PageStore
from cinnabar.extraction.ingest.page_pictures import PagePicture, page_pictures
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.ingest.settings import ParserSettings
from cinnabar.extraction.mailboxes.address import is_address
from cinnabar.extraction.parser_settings import parser_settings
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.storage.queries import question
from cinnabar.extraction.storage.reading import connect
from cinnabar.extraction.storage.spelling import Spelling
from cinnabar.extraction.storage.stored_records import name_in
from cinnabar.extraction.storage.tables import printable
from cinnabar.schemas.errors import CinnabarError, DocumentError, UsageError

# The columns that a condition may name.
_OUTCOMES = (
    "SELECT o.path, o.document, o.schema_name, o.outcome, o.code, o.detail, o.run_id, o.schema_fingerprint,"
    " r.confidence, r.flags, coalesce(r.record_json, o.record_json) AS record_json"
    " FROM outcomes AS o LEFT JOIN records AS r USING (document, schema_fingerprint, run_id)"
    " WHERE o.outcome <> 'skipped' AND o.document IS NOT NULL QUALIFY row_number() OVER"
    " (PARTITION BY o.document, o.schema_name ORDER BY o.run_id DESC) = 1"
)
_WANTED = "path, document, schema_name, outcome, code, detail, run_id, schema_fingerprint, confidence, record_json"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A correction in force: what a person decided on a place, and the value before."""

    pointer: str
    action: str
    before: str | None
    after: str | None
    who: str
    made: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The latest outcome of a document under a schema; `values` are its rows of the `fields` view."""

    path: str
    document: str
    schema_name: str
    outcome: str
    code: str | None
    detail: str | None
    run_id: str
    schema_fingerprint: str
    confidence: float | None
    record_json: str | None
    values: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    corrections: Sequence[Corrected] = ()
    paths: tuple[str, ...] = ()
    size: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


def select_documents(
    out: Path, where: str | None, schema_name: str | None, paths: Sequence[str], limit: int
) -> tuple[list[Chosen], int]:
    """Returns the first chosen documents, the least sure first, and the number of the others.

    Raises UsageError if the condition is no SQL or could do more than choose.
    """
    wanted, values = ["true"], list[Any]()
    if paths:
        spelled = Spelling.of(out)
        wanted.append(f"({' OR '.join(['path = ? OR path = ? OR ends_with(path, ?)'] * len(paths))})")
        for path in paths:
            plain = printable(str(Path(path)))
            values += [plain, printable(spelled(path)), "/" + plain.lstrip("/")]
    with connect(out, "--where") as connection:
        connection.execute(f"CREATE TEMP VIEW chosen_outcomes AS {_OUTCOMES}")
        if schema_name is not None:
            # Of a schema with documents in quarantine alone there are no records.
            known = connection.execute("SELECT DISTINCT schema_name FROM outcomes ORDER BY ALL").fetchall()
            wanted.append("schema_name = ?")
            values.append(name_in(out, schema_name, [row[0] for row in known]))
        if where is not None:
            question(connection, f"SELECT {_WANTED} FROM chosen_outcomes WHERE ({where}\n)")
            wanted.append(f"({where}\n)")
        condition = " AND ".join(wanted)
        counting = question(connection, f"SELECT count(*) FROM chosen_outcomes WHERE {condition}")
        (row,) = connection.execute(counting, values).fetchall()
        order = "ORDER BY outcome, confidence NULLS FIRST, path"
        choosing = question(connection, f"SELECT {_WANTED} FROM chosen_outcomes WHERE {condition} {order} LIMIT ?")
        found = connection.execute(choosing, [*values, limit]).fetchall()
        chosen = [Chosen(*one) for one in found]
        return [_whole(connection, one) for one in chosen], int(row[0]) - len(chosen)


def _whole(connection: duckdb.DuckDBPyConnection, one: Chosen) -> Chosen:
    cursor = connection.execute(
        "SELECT pointer, value_json, confidence, origin, flags, page, spans, evidence_text, place, boxes FROM _fields"
        " WHERE document = ? AND schema_fingerprint = ? AND run_id = ? AND origin NOT IN ('list', 'thoughts')",
        [one.document, one.schema_fingerprint, one.run_id],
    )
    names = [column[0] for column in cursor.description or ()]
    values = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    corrections: list[Corrected] = []
    if connection.execute("SELECT 1 FROM (SHOW TABLES) WHERE name = 'corrections'").fetchall():
        rows = connection.execute(
            "SELECT pointer, action, before, after, who, strftime(made, '%Y-%m-%d %H:%M') FROM corrections"
            " WHERE document = ? AND schema_name = ? AND undone IS NULL ORDER BY made",
            [one.document, one.schema_name],
        ).fetchall()
        corrections = [Corrected(*row) for row in rows]
    paths = connection.execute(
        "SELECT path FROM outcomes WHERE document = ? GROUP BY path ORDER BY max(run_id) DESC", [one.document]
    ).fetchall()
    sizes = connection.execute("SELECT size FROM documents WHERE document = ?", [one.document]).fetchall()
    # The options that read a document: of the last run with a model.
    said = connection.execute(
        "SELECT arguments FROM runs SEMI JOIN (SELECT run_id FROM outcomes WHERE document = ? AND schema_name = ?"
        " AND outcome <> 'skipped') USING (run_id) WHERE arguments ->> 'model' IS NOT NULL"
        " ORDER BY run_id DESC LIMIT 1",
        [one.document, one.schema_name],
    ).fetchall()
    return replace(
        one,
        values=values,
        corrections=corrections,
        paths=tuple(path for (path,) in paths),
        size=sizes[0][0] if sizes else None,
        arguments=json.loads(said[0][0] or "{}") if said else {},
    )


@dataclass(frozen=True, slots=True)
class Texts:
    """A document's text with its parts, and pictures of its pages; `missing` tells why there is none."""

    document: Document | None
    pictures: Sequence[PagePicture] = ()
    missing: str = ""


class TextReader:
    """Reads the files of chosen documents again, in the sandbox. A context manager."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._stack = ExitStack()
        self._pools: dict[ParserSettings, ParserPool] = {}

    def __enter__(self) -> Self:
        self._lookup = self._stack.enter_context(DocumentLookup(self._out))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def read(self, one: Chosen, images: bool) -> Texts:
        """Returns a document's text and pages; mails behind a server are not fetched."""
        paths = [path for path in one.paths if not is_address(path)]
        if not paths:
            return Texts(None, missing="The mail lies on a server and was not fetched.")
        try:
            content = self._lookup.find(paths, one.document, one.size)
            if content is None:
                return Texts(None, missing="The file is gone, or has changed since it was read.")
            pool = self._pool(one)
            found = pool.submit(content).result()
            if isinstance(found, DocumentError):
                return Texts(None, missing=f"The file cannot be read: {found}")
            if found.digest != one.document:
                return Texts(None, missing="The file has changed since it was read.")
            return Texts(found, page_pictures(pool, content, one.document, found) if images else ())
        except (CinnabarError, OSError, ValueError) as error:
            return Texts(None, missing=f"The file cannot be read: {error}")

    def _pool(self, one: Chosen) -> ParserPool:
        """Returns the parsers with the settings of the document's run, which decide where its characters lie."""
        names = ("hidden", "ocr", "ocr_engine")
        known = {name: one.arguments[name] for name in names if name in one.arguments}
        settings = parser_settings(RunOptions(**known))
        if settings not in self._pools:
            pages = PageStore(self._out / PAGES)
            self._pools[settings] = self._stack.enter_context(ParserPool(1, settings=settings, pages=pages))
        return self._pools[settings]


def check_limit(limit: int) -> None:
    """Raises UsageError if the limit is below one document."""
    if limit < 1:
        raise UsageError(f"--limit: expected at least 1, got {limit}")


def part_intervals(document: Document) -> Iterator[tuple[int, int, int]]:
    """Yields the intervals [start, end) of a text with the index of the innermost part around each, -1 for none."""
    cuts = sorted({0, len(document.text), *(p.start for p in document.parts), *(p.end for p in document.parts)})
    owners = [-1] * len(cuts)
    # Parts come after those they lie in, so the last one that covers an interval is the innermost.
    for index, part in enumerate(document.parts):
        for place in range(bisect_left(cuts, part.start), bisect_left(cuts, part.end)):
            owners[place] = index
    for (start, end), owner in zip(pairwise(cuts), owners, strict=False):
        yield start, end, owner
