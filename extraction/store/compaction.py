"""Merges many small batches into one large one, so that a table of any size stays a few dozen files.

Batches of one schema and level are merged FAN at a time into one of the next level: a row is rewritten once a level,
and there are at most FAN - 1 batches on each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.files import write_whole
from cinnabar.extraction.store.manifest import Manifest, StoredFile

#: Batches that are merged at a time.
FAN = 64
# Rows are gathered up to this size, in bytes of memory, before they are written as a row group.
_ROW_GROUP = 16 << 20


def batches_to_merge(committed: Sequence[Manifest]) -> list[Manifest]:
    """Returns the batches to merge now, in order; none if no level of any schema is full."""
    groups: dict[tuple[str, str, int], list[Manifest]] = defaultdict(list)
    for entry in committed:
        group = groups[entry.schema_name, entry.schema_fingerprint, entry.level]
        group.append(entry)
        if len(group) == FAN:
            return group
    return []


def merge_batches(out: Path, group: Sequence[Manifest], number: int) -> Manifest:
    """Writes the files of these batches as one batch; it counts once its manifest is committed.

    Raises RunError if a file has changed since its commit: a merge would give it a new checksum.
    """
    manifests.check_files(out, group)
    folders: dict[Path, list[StoredFile]] = defaultdict(list)
    for entry in group:
        for file in entry.files:
            folders[Path(file.path).parent].append(file)
    files = tuple(write_again(out, parts, number) for parts in folders.values())
    behind, replaces = max(entry.place for entry in group), tuple(entry.number for entry in group)
    return group[0].successor(number, files, level=group[0].level + 1, replaces=replaces, behind=behind)


def write_again(
    out: Path,
    parts: Sequence[StoredFile],
    number: int,
    kept: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda rows: rows,
) -> StoredFile:
    """Writes what is kept of these files of one folder as the file of the batch with this number."""
    path = (out / parts[0].path).parent / f"{manifests.batch_name(number)}.parquet"
    rows = 0

    def write(temporary: Path) -> None:
        nonlocal rows
        schema = pq.read_schema(out / parts[-1].path)
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            waiting: list[pa.Table] = []
            size = 0
            for part in parts:
                for batch in map(kept, pq.ParquetFile(out / part.path).iter_batches()):
                    waiting.append(pa.Table.from_batches([batch]))
                    size += batch.nbytes
                    rows += batch.num_rows
                    if size >= _ROW_GROUP:
                        writer.write_table(_joined(waiting, schema))
                        waiting, size = [], 0
            if waiting:
                writer.write_table(_joined(waiting, schema))

    write_whole(path, write)
    return manifests.describe_file(out, parts[0].table, path, rows)


def _joined(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    # A file of an older version of Cinnabar may lack a column that newer ones have.
    whole = pa.concat_tables([schema.empty_table(), *tables], promote_options="permissive")
    return whole.select(schema.names).cast(schema)
