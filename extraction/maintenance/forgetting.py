"""Forgets a document: every stored row of it goes, and so do the caches that may hold its content.

Each batch that has rows of the document is replaced by a copy without them, by the same atomic rename as every commit.
The replaced files go at once and not after a day. A crash in between leaves the document findable, so that the same
call ends the work, or leaves only files that the next opening of the folder removes.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections.journal import aside_of
from cinnabar.extraction.corrections.waiting_commits import commit_waiting
from cinnabar.extraction.documents.buckets.object_store import FILE as STORES
from cinnabar.extraction.documents.content.formats import ARCHIVE_SUFFIXES
from cinnabar.extraction.documents.content.inputs import FRAGMENT, own_path
from cinnabar.extraction.documents.mailboxes.files import is_maildir
from cinnabar.extraction.documents.ocr.page_store import PAGES
from cinnabar.extraction.run.report.reports import naming_reports, remove_reports, write_anew
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.broken_files import ASIDE, within
from cinnabar.extraction.store.compaction import write_again
from cinnabar.extraction.store.files import explain_broken_file, failures, files_aside
from cinnabar.extraction.store.left_over import left_over, remove_left_over
from cinnabar.extraction.store.manifest import Manifest, StoredFile
from cinnabar.extraction.store.packets import PACKETS, packets_of, stored_packet
from cinnabar.extraction.store.path_safety import check_links, is_own
from cinnabar.extraction.store.reading import connect, named, spellings
from cinnabar.extraction.store.rows import StoredRows
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.cache_files import cache_folder

#: Stands in a run's arguments for the path of a forgotten document.
FORGOTTEN = "(forgotten)"
# The states of interrupted trainings (extraction/learning/improving.py), which hold records.
_TRAININGS = "models/*/training"
# The number of a mail in an mbox, or the pages of a part of a packet, behind the path of the file.
_NUMBER = re.compile(f"#{FRAGMENT}")
# The place of a mail within a Maildir.
_MAIL = re.compile(r"/(cur|new)/[^/]+")
# A digest names a folder below `pages/`, and a stored one may be anything.
_is_digest = partial(is_own, "digest")
# Asks for the distinct texts of a column, with one value.
_Texts = Callable[[str, Any], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The document to forget, or all those in an archive or mailbox (mbox, Maildir): digests and paths.

    A document has several digests if its path held other bytes in another run.
    """

    digests: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forgotten(DocumentNames):
    """The things that were removed, or would be, of a document.

    `rows` counts the rows by table, where `data` are the records; in `runs` only paths were blanked. `batches` is the
    number of batches that were written anew. `aside` are the broken batches and corrections in `aside/` that held the
    document or could not be read. `left_over` are the names of what earlier versions kept of all documents.
    """

    rows: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    aside: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


def forget(out: Path, document: str, *, dry_run: bool = False) -> Forgotten:
    """Removes this document from this folder, or only finds what would be removed.

    `document` is a path in the run, the end of such a path from a `/` on, or the first digits (at least 4) of a digest.
    A path stands for all bytes that were ever read there, and bytes for all paths at which they were read. The path of
    an archive or a mailbox (mbox, Maildir) stands for all files and mails in it. The document's own file is not
    touched. Raises UsageError if no document or several documents match, or if a run is writing.
    """
    if not manifests.read_live(out):
        raise UsageError(f"{out}: the folder holds no results of Cinnabar; name the --out folder of a run")
    check_links(out, everything=True)
    if dry_run:
        return _found(out, find_documents(out, document), manifests.read_live(out))[0]
    with Store.open(out) as store:
        commit_waiting(store)
        forgotten, concerned = _found(store.out, find_documents(store.out, document, store.rows), store.commits())
        with failures(f"{out}: could not forget {document}"):
            _remove_caches(store, forgotten)
            # The document is findable until its last batch is gone, so what only it could lead to goes first.
            store.remove_replaced()
            for entry in concerned:
                store.replace(partial(_copy_without, store.out, entry, forgotten))
            store.publish()
            store.remove_replaced()
            write_anew(store, forgotten.reports)
    return forgotten


