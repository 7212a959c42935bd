"""Completion of values in a shell: schemas, models, documents and views of a folder of results.

They give nothing rather than fail: a shell asks them at each press of a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

#: The most documents that a shell is given.
MOST = 200
_SCHEMA_FILES = (".json", ".yaml", ".yml")


def schemas(incomplete: str) -> list[str]:
    """The schemas of the library and the schema files that begin so."""
    from cinnabar.schemas.library import LIBRARY  # Cold start: classes of Pydantic take .15 s.

    return [name for name in LIBRARY if name.startswith(incomplete)] + list(_paths(incomplete, _SCHEMA_FILES))


def models(incomplete: str) -> list[str]:
    """The default model, and the folders that begin so."""
    return [name for name in ("default", "mercury-2") if name.startswith(incomplete)] + list(_paths(incomplete, ()))


def documents(context: typer.Context, incomplete: str) -> list[str]:
    """The paths of documents in the folder of `--out`, where it is named before, that begin so."""
    sql = "SELECT DISTINCT path FROM outcomes WHERE starts_with(path, ?) ORDER BY path LIMIT ?"
    return _first_column(context, sql, incomplete)


def views(context: typer.Context, incomplete: str) -> list[str]:
    """The views of the folder of `--out`, where it is named before, that begin so; not those with a `_` before them."""
    sql = """
        SELECT view_name FROM duckdb_views()
        WHERE NOT internal AND NOT starts_with(view_name, '_') AND starts_with(view_name, ?) ORDER BY 1 LIMIT ?
    """
    return _first_column(context, sql, incomplete)


def schemas_in_out(context: typer.Context, incomplete: str) -> list[str]:
    """The names of the schemas with records in the folder of `--out`, where it is named before, that begin so."""
    sql = "SELECT DISTINCT schema_name FROM records WHERE starts_with(schema_name, ?) ORDER BY 1 LIMIT ?"
    return _first_column(context, sql, incomplete)


def _first_column(context: typer.Context, sql: str, incomplete: str) -> list[str]:
    out = context.params.get("out")
    if out is None:
        return []
    from cinnabar.extraction.store.reading import connect  # Cold start: DuckDB and PyArrow take .4 s.

    try:
        with connect(Path(out), sql=sql) as connection:
            return [str(row[0]) for row in connection.execute(sql, [incomplete, MOST]).fetchall()]
    except Exception:  # a shell shows no error here
        return []


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yields the folders and the files with these endings that begin so, as they were begun to be written."""
    folder, _, begun = incomplete.rpartition("/")
    above = Path(f"{folder}/" if folder or incomplete.startswith("/") else ".")
    try:
        entries = sorted(above.iterdir())
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(begun) or (entry.name.startswith(".") and not begun.startswith(".")):
            continue
        name = f"{folder}/{entry.name}" if "/" in incomplete else entry.name
        if entry.is_dir():
            yield f"{name}/"
        elif entry.suffix in suffixes:
            yield name
