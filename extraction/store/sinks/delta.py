"""Keeps Delta tables equal to the views of a folder, a table for each view."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from cinnabar.extraction.store.sinks.sink import Delivered, Position, check_follows
from cinnabar.extraction.store.sinks.tables import DIGEST, View, Views, views_of
from cinnabar.schemas.errors import RunError, UsageError

# The name of our transactions in the logs of the tables; their version is the folder's newest commit.
_APP = "cinnabar"
# Our own table, with the names of the others.
_NAMES = "cinnabar_tables"
# How often the work is begun again after somebody else has changed a table meanwhile.
_TRIES = 10
# A changed key takes its rows away by a row of the source with the key. New rows have none, and so match nothing.
_KEY = "cinnabar_key"
# Commits to S3 are objects that are created if they are absent.
_OPTIONS = {"aws_conditional_put": "etag"}


class DeltaSink:
    """Delta tables in a folder, `delta:FOLDER`, or in a store, `delta+s3://BUCKET/PREFIX`.

    A table is its old state or its new one, and all tables follow one after the other. Raises UsageError if the
    address is wrong.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        place = address.removeprefix("delta:").removeprefix("delta+")
        if not place:
            raise UsageError(f"{address}: expected delta:FOLDER")
        self._root = place.rstrip("/") if "://" in place else str(Path(place).absolute())
        self._check: Callable[[], object] = self._check_folder
        if "://" in place:
            # Extra: stores.
            from cinnabar.extraction.store.sinks.object_store import check_store, open_store

            self._check = partial(check_store, open_store(place), address)

    def check(self) -> None:
        """Raises UsageError if the place cannot be written to, or if a store has no create-if-absent."""
        self._check()

    def _check_folder(self) -> None:
        try:
            Path(self._root).mkdir(parents=True, exist_ok=True)
            usable = os.access(self._root, os.W_OK)
        except OSError:
            usable = False
        if not usable:
            raise UsageError(f"{self.address}: expected a folder that can be written to")

    def bring(self, out: Path) -> Delivered:
        """Has the tables hold the rows of the folder's views; see `Sink`."""
        sent, last = 0, ""
        for _ in range(_TRIES):
            try:
                for rows in self._synced(out):
                    sent += rows
                return Delivered(self.address, sent, "row")
            except CommitFailedError as error:
                last = str(error)
            except (DeltaError, OSError) as error:
                if "already exists" not in str(error):
                    raise RunError(f"{self.address}: {' '.join(str(error).split())[:500]}") from error
                last = str(error)
        raise RunError(f"{self.address}: others changed the tables {_TRIES} times meanwhile: {last[:300]}")

    def _synced(self, out: Path) -> Iterator[int]:
        """Brings the tables to what the folder holds, and yields the number of rows sent to each."""
        # The tables first and the folder afterwards: a commit fails if somebody else's came in between, so the folder
        # is read as it is at least after the last one.
        names = self._table(_NAMES)
        known = set() if names is None else {str(name) for name in names.to_pyarrow_table()["name"].to_pylist()}
        tables = {name: self._table(name) for name in known}
        with views_of(out) as views:
            check_follows(self.address, _position(tables), views.position, views.runs)
            there = {view.name for view in views.all}
            if not there <= known:
                self._claim(names, sorted(known | there), there - known, views.position)
            for view in sorted(views.all, key=lambda one: one.name != "runs"):
                yield self._sync(tables.get(view.name), views, view)
            for name in known - there:
                if (table := tables[name]) is not None and table.count():
                    _write(table, table.to_pyarrow_table().slice(0, 0), views.position)

    def _claim(self, names: DeltaTable | None, all_names: list[str], new: set[str], position: Position) -> None:
        """Notes the names of our tables. Raises UsageError if there is a table of others with a new one."""
        for name in sorted(new):
            if self._table(name) is not None:
                raise UsageError(
                    f"{self.address}: there is a table {name} already, which Cinnabar has not made; name another place"
                )
        _write(self._at(_NAMES) if names is None else names, pa.table({"name": all_names}), position)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _table(self, name: str) -> DeltaTable | None:

        try:
            return DeltaTable(self._at(name), storage_options=_OPTIONS)
        except TableNotFoundError:
            return None

    def _sync(self, table: DeltaTable | None, views: Views, view: View) -> int:
        """Has a table hold the rows of a view, and returns how many were sent."""
        if table is not None and table.transaction_version(_APP) == views.position.batch:
            return 0
        schema = _storable(views.schema(view)).append(pa.field(DIGEST, pa.int64()))
        alike = table is not None and table.schema() == Schema.from_arrow(schema)
        held = {name: pa.array([], pa.string()) for name in view.columns} | {DIGEST: pa.array([], pa.int64())}
        before = pa.table(held)
        if table is not None and alike:
            before = table.to_pyarrow_dataset().to_table(columns=[*held])
        changed = views.changed(view, views.keys(view, before))
        if alike and not changed.num_rows:
            return 0
        rows = _Counted(views.rows(view), schema)
        if table is None or not alike:
            _write(self._at(view.name) if table is None else table, rows.reader(), views.position)
        else:
            _merge(table, view, changed, rows, views.position)
        return rows.count


