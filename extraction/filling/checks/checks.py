"""The checks of a schema, `x-cinnabar-checks`: DuckDB expressions that hold for a right record.

Numbers are compared as decimals: 0.1 + 0.2 is 0.3. Expressions come from anywhere: a locked DuckDB in memory computes
them, for a few seconds, and `expressions` lets only functions through that neither repeat nor generate.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from cinnabar.extraction.filling.checks.expressions import NoCheck, named_in
from cinnabar.extraction.store.queries import Setting, locked_connection, single_query, time_limit
from cinnabar.extraction.store.tables import RecordColumns
from cinnabar.schemas.columns.arrow import PRECISION, arrow_schema, arrow_type, arrow_value
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.compiling.loading import SchemaSource
from cinnabar.schemas.keywords import CHECKS as KEYWORD
from cinnabar.schemas.left_keywords import keyword_places
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.refusals import Refusal, refused

#: Before the name of a check in the flag of a record that fails it.
FLAG = "check_failed:"
#: Seconds that a query may take. Two checks on 16 invoices take 2 ms.
QUERY_SECONDS = 5.0
#: The most characters of an expression.
LONGEST_EXPRESSION = 4000
# Decimal places of a column of floats in an expression: a product of three such numbers is still exact.
_PLACES = 9
_MOST = 100
_LONGEST_NAME = 64

#: A check's results by its name: None if it does not apply, because a value is missing or cannot be compared.
Results = Mapping[str, bool | None]


@dataclass(frozen=True, slots=True)
class Check:
    """A check; `columns` are the table's columns that it names, `pointers` its fields, one in a list as the list."""

    name: str
    expression: str
    columns: tuple[str, ...]
    pointers: tuple[str, ...]


class Checks:
    """The checks of one schema; threads may share them. It is false if there are none.

    Raises UnsupportedSchema, with the pointer of the check, for one that cannot be used. A schema that a folder holds
    does without it, since an earlier version may have known more.
    """

    def __init__(self, source: SchemaSource, compiled: CompiledSchema) -> None:
        stated = _stated_checks(source.schema)
        self.each: tuple[Check, ...] = ()
        if not stated:
            return
        record = arrow_schema(compiled)
        names = RecordColumns.of(record).names
        whole = not pa.types.is_struct(arrow_type(compiled.shape))
        self._property = {names[name]: name for name in record.names}
        self._types = pa.schema([record.field(name).with_name(names[name]) for name in record.names])
        self._types = pa.schema([one.with_type(_exact(one.type)) for one in self._types])
        self._whole = whole
        self._database = ExpressionDatabase(self._types)
        pointers = {column: "" if whole else f"/{escape(name)}" for column, name in self._property.items()}
        made = (self._check(name, expression, pointers, source.stored) for name, expression in stated.items())
        self.each = tuple(one for one in made if one is not None)

    def __bool__(self) -> bool:
        return bool(self.each)

    def _check_pointer(self, name: str, expression: Any) -> str:
        """Returns the pointer of a check. Raises UnsupportedSchema for a name or a length that no check may have."""
        at = f"/{KEYWORD}/{escape(name)}"
        plain = name and len(name) <= _LONGEST_NAME and all(c.isalnum() or c in "_-." for c in name)
        if not plain:
            raise refused(Refusal.CHECK_NAME, at, most=_LONGEST_NAME, got=name[:80])
        if not isinstance(expression, str) or not expression.strip() or len(expression) > LONGEST_EXPRESSION:
            got = f"{len(expression):,} characters" if isinstance(expression, str) else _kind(expression)
            raise refused(Refusal.CHECK_LENGTH, at, most=LONGEST_EXPRESSION, got=got)
        return at

    def _check(self, name: str, expression: Any, pointers: Mapping[str, str], stored: bool) -> Check | None:
        at = self._check_pointer(name, expression)
        try:
            named = named_in(self._database.syntax(expression), pointers, self._types)
            got = self._database.type_of(expression)
        except NoCheck as error:
            if stored:
                return None
            raise refused(Refusal.CHECK_EXPRESSION, at, problem=error.reason, advice=error.advice) from None
        except (duckdb.Error, UnicodeError, RecursionError) as error:
            if stored:
                return None
            said = " ".join(str(error).split("\n\nLINE")[0].split())
            raise refused(Refusal.CHECK_SYNTAX, at, problem=said) from None
        if got != "BOOLEAN":
            raise refused(Refusal.CHECK_TYPE, at, got=got)
        return Check(name, expression, named.columns, named.places)

    def evaluate(self, records: Sequence[Any]) -> list[Results]:
        """Returns the results for each of these records' values, by one query for all of them.

        A check does not apply to a record with a value that no column of the schema holds.
        """
        if not self.each or not records:
            return [{} for _ in records]
        values = [self._row(value) for value in records]
        wanted = dict.fromkeys(column for check in self.each for column in check.columns)
        columns: dict[str, list[Any]] = {}
        bad: list[set[str]] = [set() for _ in records]
        for column in wanted:
            kind = self._types.field(column).type
            columns[column] = []
            for at, value in enumerate(values):
                try:
                    cell = arrow_value(value.get(self._property[column]), kind)
                    pa.scalar(cell, kind)
                except (pa.ArrowException, ArithmeticError, ValueError, TypeError, AttributeError):
                    bad[at].add(column)
                    cell = None
                columns[column].append(cell)
        table = pa.table({name: pa.array(cells, self._types.field(name).type) for name, cells in columns.items()})
        rows = self._compute(table)
        return [
            {
                check.name: None if wrong.intersection(check.columns) else holds
                for check, holds in zip(self.each, row, strict=True)
            }
            for row, wrong in zip(rows, bad, strict=True)
        ]

    def _row(self, value: Any) -> dict[str, Any]:
        if self._whole:
            return dict.fromkeys(self._property.values(), value)
        return value if isinstance(value, dict) else {}

    def _compute(self, table: pa.Table) -> list[tuple[Any, ...]]:
        """Returns the values of all checks; of one that takes too long or too much memory, none."""
        asked = [check.expression for check in self.each]
        try:
            return self._database.evaluate(asked, table)
        except (duckdb.Error, MemoryError):
            if table.num_rows == 1 and len(asked) == 1:
                return [(None,)]
        return [tuple(self._alone(one, table.slice(at, 1)) for one in asked) for at in range(table.num_rows)]

    def _alone(self, expression: str, record: pa.Table) -> bool | None:
        try:
            holds: bool | None = self._database.evaluate([expression], record)[0][0]
        except (duckdb.Error, MemoryError):
            return None
        return holds


