"""Changes of a folder, and what its views and its sinks hold, in one form that tests and benchmarks compare."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import obstore
from tests.support.corrected_folder import DOCUMENTS, LATER, digest_of, run

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.store.exporting import json_line
from cinnabar.extraction.store.names import quote_name
from cinnabar.extraction.store.reading import connect, views_in
from cinnabar.extraction.store.sinks.delta import open_store
from cinnabar.extraction.store.sinks.sink import Delivered, Sink, sink_of

Held = dict[str, Counter[str]]


def _plain(value: Any) -> Any:
    """A value as all sinks tell it: decimals without zeros at their ends, NUL as its picture."""
    if isinstance(value, str):
        return value.replace("\0", "\u2400")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dict):
        return {_plain(name): _plain(part) for name, part in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (int, float, Decimal)):
        return Decimal(str(value)).normalize() + 0
    return value


def _table(names: list[str], rows: list[tuple[Any, ...]]) -> Counter[str]:
    kept = sorted((name, at) for at, name in enumerate(names) if name != "cinnabar_digest")
    return Counter(json_line({name: _plain(row[at]) for name, at in kept}) for row in rows)


def held_by_folder(out: Path) -> Held:
    """The rows of each view."""
    held = {}
    with connect(out, zone="UTC") as connection:
        for name in views_in(connection):
            rows = connection.sql(f'FROM "{name}"').to_arrow_table()
            held[name] = _table(rows.column_names, [*zip(*(c.to_pylist() for c in rows.columns), strict=True)])
    return held


def held_by(address: str) -> Held:
    """The rows of each table of a sink."""
    if address.startswith("postgresql"):
        return _held_by_postgresql(address)
    return _held_by_delta(address.removeprefix("delta:").removeprefix("delta+"))


def _held_by_postgresql(address: str) -> Held:
    from adbc_driver_postgresql import dbapi

    schema = parse_qs(urlsplit(address).query).get("schema", ["public"])[0]
    held = {}
    with dbapi.connect(address.partition("?")[0]) as connection, connection.cursor() as cursor:
        cursor.execute("SET TimeZone = 'UTC'")
        cursor.execute("SELECT tablename::text FROM pg_tables WHERE schemaname = $1", (schema,))
        names = [row[0] for row in cursor.fetchall()]
        for name in names:
            if name != "cinnabar_sink":
                held[name] = _rows_of(cursor, schema, name)
    return held


def _rows_of(cursor: Any, schema: str, name: str) -> Counter[str]:
    cursor.execute(
        "SELECT attname::text, atttypid::regtype::text FROM pg_attribute WHERE attrelid = to_regclass($1)"
        " AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        (f'"{schema}"."{name}"',),
    )
    kinds = dict(cursor.fetchall())
    text = ("jsonb", "numeric")
    listed = ", ".join(f"{quote_name(c)}::text" if kind in text else quote_name(c) for c, kind in kinds.items())
    cursor.execute(f'SELECT {listed} FROM "{schema}"."{name}"')
    table = cursor.fetch_arrow_table()
    readers: dict[str, Callable[[str], Any]] = {"jsonb": partial(json.loads, parse_float=Decimal), "numeric": Decimal}
    columns = []
    for column, kind in zip(table.columns, kinds.values(), strict=True):
        read = readers.get(kind)
        columns.append([value if value is None or read is None else read(value) for value in column.to_pylist()])
    return _table([*kinds], [*zip(*columns, strict=True)])


def _held_by_delta(root: str) -> Held:
    from deltalake import DeltaTable

    options = {"aws_conditional_put": "etag", "allow_http": "true"}
    store = open_store(root if "://" in root else Path(root).absolute().as_uri())
    held = {}
    for name in obstore.list_with_delimiter(store)["common_prefixes"]:
        rows = DeltaTable(f"{root}/{name}", storage_options=options).to_pyarrow_table()
        table = _table(rows.column_names, [*zip(*(c.to_pylist() for c in rows.columns), strict=True)])
        held[name] = table
    return held


def differing(out: Path, address: str, renamed: dict[str, str] | None = None) -> list[str]:
    """The names of the tables in which a sink differs from the folder's views.

    `renamed` has the names of views' columns by those of the sink.
    """
    views, tables = held_by_folder(out), held_by(address)
    if renamed:
        tables = {name: _renamed(rows, renamed) for name, rows in tables.items()}
    # A Delta table whose view has gone is empty.
    none: Counter[str] = Counter()
    return sorted(name for name in views.keys() | tables.keys() if views.get(name, none) != tables.get(name, none))


def _renamed(rows: Counter[str], names: dict[str, str]) -> Counter[str]:
    read = [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in rows.elements()]
    return Counter(json_line(dict(sorted((names.get(name, name), part) for name, part in row.items()))) for row in read)


def bring(out: Path, address: str) -> Delivered:
    """Brings the folder to the sink as `export --to` does."""
    sink: Sink = sink_of(address, out)
    sink.check()
    return sink.bring(out)


def correct(out: Path, number: str = '"corrected"') -> None:
    """A person corrects a value."""
    Corrector(out).correct(digest_of("a.txt"), "bill", [Change(Action.VALUE, "/number", number)], "a person")


#: What may happen to a folder between two deliveries.
CHANGES: list[Callable[[Path], object]] = [
    lambda out: run(out, "e22"),
    correct,
    lambda out: run(out, "e3", LATER),
    lambda out: run(out, "e4", LATER, paths=(*DOCUMENTS, "d.txt")),
]