class _Counted:
    """Rows on their way, which counts them."""

    def __init__(self, rows: pa.RecordBatchReader, schema: pa.Schema) -> None:
        self._rows, self.schema, self.count = rows, schema, 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows with the types of the table."""
        for batch in self._rows:
            self.count += batch.num_rows
            yield batch.cast(self.schema)

    def reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())


def _storable(schema: pa.Schema) -> pa.Schema:
    """Returns the types of a table for a view; columns without any value have the type of texts."""
    return pa.schema([pa.field(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in schema])


def _position(tables: dict[str, DeltaTable | None]) -> Position | None:
    """Returns where the tables stand: the one that is farthest, and their newest run."""
    there = [table for table in tables.values() if table is not None]
    batch = max((table.transaction_version(_APP) or 0 for table in there), default=0)
    runs = tables.get("runs")
    ids = [] if runs is None else runs.to_pyarrow_dataset().to_table(columns=["run_id"])["run_id"].to_pylist()
    return Position(batch, max(map(str, ids), default="")) if there else None


def _properties(position: Position) -> CommitProperties:

    return CommitProperties({"cinnabar_run": position.run}, app_transactions=[Transaction(_APP, position.batch)])


def _write(table: DeltaTable | str, rows: pa.Table | pa.RecordBatchReader, position: Position) -> None:
    """Writes a whole table in one commit. Raises CommitFailedError if somebody else has changed it since it was read,
    DeltaError if it is to be new and is not.
    """
    if isinstance(table, str):
        write_deltalake(table, rows, mode="error", storage_options=_OPTIONS, commit_properties=_properties(position))
        return
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite", commit_properties=_properties(position))


def _merge(table: DeltaTable, view: View, changed: pa.Table, rows: _Counted, position: Position) -> None:
    """Replaces the rows of the changed keys in one commit. Raises CommitFailedError as `_write` does."""
    schema = rows.schema.append(pa.field(_KEY, pa.string()))

    def source() -> Iterator[pa.RecordBatch]:
        for batch in changed.to_batches():
            empty = [pa.nulls(batch.num_rows, field.type) for field in rows.schema]
            yield pa.RecordBatch.from_arrays([*empty, batch["key"]], schema=schema)
        for batch in rows.batches():
            yield pa.RecordBatch.from_arrays([*batch.columns, pa.nulls(batch.num_rows, pa.string())], schema=schema)

    columns = {_ticked(name): f"s.{_ticked(name)}" for name in rows.schema.names}
    (
        table.merge(
            pa.RecordBatchReader.from_batches(schema, source()),
            predicate=f"{view.key('t')} = s.{_ticked(_KEY)}",
            source_alias="s",
            target_alias="t",
            commit_properties=_properties(position),
        )
        .when_matched_delete()
        .when_not_matched_insert(columns, predicate=f"s.{_ticked(_KEY)} IS NULL")
        .execute()
    )


def _ticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