def _stated_checks(schema: Any) -> dict[str, Any]:
    """Returns the checks that a schema has at its root. Raises UnsupportedSchema if they are no object of checks."""
    if not isinstance(schema, dict):
        return {}
    for pointer, _ in keyword_places(schema, {KEYWORD}):
        if pointer != f"/{KEYWORD}":
            raise refused(Refusal.CHECKS_BELOW_ROOT, pointer)
    if KEYWORD not in schema:
        return {}
    stated = schema[KEYWORD]
    if not isinstance(stated, dict):
        raise refused(Refusal.CHECKS, f"/{KEYWORD}", got=_kind(stated))
    if len(stated) > _MOST:
        raise refused(Refusal.CHECKS_TOO_MANY, f"/{KEYWORD}", most=_MOST, got=len(stated))
    return stated


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _exact(kind: pa.DataType) -> pa.DataType:
    """Returns the type of a column in expressions: decimals in place of floats, at any depth."""
    if pa.types.is_float64(kind):
        return pa.decimal128(PRECISION, _PLACES)
    if pa.types.is_list(kind):
        return pa.list_(_exact(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(_exact(one.type)) for one in (kind.field(i) for i in range(kind.num_fields))])
    return kind


#: The name of the table that expressions are about, which no expression guesses.
_TABLE = '"?"'
# Both `lambda x: x.amount` and the older `x -> x.amount`.
_SETTINGS: dict[str, Setting] = {"threads": 1, "lambda_syntax": "ENABLE_SINGLE_ARROW"}


class ExpressionDatabase:
    """A connection that threads may share. Errors of DuckDB come as `duckdb.Error`."""

    def __init__(self, columns: pa.Schema) -> None:
        self._columns = columns
        self._mutex = threading.Lock()
        # It is closed when this object goes.
        self._open = ExitStack()
        locked = locked_connection(memory="512MB", zone="UTC", settings=_SETTINGS)
        self._connection = self._open.enter_context(locked)

    def syntax(self, expression: str) -> str:
        """Returns the syntax tree of `SELECT (expression)` as DuckDB's JSON text."""
        ((tree,),), _ = self._run("SELECT json_serialize_sql(?)", [f"SELECT ({expression}\n) FROM {_TABLE}"])
        return str(tree)

    def type_of(self, expression: str) -> str:
        """Returns DuckDB's name for the type of an expression over the columns."""
        # On a record of NULLs: a constant that does not fit its column fails here, and not on each document.
        records = pa.table([pa.nulls(1, one.type) for one in self._columns], schema=self._columns)
        _, kind = self._run(f"SELECT ({expression}\n) FROM {_TABLE}", [], records)
        return kind

    def evaluate(self, expressions: Sequence[str], records: pa.Table) -> list[tuple[Any, ...]]:
        """Returns the values of the expressions for each record; NULL if one cannot be computed."""
        asked = ", ".join(f"TRY(({expression}\n))" for expression in expressions)
        return self._run(f"SELECT {asked} FROM {_TABLE}", [], records)[0]

    def _run(
        self, query: str, values: list[Any], records: pa.Table | None = None
    ) -> tuple[list[tuple[Any, ...]], str]:
        """Returns the rows of a query, and the type of its first column."""
        with self._mutex, time_limit(self._connection, QUERY_SECONDS):
            if records is not None:
                self._connection.register("?", records)
            try:
                cursor = self._connection.execute(single_query(self._connection, query), values)
                return cursor.fetchall(), str(cursor.description[0][1]) if cursor.description else ""
            finally:
                if records is not None:
                    self._connection.unregister("?")