def find_documents(out: Path, document: str, rows: StoredRows | None = None) -> DocumentNames:
    """Returns the document, or those in the archive or mailbox, that this path, end of a path or digest names.

    `rows` are those of a folder that the caller has open. Raises UsageError if no document or several documents match.
    """
    with connect(out, views=("outcomes", "runs"), rows=rows) as connection:

        def texts(sql: str, value: Any) -> tuple[str, ...]:
            answer = connection.execute(f"SELECT DISTINCT {sql} ORDER BY 1", [value]).fetchall()
            return tuple(row[0] for row in answer if row[0])

        spelled = spellings(connection, out, document)
        inner, digests, several = _within(texts, spelled), list[str](), list[str]()
        paths = list[str]()
        if not inner:
            paths, digests = named(connection, out, document)
            inner = {} if paths or digests else _within(texts, _ending(texts, spelled[1].lstrip("/")))
            several = paths or digests or [*inner]
        paths += [path for holder, inside in inner.items() for path in (holder, *inside)]
        if not paths and not digests:
            if (own := own_path(document)) != document:
                return find_documents(out, own, rows)
            raise UsageError(f"{document}: no document of this path or digest in {out}; `outcomes` lists all documents")
        found = digests or texts("document FROM outcomes WHERE list_contains(?, path)", paths)
        if len(several) > 1 and (several is not paths or len(found) != 1):
            some = ", ".join(text[:80] for text in several[:5])
            raise UsageError(f"{document}: fits {len(several)} documents ({some}); give more of it")
        others = texts("path FROM outcomes WHERE list_contains(?, document)", [*found])
    return DocumentNames(tuple(found), tuple(sorted({*paths, *others})))


def _within(texts: _Texts, holders: Iterable[str]) -> dict[str, list[str]]:
    """Returns the paths of the files in those of these that are archives, and of the mails in mailboxes among them."""
    inner = {}
    for holder in dict.fromkeys(holders):
        mails = texts("path FROM outcomes WHERE starts_with(path, ? || '#')", holder)
        numbered = (path for path in mails if _NUMBER.fullmatch(path, len(holder)))
        if inside := [*_files_within(texts, holder), *numbered]:
            inner[holder] = inside
    return inner


def _files_within(texts: _Texts, holder: str) -> tuple[str, ...]:
    """Returns the paths of the files in this archive or Maildir; none if it is another folder.

    In a folder, which is no document, each file is forgotten by its own path. A Maildir that is no longer there is
    known by its paths: all of them lie in its folders of mails.
    """
    here = Path(holder)
    files = texts("path FROM outcomes WHERE starts_with(path, ? || '/')", holder)
    mails = tuple(path for path in files if _MAIL.fullmatch(path, len(holder)))
    try:
        if not files or here.is_file() or (here.suffix.lower() in ARCHIVE_SUFFIXES and not here.is_dir()):
            return files
        return mails if is_maildir(here) or (mails == files and not here.exists()) else ()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return files  # nothing outside of an archive has such a name


def _ending(texts: _Texts, name: str) -> Iterator[str]:
    """Yields the paths with files or mails below them that end in this name."""
    for mark in ("/", "#"):
        for path in texts("path FROM outcomes WHERE contains(path, ?)", f"/{name}{mark}"):
            yield path[: path.index(f"/{name}{mark}") + len(name) + 1]


def _found(out: Path, one: DocumentNames, committed: Sequence[Manifest]) -> tuple[Forgotten, list[Manifest]]:
    """Returns what is stored of the document, and the commits with rows of it."""
    rows, concerned = Counter[str](), list[Manifest]()
    for entry in committed:
        counts = [(file.table, _rows_of(out, file, one)) for file in entry.files]
        if any(count for _, count in counts):
            concerned.append(entry)
        for table, count in counts:
            rows[table] += count
    forgotten = Forgotten(
        digests=one.digests,
        paths=one.paths,
        rows={table: rows[table] for table in manifests.TABLES},
        batches=len(concerned),
        aside=tuple(_aside(out, one)),
        left_over=left_over(out),
        reports=tuple(naming_reports(out, one.paths, one.digests)),
    )
    return forgotten, concerned


def _of(rows: pa.Table | pa.RecordBatch, one: DocumentNames) -> Any:
    """Returns which of these rows are of the document: by digest, or by path if a row has no digest.

    Of `runs` they are those whose arguments name its path.
    """
    names = rows.schema.names
    if "arguments" in names:
        texts = rows.column("arguments").to_pylist()
        return pa.array([_blank_paths(text, one.paths) != text for text in texts], pa.bool_())
    digests = rows.column("document") if "document" in names else pa.nulls(len(rows), pa.string())
    mine = pc.is_in(digests, value_set=pa.array(one.digests, pa.string()))
    if "outcome" in names:
        here = pc.is_in(rows.column("path"), value_set=pa.array(one.paths, pa.string()))
        mine = pc.or_(mine, pc.and_(here, pc.is_null(digests)))
    return mine


