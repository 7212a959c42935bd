"""The results of an extraction in Python: typed records with the evidence of each value, failures, and data frames."""

from __future__ import annotations

import importlib.util
import json
import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from pydantic import BaseModel, TypeAdapter, ValidationError

from cinnabar.closing import Closing
from cinnabar.errors import UsageError
from cinnabar.extraction.store.manifest import read_live
from cinnabar.extraction.store.names import quote_name
from cinnabar.extraction.store.queries import locked_connection
from cinnabar.extraction.store.reading import connect, distinct
from cinnabar.extraction.store.reading import query as ask
from cinnabar.extraction.store.records import EMPTY_RECORD
from cinnabar.extraction.store.snapshot import view_of, view_of_version
from cinnabar.schemas import load_schema
from cinnabar.schemas.python_types import is_type

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

    from cinnabar.extraction.run.stored_run import Summary

_R = TypeVar("_R")
_M = TypeVar("_M", bound=BaseModel)

# Documents whose values are in memory at a time.
_TOGETHER = 500
#: The codes of skipped documents that a table tells as failures.
TOLD_SKIPS = ("budget", "other_kind", EMPTY_RECORD)


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a record, with its evidence.

    `pointer` is its place in the record (RFC 6901). `value` is None if the record leaves the place out. `confidence` is
    the probability that the value is right. `page` counts from 1, 0 for none. `text` holds the words behind the value,
    and `spans` their characters [start, end) in the document's text; both are empty if no words stand behind it.
    `origin` says where it comes from, `flags` are its warnings (docs/tables.md).
    """

    pointer: str
    value: Any
    confidence: float
    page: int
    text: str
    spans: tuple[tuple[int, int], ...]
    origin: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found(Generic[_R]):
    """The record of one document.

    `document` is the SHA-256 of its bytes. `record` is an instance of the schema's class, or a dict. `values` has each
    value by its JSON pointer. `confidence` is that of the least certain value, row or list.
    """

    path: str
    document: str
    record: _R
    confidence: float
    flags: tuple[str, ...]
    values: Mapping[str, Value]
    json: str

    def below(self, confidence: float) -> list[Value]:
        """Returns the values below this confidence, the least certain first."""
        return sorted(
            (one for one in self.values.values() if one.confidence < confidence), key=lambda one: one.confidence
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A document without a record, with the reason.

    `outcome` is `quarantined` or `skipped`; `code` and `detail` say why (docs/tables.md). `pointers` name the places of
    the `rejected` record (JSON text) that are the reason; it is None if no record was made.
    """

    path: str
    document: str
    outcome: str
    code: str
    detail: str
    pointers: tuple[str, ...] = ()
    rejected: str | None = None


class Reader(Generic[_R]):
    """Makes typed records from the JSON text of records; a schema that is no type makes Python values of JSON."""

    def __init__(self, schema: Any) -> None:
        self.typed = is_type(schema)
        self._adapter: TypeAdapter[Any] | None = TypeAdapter(schema) if self.typed else None

    def __call__(self, text: str) -> _R:
        """Returns the record of this JSON text; a number that no float holds is a Decimal, unless the class says so."""
        adapter, longs = self._adapter, list[Decimal]()
        exact = json.loads(text, parse_float=partial(_number, longs))
        if adapter is None:
            return cast(_R, exact)
        if longs:
            # Pydantic reads a number of JSON as a float, also for a Decimal; a strict class takes one from a text only.
            with suppress(ValidationError):
                return cast(_R, adapter.validate_python(exact))
            with suppress(ValidationError):
                return cast(_R, adapter.validate_json(json.dumps(exact, default=str)))
        return cast(_R, adapter.validate_json(text))


def _number(longs: list[Decimal], text: str) -> float | Decimal:
    """Returns a number of JSON as a float, or as a Decimal, which is added to `longs`, if a float loses digits."""
    exact = Decimal(text)
    if _fits(exact):
        return float(text)
    longs.append(exact)
    return exact


def _fits(exact: Decimal) -> bool:
    """Tells whether the float of this number is spelled with the same digits."""
    return Decimal(repr(float(exact))) == exact


