"""Spells names and texts for SQL, and refuses an address where a path of this machine is wanted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import PurePath

from cinnabar.errors import UsageError


def identifier(name: str) -> str:
    """Returns the name in letters, digits and underscores, at most 60 characters long."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:60] or "schema"
    return f"_{plain}" if plain[0].isdigit() else plain


def resolve_name(asked: str, names: Collection[str]) -> str | None:
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


def sql_literal(text: str) -> str:
    """Returns this text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


# A scheme with nothing behind the colon, as the first part of a path, or a store's scheme with anything behind it. A
# single letter is a drive of Windows.
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:|(?:s3|s3a|s3n|gs|gcs|az|abfss?|wasbs?|adl|hdfs|oss|r2|minio|https?|s?ftp|ssh|smb|file):.*",
    re.I | re.S,
)


def check_local(path: str | PurePath, option: str = "--out") -> None:
    """Raises UsageError if this is an address, such as s3://bucket/x, and no path of this machine."""
    first, *rest = PurePath(path).parts or ("",)
    if _ADDRESS.fullmatch(first) is None:
        return
    behind = "/".join(rest)
    if first.casefold() == "file:":
        raise UsageError(f"{option} {first}///{behind}: expected a path without file:, such as /{behind or 'tables'}")
    shown = f"{first}//{behind}" if first.endswith(":") else str(path)  # a path has lost one of the two strokes
    raise UsageError(
        f"{option} {shown}: expected a path of this machine, got an address; write here, and copy the result there"
    )
