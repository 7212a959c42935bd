"""What a sink is, whether it holds an earlier state of the same folder, and how a run brings its results there.

Finds the sink of an address. What a sink needs beyond the core installation is imported when one is named.

The views of a folder as tables of a sink: which rows belong together, and which have changed.

Rows are sent by key: all rows of a document, or of a run. Each row has the digest of all rows of its key, which tells
whether they differ from those that the sink has. So it does not matter how a row came to change: a run, a correction,
another version of the schema, or a document that was forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from typing import Protocol
from urllib.parse import unquote

import duckdb
import pyarrow as pa

from cinnabar.errors import CinnabarError, RunError, UsageError
from cinnabar.extraction.documents.inputs import Location, source_of
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.names import columns_of, quote_name
from cinnabar.extraction.store.reading import connect, views_in
from cinnabar.extras import check_extra
from cinnabar.wording import with_noun


@dataclass(frozen=True, slots=True)
class Position:
    """A state of a folder: the number of its newest commit, and its newest run.

    Every commit has a number of its own, so two equal positions of a folder are the same rows.
    """

    batch: int
    run: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery to a sink: `sent` rows or files (`unit`); 0 if it had everything."""

    address: str
    sent: int
    unit: str

    def __str__(self) -> str:
        return f"{self.address}: {f'{with_noun(self.sent, self.unit)} sent' if self.sent else 'nothing new'}"


class Sink(Protocol):
    """An address that results of a folder are brought to; `address` holds no secret."""

    address: str

    def check(self) -> None:
        """Raises UsageError if the place cannot be reached, or cannot do what a sink needs."""

    def bring(self, out: Path) -> Delivered:
        """Has the place hold what the folder holds now; a second call changes nothing.

        It is the old state or the new one for those who read it, also if this process is killed. Raises UsageError if
        the place holds results of another folder, RunError if it fails.
        """


def check_follows(address: str, before: Position | None, here: Position, runs: Collection[str]) -> None:
    """Raises UsageError if a sink holds other results than those of this folder, or newer ones.

    `before` is where the sink stands, None if it is empty; `runs` are the runs of the folder.
    """
    if before is not None and (before.batch > here.batch or (before.run and before.run not in runs)):
        raise UsageError(
            f"{address}: holds results up to commit {before.batch} and run {before.run}, expected an earlier state of"
            f" this folder, which ends with commit {here.batch} and run {here.run}; name another address, or the folder"
            " that those came from"
        )


def deliver(out: Path, sinks: Sequence[Sink], note: Callable[[str], object]) -> None:
    """Brings the committed results of this folder to each sink; a folder without results is brought nowhere.

    Every sink is tried. Raises RunError if one fails.
    """
    if not sinks or not manifests.read_live(out):
        return
    failed = []
    for sink in sinks:
        try:
            note(str(sink.bring(out)))
        except CinnabarError as error:
            failed.append(str(error))
    if failed:
        raise RunError(
            f"{'; '.join(failed)}; the records are safe in {out}; run the same command again, or"
            f" `cinnabar export --out {out} --to ADDRESS`"
        )


# The schemes of object stores; `file` is a folder, of a network disk for example.
_STORES = ("s3://", "gs://", "az://", "file:")
# The module and the class of each beginning of an address.
_SINKS = {
    **dict.fromkeys(("postgresql://", "postgres://"), ("postgresql", "PostgresqlSink")),
    **dict.fromkeys(("delta:", *(f"delta+{scheme}" for scheme in _STORES)), ("delta", "DeltaSink")),
}


def is_sink(text: str) -> bool:
    """Returns True if this is the address of a sink, and no path."""
    return text.startswith(tuple(_SINKS))


def sink_of(address: str, out: Path | None = None) -> Sink:
    """Returns the sink of this address, which is not asked yet; `out` is the folder that is to be brought there.

    Raises UsageError if there is none, if its packages are missing, or if it lies in the folder itself.
    """
    beginning = next((one for one in _SINKS if address.startswith(one)), None)
    if beginning is None:
        raise UsageError(f"expected an address of a sink that begins with one of {', '.join(_SINKS)}")
    module, name = _SINKS[beginning]
    check_extra("sinks", beginning)
    if out is not None and _place(address).is_relative_to(out.resolve()):
        raise UsageError(f"{address}: lies in the output folder {out}; name another place")
    # Extra: sinks.
    sink: Sink = getattr(import_module(f"cinnabar.extraction.store.sinks.{module}"), name)(address)
    return sink


def check_apart(sinks: Iterable[Sink], locations: Iterable[Location]) -> None:
    """Raises UsageError if a sink lies in one of these locations of a run, which would read it the next time."""
    read = [place for one in locations if (place := source_of(one).place) is not None]
    for sink in sinks:
        if any(_place(sink.address).is_relative_to(one) for one in read):
            raise UsageError(f"{sink.address}: lies where documents are read, so it would be read; name another place")


def _place(address: str) -> PurePath:
    """Returns where a sink lies: a path of this machine, or `s3:/BUCKET/PREFIX` and the like."""
    place = address.removeprefix("delta:").removeprefix("delta+")
    if "://" in place:
        place = unquote(place).removeprefix("file://")
    return PurePath(place) if "://" in place else Path(os.path.realpath(place))