def _rows_of(out: Path, file: StoredFile, one: DocumentNames) -> int:
    """Returns the number of this file's rows of the document."""
    columns = {"runs": ["arguments"], "outcomes": ["document", "path", "outcome"]}.get(file.table, ["document"])
    with explain_broken_file(out / file.path):
        batches = pq.ParquetFile(out / file.path).iter_batches(columns=columns)
        return sum(batch.filter(_of(batch, one)).num_rows for batch in batches)


def _copy_without(out: Path, entry: Manifest, one: Forgotten, number: int) -> Manifest:
    """Writes a copy of this batch without the rows of the document; it counts once its manifest is committed."""
    manifests.check_files(out, [entry])
    files = tuple(write_again(out, [file], number, partial(_without, file.table, one)) for file in entry.files)
    return entry.successor(number, files, without=entry.place)


def _without(table: str, one: Forgotten, batch: pa.RecordBatch) -> pa.RecordBatch:
    if table != "runs":
        return batch.filter(pc.invert(_of(batch, one)))
    arguments = [_blank_paths(text, one.paths) for text in batch.column("arguments").to_pylist()]
    place = batch.schema.get_field_index("arguments")
    return batch.set_column(place, batch.schema.field(place), pa.array(arguments, pa.string()))


def _blank_paths(arguments: Any, paths: Sequence[str]) -> Any:
    """Returns a run's arguments in JSON with a mark for each of these paths; unchanged if it has none of them."""
    if not arguments or not isinstance(arguments, str):  # a stranger's folder may hold anything there
        return arguments
    changed = False

    def blank(value: Any) -> Any:
        nonlocal changed
        if isinstance(value, dict):
            return {key: blank(part) for key, part in value.items()}
        if isinstance(value, list):
            return [blank(part) for part in value]
        if isinstance(value, str) and (value in paths or os.path.normpath(value) in paths):
            changed = True
            return FORGOTTEN
        return value

    blanked = blank(json.loads(arguments))
    return orjson.dumps(blanked).decode() if changed else arguments


def _aside(out: Path, one: DocumentNames) -> Iterator[str]:
    """Yields the batches in `aside/`, and the files that no manifest names, that may hold the document."""
    for path in manifests.unnamed(out, manifests.read_all(out))[1]:
        if _may_hold(path, one):
            yield within(out, path)
    for path in files_aside(out):
        content = aside_of(path)
        if not content or content.get("document") in one.digests or content.get("path") in one.paths:
            yield within(out, path)
    for folder in sorted((out / ASIDE).glob("*")):
        if any(_may_hold(path, one) for path in folder.glob("*.parquet")):
            yield within(out, folder)


def _may_hold(path: Path, one: DocumentNames) -> bool:
    try:
        rows = pq.read_table(path)
        return bool(pc.any(_of(rows, one)).as_py())
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        return True


def _remove_caches(store: Store, forgotten: Forgotten) -> None:
    out = store.out
    if (cache := cache_folder()) is not None:
        # Copies of published results and of questions, which earlier versions kept there.
        for name in ("published", "questions"):
            shutil.rmtree(cache / name, ignore_errors=True)
    remove_left_over(out)
    for training in out.glob(_TRAININGS):
        shutil.rmtree(training)
    # The next run reads the objects of stores once more.
    (out / STORES).unlink(missing_ok=True)
    # OCR kept the pages of a part of a packet with the whole packet.
    read_from = [*filter(_is_digest, forgotten.digests), *packets_of(out, forgotten.paths, forgotten.digests)]
    for digest in read_from:
        if (out / PAGES / digest).is_dir():
            shutil.rmtree(out / PAGES / digest)
    for packet in filter(None, (stored_packet(out, one) for one in read_from)):
        others = sorted({*packet.digests()} - {*forgotten.digests})
        if not any(store.ask("SELECT true FROM {outcomes} WHERE list_contains(?, document) LIMIT 1", [others])):
            (out / PACKETS / f"{packet.digest}.json").unlink()
    for name in forgotten.aside:
        shutil.rmtree(out / name) if (out / name).is_dir() else (out / name).unlink()
    remove_reports(out, forgotten.reports)