class Table(Closing, Generic[_R]):
    """The records of a schema in an output folder: all of them, or those of one run's documents.

    It reads the folder whenever it is asked, so values that are corrected later are seen. `summary` has the counts of
    the run, None if there is none. A temporary folder is removed when the table is closed or forgotten.
    """

    def __init__(
        self,
        out: Path,
        schema_name: str,
        reader: Reader[_R],
        summary: Summary | None = None,
        fingerprint: str | None = None,
        owned: bool = False,
    ) -> None:
        self.out, self.schema_name, self.summary = out, schema_name, summary
        self._reader, self._fingerprint = reader, fingerprint
        self._remove = weakref.finalize(self, shutil.rmtree, out, True) if owned else None

    def __repr__(self) -> str:
        if self._is_closed:
            return f"<cinnabar.Table {self.schema_name}: closed>"
        return f"<cinnabar.Table {self.schema_name}: {len(self)} records, {len(self.failures)} failures, {self.out}>"

    def close(self) -> None:
        """Removes the folder if it is a temporary one; such a table cannot be read after that."""
        if self._remove is not None:
            self._remove()

    def __len__(self) -> int:
        with self._connect() as connection:
            return len(self._rows(connection, "document"))

    def __iter__(self) -> Iterator[Found[_R]]:
        """Yields each document's record with its values, by path."""
        with self._connect() as connection:
            rows = self._rows(connection, "path, document, schema_fingerprint, confidence, flags, record_json")
            for start in range(0, len(rows), _TOGETHER):
                part = rows[start : start + _TOGETHER]
                values = self._values(connection, [row[1] for row in part])
                for path, document, fingerprint, confidence, flags, text in part:
                    own = values.get((document, fingerprint), {})
                    yield Found(path, document, self._reader(text), confidence, tuple(flags or ()), own, text)

    @property
    def records(self) -> list[_R]:
        """The typed records, by path."""
        with self._connect() as connection:
            return [self._reader(text) for (text,) in self._rows(connection, "record_json")]

    @property
    def failures(self) -> list[Failure]:
        """The documents without a record, by path: those in quarantine, and those that the run skipped for a reason.

        An empty list says that every document has a record.
        """
        condition, values = self._condition()
        with self._connect() as connection:
            rows = connection.execute(
                "SELECT path, coalesce(document, ''), 'quarantined', code, coalesce(detail, ''), pointers, record_json"
                f" FROM quarantine WHERE {condition} ORDER BY path",
                values,
            ).fetchall()
            if self.summary is not None:
                rows += connection.execute(
                    "SELECT path, coalesce(document, ''), outcome, code, coalesce(detail, ''), pointers, NULL"
                    " FROM outcomes WHERE run_id = ? AND outcome = 'skipped' AND list_contains(?, code)"
                    " ORDER BY path",
                    [self.summary.run_id, list(TOLD_SKIPS)],
                ).fetchall()
        return [
            Failure(path, document, outcome, code, detail, tuple(pointers or ()), rejected)
            for path, document, outcome, code, detail, pointers, rejected in rows
        ]

    def to_arrow(self) -> pyarrow.Table:
        """Returns the typed columns of the records as an Arrow table."""
        with self._connect() as connection:
            return cast("pyarrow.Table", self._columns(connection).to_arrow_table())

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the typed columns of the records as a data frame of pandas, which has to be installed.

        Decimals are floats, unless a float loses digits of a column, or the schema is a class: then it holds Decimals.
        """
        _needs("pandas")
        return in_pandas(self.to_arrow(), exact=self._reader.typed)

    def to_polars(self) -> polars.DataFrame:
        """Returns the typed columns of the records as a data frame of Polars, which has to be installed."""
        _needs("polars")
        with self._connect() as connection:
            return cast("polars.DataFrame", self._columns(connection).pl())

    def sql(self, query: str) -> list[dict[str, Any]]:
        """Returns the rows of a query over all views of the folder."""
        self._check_open()
        answer = ask(self.out, query)
        names = distinct(answer.columns)
        return [dict(zip(names, row, strict=True)) for row in answer.rows]

    @property
    def _is_closed(self) -> bool:
        return self._remove is not None and not self._remove.alive

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError("the table is closed and its temporary folder removed; name a folder: extract(…, out=…)")

    def _connect(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        self._check_open()
        return connect(self.out)

    def _condition(self) -> tuple[str, list[Any]]:
        """The condition on rows of this table, and its parameters.

        The path stands for a file that could not be opened, which has no digest.
        """
        parts, values = ["schema_name = ?"], [self.schema_name]
        if self._fingerprint is not None:
            parts.append("schema_fingerprint = ?")
            values.append(self._fingerprint)
        if self.summary is not None:
            own = "SELECT coalesce(document, path) FROM outcomes WHERE run_id = ?"
            parts.append(f"coalesce(document, path) IN ({own})")
            values.append(self.summary.run_id)
        return " AND ".join(parts), values

    def _rows(self, connection: duckdb.DuckDBPyConnection, columns: str) -> list[tuple[Any, ...]]:
        """Returns columns of the latest record of each document, by path."""
        condition, values = self._condition()
        return connection.execute(
            f"SELECT {columns} FROM records WHERE latest AND {condition}"
            " QUALIFY row_number() OVER (PARTITION BY document ORDER BY run_id DESC) = 1 ORDER BY path, document",
            values,
        ).fetchall()

    def _columns(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """Asks for the rows of the schema's view; without any record that is a table of no rows."""
        committed = read_live(self.out)
        try:
            if self._fingerprint is None:
                view: str | None = view_of(connection, committed, self.schema_name)
            else:
                view = view_of_version(connection, committed, self._fingerprint)
        except UsageError:
            view = None
        if view is None:
            return connection.sql("SELECT '' AS path WHERE false")
        documents = [row[0] for row in self._rows(connection, "document")]
        sql = (
            f"SELECT * EXCLUDE (record_json) FROM {quote_name(view)} WHERE list_contains(?, document)"
            " ORDER BY path, document"
        )
        return connection.sql(sql, params=[documents])

    def _values(
        self, connection: duckdb.DuckDBPyConnection, documents: Sequence[str]
    ) -> dict[tuple[str, str], dict[str, Value]]:
        values: dict[tuple[str, str], dict[str, Value]] = {}
        for document, fingerprint, pointer, text, confidence, page, words, spans, origin, flags in connection.execute(
            "SELECT document, schema_fingerprint, pointer, value_json, confidence, page, evidence_text, spans, origin,"
            " flags FROM _fields WHERE schema_name = ? AND list_contains(?, document) AND origin <> 'thoughts'",
            [self.schema_name, list(documents)],
        ).fetchall():
            values.setdefault((document, fingerprint), {})[pointer] = Value(
                pointer,
                None if text is None else json.loads(text, parse_float=partial(_number, [])),
                confidence,
                page or 0,
                words or "",
                tuple((one["start"], one["end"]) for one in spans or ()),
                origin,
                tuple(flags or ()),
            )
        return values


