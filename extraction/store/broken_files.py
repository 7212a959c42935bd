"""Sets broken batches aside: they stop counting, and `aside/` keeps their files.

An empty batch replaces a broken one by the same atomic rename as every commit, so readers never see half of it gone.
Its documents lose their outcome, and the next run fills them again. A file may also have its checksum and yet come from
elsewhere, with other columns or texts than Cinnabar writes.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.compaction import write_again
from cinnabar.extraction.store.files import FolderLock, failures, make_folder, sync, write_whole
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.records import STATUSES
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.automata.strings import parse

#: The folder that keeps broken files.
ASIDE = "aside"
# The tables of which readable files stay: no run makes them again.
_KEPT = ("runs", "corrections", "uncorrected")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A fault of a batch's file. `batch` is 0 if no batch is at fault."""

    batch: int
    path: str
    detail: str


def within(out: Path, path: Path) -> str:
    """Returns this path within the folder, with slashes."""
    return path.relative_to(out).as_posix()


def set_aside(out: Path, problems: Sequence[FileProblem]) -> list[str]:
    """Replaces the faulty batches, keeps copies of their files in `aside/`, and returns the paths of the copies.

    The snapshot then lags behind; the next normal `Store.open` builds it.
    """
    numbers = sorted({problem.batch for problem in problems if problem.batch})
    broken = {p.batch for p in problems if p.path.startswith(manifests.FOLDER + "/")}
    made = []
    if broken:
        lock = FolderLock(out)
        try:
            with failures(f"{out}: could not set broken batches aside"):
                made += [_move_unknown(out, number) for number in sorted(broken)]
        finally:
            lock.release()
    with Store.open(out, trusting=False) as store, failures(f"{out}: could not set broken batches aside"):
        by_number = {entry.number: entry for entry in store.commits()}
        for entry in (by_number[number] for number in numbers if number in by_number):
            folder = _folder(out, entry.name)
            kept = [f"{manifests.FOLDER}/{entry.name}.json", *(file.path for file in entry.files)]
            _copy(out, folder, kept)
            bad = {p.path for p in problems if p.batch == entry.number}
            store.replace(partial(_stand_in, store, entry, bad))
            made.append(within(out, folder))
        if broken:
            store.go_on_without_lost()
    return made


def _move_unknown(out: Path, number: int) -> str:
    """Moves a malformed manifest with the files of its number, because it cannot name its files."""
    name = manifests.batch_name(number)
    folder = _folder(out, name)
    paths = [path for path in manifests.paths(out) if manifests.number_of(path) == number]
    paths += [path for table in manifests.TABLES for path in (out / table).rglob(f"{name}.parquet")]
    _copy(out, folder, [within(out, path) for path in paths])
    for path in paths:
        path.unlink(missing_ok=True)
        sync(path.parent)
    return within(out, folder)


def _folder(out: Path, name: str) -> Path:
    taken = Counter(path.name.split(".")[0] for path in (out / ASIDE).glob("*"))
    return out / ASIDE / (f"{name}.{taken[name] + 1}" if taken[name] else name)


def _copy(out: Path, folder: Path, paths: Sequence[str]) -> None:
    """Keeps these files in this folder as well, as links: they may be large and never change."""
    make_folder(folder)
    for path in paths:
        if not (out / path).is_file():
            continue
        kept = folder / path.replace("/", "-")
        try:
            os.link(out / path, kept)
        except OSError:  # the file system has no links
            write_whole(kept, partial(shutil.copyfile, out / path))
    sync(folder)


def _stand_in(store: Store, entry: Manifest, bad: set[str], number: int) -> Manifest:
    """Returns a batch that replaces a broken one: without its documents, but with its readable runs and corrections."""
    kept = [file for file in entry.files if file.table in _KEPT and file.path not in bad]
    files = tuple(write_again(store.out, [file], number) for file in kept)
    return entry.successor(number, files, level=0, behind=entry.place)


