"""Sets broken batches aside: they stop counting, and `aside/` keeps their files.

An empty batch replaces a broken one by the same atomic rename as every commit, so readers never see half of it gone.
Its documents lose their outcome, and the next run fills them again.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.files import FolderLock, failures, make_folder, sync_folder, write_whole
from cinnabar.extraction.store.manifest import Manifest
from cinnabar.extraction.store.store import Store

#: The folder that keeps broken files.
ASIDE = "aside"
# The tables with the same columns in every folder; a batch that is set aside may leave them empty.
_FIXED = {
    "fields": tables.FIELDS,
    "documents": tables.DOCUMENTS,
    "outcomes": tables.OUTCOMES,
    "runs": tables.RUNS,
}
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
        sync_folder(path.parent)
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
    sync_folder(folder)


def _stand_in(store: Store, entry: Manifest, bad: set[str], number: int) -> Manifest:
    """Returns a batch that replaces a broken one: without its documents, but with its readable runs and corrections."""
    contents = {}
    for table in _KEPT:
        kept = [store.out / file.path for file in entry.files if file.table == table and file.path not in bad]
        if kept:
            contents[table] = pa.concat_tables([pq.read_table(path) for path in kept])
    others = [other for other in store.commits() if other.number != entry.number]
    # A table without any file has no view.
    for table, schema in _FIXED.items():
        if table not in contents and not any(file.table == table for o in others for file in o.files):
            folder = f"fields/{entry.schema_fingerprint[:12]}" if table == "fields" else table
            contents[folder] = schema.empty_table()
    files = tuple(store.write(folder, number, rows) for folder, rows in contents.items())
    return Manifest(
        number=number,
        level=0,
        created=manifests.now(),
        schema_name=entry.schema_name,
        schema_fingerprint=entry.schema_fingerprint,
        files=files,
        replaces=(entry.number,),
        behind=entry.place,
    )