# How rows of a view belong together: by the first of these columns that is not null.
_BY = {"runs": ("run_id",), "outcomes": ("run_id",), "quarantine": ("document", "path")}
#: The last column of each table: the digest of all rows of the row's key.
DIGEST = "cinnabar_digest"
#: A row in which only this column has a value takes away the rows of that key.
GONE = "cinnabar_key"
# An alias that no column has, so DuckDB takes it for the whole row.
_ROW = "_cinnabar_row"
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class View:
    """A view of a folder: its columns in sinks with their types as DuckDB spells them, and those of its key."""

    name: str
    types: dict[str, str]
    keys: tuple[str, ...]

    def key(self, alias: str) -> str:
        """Returns the key of a row of the table with this alias, in SQL that every sink reads."""
        columns = [f"{alias}.{quote_name(column)}" for column in self.keys]
        return columns[0] if len(columns) == 1 else f"coalesce({', '.join(columns)})"

    def source(self, alias: str) -> str:
        """Returns the view under this alias, with its columns by their names in `types`, for a query of DuckDB."""
        return f"{quote_name(self.name)} AS {alias}({', '.join(map(quote_name, self.types))})"

    def column_list(self) -> str:
        """Returns its columns for a query of DuckDB that calls the view `v`."""
        # Only a column without any value needs a cast, and DuckDB does not read every type that it spells.
        cast = {"VARCHAR": "::VARCHAR"}
        listed = (
            f"v.{quote_name(name)}{cast.get(kind, '')} AS {quote_name(name)}" for name, kind in self.types.items()
        )
        return ", ".join(listed)


class Views:
    """The views of a folder at one moment, and where the folder stands."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        (batch,) = connection.execute("SELECT batch FROM _snapshot").fetchall()[0]
        self.runs = {str(row[0]) for row in connection.execute("SELECT run_id FROM runs").fetchall()}
        self.position = Position(batch, max(self.runs, default=""))

    def all(self) -> list[View]:
        """Returns the views, `runs` first."""
        found = []
        for name in sorted(views_in(self._connection), key=lambda name: name != "runs"):
            rows = self._connection.sql(f"FROM {quote_name(name)} LIMIT 0")
            # A column without any value is one of texts.
            kinds = ("VARCHAR" if str(kind) == '"NULL"' else str(kind) for kind in rows.types)
            columns = columns_of(rows.columns, (DIGEST, GONE, _ROW)).values()
            found.append(View(name, dict(zip(columns, kinds, strict=True)), _BY.get(name, ("document",))))
        return found

    def schema(self, view: View) -> pa.Schema:
        """Returns the columns of `rows`."""
        none = f"SELECT {view.column_list()}, 0::BIGINT AS {DIGEST} FROM {view.source('v')} LIMIT 0"
        schema: pa.Schema = self._connection.sql(none).to_arrow_table().schema
        return schema

    def count_changed(self, view: View, held: pa.Table | None) -> tuple[int, int]:
        """Returns how many keys have other rows than the sink, or none any more, and how many rows they have now.

        `held` has the columns `view.keys` and `DIGEST` of the rows in the sink. The answer of `rows` is of these keys
        until the next call.
        """
        none = pa.table({name: pa.array([], pa.string()) for name in view.keys} | {DIGEST: pa.array([], pa.int64())})
        self._connection.register("_held", none if held is None else held)
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE _changed AS SELECT DISTINCT key, n.digest, n.rows FROM"
            f" (SELECT {view.key(_ROW)} AS key, (sum(hash({_ROW})) % 9223372036854775807)::BIGINT AS digest,"
            f" count(*) AS rows FROM {view.source(_ROW)} GROUP BY 1) AS n"
            f" FULL JOIN (SELECT {view.key('h')} AS key, {DIGEST} AS digest FROM _held AS h) AS b USING (key)"
            " WHERE n.digest IS DISTINCT FROM b.digest"
        )
        self._connection.unregister("_held")
        keys, rows = self._connection.execute("SELECT count(*), coalesce(sum(rows), 0) FROM _changed").fetchall()[0]
        return int(keys), int(rows)

    def rows(self, view: View, gone: bool = False) -> pa.RecordBatchReader:
        """Returns the rows of the changed keys; with `gone` also one for each key, which takes its old rows away."""
        sql = (
            f"SELECT {view.column_list()}, c.digest AS {DIGEST} FROM {view.source('v')}"
            f" JOIN _changed AS c ON c.key = {view.key('v')}"
        )
        if gone:
            sql += f" UNION ALL BY NAME SELECT key AS {GONE} FROM _changed"
        reader: pa.RecordBatchReader = self._connection.sql(sql).to_arrow_reader(_ROWS)
        return reader


@contextmanager
def views_of(out: Path) -> Iterator[Views]:
    """Opens the views of a folder as they are now. Raises the errors of `connect`."""
    with connect(out, zone="UTC") as connection:
        yield Views(connection)
