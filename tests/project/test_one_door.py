"""DuckDB is opened by one function, and no module goes around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.cases import each
from tests.support.import_graph import modules

DOOR = "cinnabar.extraction.store.queries"
#: SQL that opens another database or runs code of one.
OPENS = re.compile(r"\b(?:ATTACH|INSTALL|LOAD|CREATE SECRET)\s")


def others(tree: ast.Module) -> Iterator[str]:
    """What of a module opens DuckDB by itself: of the package it may take types and errors alone."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="duckdb"), attr=name) if name[0].islower() or name[0] == "_":
                yield f"{node.lineno}: duckdb.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="duckdb"), attr="DuckDBPyConnection")):
                yield f"{node.lineno}: makes a connection"
            case ast.Import(names=names):
                for one in names:
                    if "duckdb" in one.name and (one.name != "duckdb" or one.asname):
                        yield f"{node.lineno}: import {one.name} as {one.asname}"
            case ast.ImportFrom(module=str(home), names=names) if "duckdb" in home:
                if home != "duckdb" or any(not one.name[0].isupper() for one in names):
                    yield f"{node.lineno}: takes a function out of {home}"
            case ast.Call(func=ast.Name() | ast.Attribute(), args=[ast.Constant(value="duckdb" | "_duckdb"), *_]):
                yield f"{node.lineno}: names the package as a text"
            case ast.Constant(value=str(text)) if OPENS.search(text):
                yield f"{node.lineno}: {text[:60]}"


def test_no_module_opens_duckdb_but_the_door() -> None:
    found = [
        f"{module}:{fault}"
        for module, path in modules().items()
        if module != DOOR
        for fault in others(ast.parse(path.read_text()))
    ]
    assert not found, "\n".join(found)


@each(
    "way",
    [
        "duckdb.connect()",
        "with duckdb.connect(path, config=LIMITS) as connection: pass",
        "opened = duckdb.connect",
        "duckdb.sql('SELECT 1')",
        "duckdb.read_parquet(path).df()",
        "duckdb.default_connection().execute(sql)",
        "duckdb.DuckDBPyConnection()",
        "from duckdb import connect",
        "from duckdb import *",
        "from duckdb.experimental.spark.sql import SparkSession",
        "import duckdb as database",
        "import adbc_driver_duckdb",
        "importlib.import_module('duckdb')",
        "connection.execute(f'ATTACH {path} AS other')",
        "connection.execute('LOAD httpfs')",
    ],
)
def test_each_way_around_the_door_is_found(way: str) -> None:
    assert [*others(ast.parse(way))], way


def test_types_and_errors_of_the_package_are_no_way_around() -> None:
    assert not [*others(ast.parse("import duckdb\ndef f(c: duckdb.DuckDBPyConnection): raise duckdb.Error('x')"))]
