"""The version of the code that decides values, and the alarm that tells when it has to be raised.

A record's key holds `VALUES_VERSION`, so that "run it again" makes records anew after a rule has changed. Nobody
remembers to raise a number: `SYNTAX` is a hash of all code and data that decides values, recorded when the number was
raised, and a test compares it with the code (tests/engine/test_version.py). `make version` raises the number and
records the hash.

The hash is blind to docstrings, comments, formatting and imports, and to the file in which a definition stands; it
is the same in every version of Python.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

#: Raised whenever the code that decides values changes (`make version`).
VALUES_VERSION = 11
#: The hash of that code when the version was raised.
SYNTAX = "44d7db49a6e52039"

#: Folders and files whose code decides values, from the top of the project: from a file's bytes to its record.
DECIDING = (
    "kernels",
    "schemas",
    "engine",
    "extraction/documents/content",
    "extraction/reading/records",
    "extraction/run/work/freezing.py",
    "extraction/run/work/refilling.py",
    "extraction/documents/chunking.py",
    "extraction/documents/content/document.py",
    "extraction/reading/pipeline.py",
    "extraction/reading/planning.py",
)
#: Of these, what decides no value: training makes weights, which have a hash of their own; the library's schemas are
#: part of a schema's fingerprint; this file would record itself.
OTHERS = ("engine/training", "schemas/library", "engine/version.py")
#: Tables that decide values: names of months, countries and currencies.
TABLES = ("engine/readings",)
_TABLE_SUFFIXES = (".tsv", ".gz")
_LEFT_OUT = (ast.Import, ast.ImportFrom)


def syntax_hash(root: Path) -> str:
    """The hash of the code and the tables that decide values, in the project at `root`."""
    digests = [digest for path in _files(root) for digest in definitions(path.read_text(encoding="utf-8"))]
    for folder in TABLES:
        tables = (path for path in (root / folder).rglob("*") if path.suffix in _TABLE_SUFFIXES)
        digests += [hashlib.sha256(path.read_bytes()).hexdigest() for path in tables]
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()[:16]


def _files(root: Path) -> Iterator[Path]:
    for name in DECIDING:
        place = root / name
        for path in [place] if place.suffix else sorted(place.rglob("*.py")):
            below = path.relative_to(root).as_posix()
            if not any(below == other or below.startswith(f"{other}/") for other in OTHERS):
                yield path


def definitions(source: str) -> Iterator[str]:
    """Yields the hash of each statement at the top of a module that is no import and no bare text.

    Comments, docstrings and formatting change no hash.
    """
    for statement in ast.parse(source).body:
        if not isinstance(statement, _LEFT_OUT) and not _is_text(statement):
            yield hashlib.sha256(_written(statement).encode()).hexdigest()


def _written(node: object) -> str:
    """Returns a tree as text: every field that is set, but no bare text, import or place in the file."""
    if isinstance(node, list):
        counted = (one for one in node if not isinstance(one, _LEFT_OUT) and not _is_text(one))
        return f"[{','.join(map(_written, counted))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, value in ast.iter_fields(node):
        # Fields that are empty came with later versions of Python, or say nothing.
        if value is None or value == [] or name in ("ctx", "kind", "type_comment"):
            continue
        parts.append(f"{name}={_written(value)}")
    return f"{type(node).__name__}({','.join(parts)})"


def _is_text(statement: object) -> bool:
    """Returns True for a docstring, and for a text below a constant or a field that documents it."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