def in_pandas(table: pyarrow.Table, exact: bool = False) -> pandas.DataFrame:
    """Returns a data frame with float columns for decimals, or with Decimals: all if `exact`, else where a float loses
    digits.
    """
    import pyarrow as pa  # Cold start: it takes .1 s.

    with locked_connection() as connection:
        frame = connection.from_arrow(table).df()
    for name, column in zip(table.column_names, table.columns, strict=True):
        leaves: Any = column.combine_chunks()
        while pa.types.is_list(leaves.type):
            leaves = leaves.flatten()
        if pa.types.is_decimal(leaves.type) and (exact or not all(map(_fits, leaves.drop_null().to_pylist()))):
            frame[name] = column.to_pandas()
    return frame


def _needs(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        raise UsageError(f"to_{name}: expected the package {name}, which is not installed: pip install {name}")


@overload
def read(out: str | Path, schema: type[_M]) -> Table[_M]: ...
@overload
def read(out: str | Path, schema: Any = None) -> Table[dict[str, Any]]: ...


def read(out: str | Path, schema: Any = None) -> Table[Any]:
    """Returns the table of the results in a folder that `cinnabar extract` or `cinnabar.extract` wrote.

    `schema` is the name of a schema in the folder, or a class or another schema of that name, whose records become its
    instances; it may be left out if the folder has one schema. Raises UsageError if the folder has no results, or none
    of this schema.
    """
    folder = Path(out)
    with connect(folder) as connection:
        names = [
            row[0] for row in connection.execute("SELECT DISTINCT schema_name FROM outcomes ORDER BY 1").fetchall()
        ]
    if schema is None:
        if len(names) != 1:
            raise UsageError(f"{out}: has the schemas {', '.join(names)}; name one: cinnabar.read(out, schema=…)")
        return Table(folder, names[0], Reader(None))
    name = schema if schema in names else load_schema(schema).name
    if name not in names:
        raise UsageError(f"{out}: expected one of its schemas, {', '.join(names)}, got {name}")
    return Table(folder, name, Reader(schema))
