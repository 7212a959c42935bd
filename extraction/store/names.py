"""Spells names and texts for SQL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable


def identifier(name: str) -> str:
    """Returns the name in letters, digits and underscores, at most 60 characters long."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:60] or "schema"
    return f"_{plain}" if plain[0].isdigit() else plain


def meant(asked: str, names: Collection[str]) -> str | None:
    """Returns the name that is asked for, else the only one that differs from it by case alone; None if none does."""
    if asked in names:
        return asked
    alike = {name for name in names if name.casefold() == asked.casefold()}
    return alike.pop() if len(alike) == 1 else None


def columns_of(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Returns the columns of these names: DuckDB ignores case, so one that is taken, or empty, gets underscores."""
    used, columns = {name.casefold() for name in taken}, {}
    for name in names:
        column = name or "_"
        while column.casefold() in used:
            column += "_"
        used.add(column.casefold())
        columns[name] = column
    return columns


def quote_name(name: str) -> str:
    """Returns this name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Returns this text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