_TABLES = {"data": tables.SYSTEM_COLUMNS, **tables.TABLE_COLUMNS}
# Of each table the columns that all versions of Cinnabar wrote and that are never null; others may be missing.
_ALWAYS = {
    "data": ("path", "document", "confidence", "run_id", "schema_fingerprint", "engine_fingerprint", "record_json"),
    "fields": ("document", "schema_name", "pointer", "field", "confidence", "origin", "run_id", "schema_fingerprint"),
    "documents": ("document", "run_id"),
    "outcomes": ("run_id", "path", "outcome", "schema_name", "schema_fingerprint", "engine_fingerprint"),
    "runs": ("run_id", "started", "schema_name", "schema_fingerprint"),
    "checks": ("document", "check_name", "run_id", "schema_fingerprint"),
    "corrections": ("identity", "document", "schema_name", "schema_fingerprint", "action", "pointer", "who", "made"),
    "uncorrected": ("document", "schema_name", "schema_fingerprint", "run_id", "record"),
}
_NULLABLE = {
    "fields": ("value_json", "spans", "boxes", "evidence_text", "page", "missing"),
    "outcomes": ("code", "detail", "pointers", "document", "record_json"),
    "runs": ("arguments", "finished", "inputs", "written", "quarantined", "skipped"),
    "corrections": ("before", "after", "undoes", "units", "run_id"),
    "checks": ("holds",),
}


def content_problem(path: Path, table: str) -> str | None:
    """Returns how this file differs from what Cinnabar writes in a table, None if it does not."""
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        for column in (*_ALWAYS[table], *_NULLABLE.get(table, ())):
            if column not in schema.names:
                return f"expected the column {column}, found none; Cinnabar did not write it"
        for wanted in _TABLES[table]:
            if wanted.name in schema.names and (got := schema.field(wanted.name).type) != wanted.type:
                return f"{wanted.name}: expected {wanted.type}, found {got}; Cinnabar did not write it"
        checked = list(dict.fromkeys((*_ALWAYS[table], *_TEXTS.get(table, {}))))
        for batch in file.iter_batches(columns=checked):
            for column in _ALWAYS[table]:
                if batch.column(column).null_count:
                    return f"{column}: expected a value in each row, found none; Cinnabar did not write it"
            for column, fits in _TEXTS.get(table, {}).items():
                for text in batch.column(column).to_pylist():
                    if text is not None and not fits(text):
                        return f"{column}: found {text[:80]!r}, which Cinnabar does not write there"
    return None


def broken_file(out: Path) -> str | None:
    """Returns a file of this folder with contents that Cinnabar does not write, and what they are; None without one."""
    for entry in manifests.read_live(out):
        for file in entry.files:
            try:
                problem = content_problem(out / file.path, file.table)
            except (OSError, ValueError) as error:
                problem = f"cannot be read ({error})"
            if problem is not None:
                return f"{out / file.path}: {problem}; `cinnabar verify` sets its batch aside, and a run fills it again"
    return None


def _json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        try:
            parse(text)  # a number may be larger than one that orjson reads
        except ValueError:
            return False
    return True


def _arguments(text: str) -> bool:
    try:
        arguments = orjson.loads(text)
    except ValueError:
        return False
    if not isinstance(arguments, dict):
        return False
    model, paths, passwords = arguments.get("model"), arguments.get("paths"), arguments.get("passwords", 0)
    return isinstance(model, str | None) and _is_list(paths) and isinstance(passwords, int)


def _is_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _parts(names: Iterable[str]) -> Callable[[str], bool]:
    """Returns whether a text is a JSON object with these names."""

    def fits(text: str) -> bool:
        try:
            record = orjson.loads(text)
        except ValueError:
            return False
        return isinstance(record, dict) and record.keys() >= set(names)

    return fits


_TEXTS: dict[str, dict[str, Callable[[str], bool]]] = {
    "data": {"record_json": _json},
    "fields": {"value_json": _json},
    "outcomes": {"outcome": lambda text: text in STATUSES},
    "runs": {"arguments": _arguments},
    "corrections": {
        "action": lambda text: text in ("value", "absent", "accept", "list", "other_kind", "audit", "no_part"),
        "before": _json,
        "after": _json,
        "units": lambda text: text.startswith("[") and _json(text),
    },
    "uncorrected": {"record": _parts(("status", "record"))},
}
