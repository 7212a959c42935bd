"""Cinnabar in Python: documents and a schema in, typed records and tables out.

    import cinnabar
    from cinnabar.schemas.library import Invoice

    table = cinnabar.extract("invoices", schema=Invoice)
    frame = table.to_pandas()

The names below are imported when they are first used, so that `import cinnabar` costs nothing.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cinnabar import outlines
    from cinnabar.errors import CinnabarError, SchemaError, UsageError
    from cinnabar.extracting import Extracting, Progress, aextract, extract
    from cinnabar.results import Failure, Found, Table, Value, read

__all__ = [
    "CinnabarError",
    "Extracting",
    "Failure",
    "Found",
    "Progress",
    "SchemaError",
    "Table",
    "UsageError",
    "Value",
    "aextract",
    "extract",
    "outlines",
    "read",
]

if not Path(__file__).with_name("engine").exists():
    # A checkout without installation has no links to the folders at its top (setup.py).
    __path__.append(str(Path(__file__).resolve().parents[2]))

_HOMES = {
    "cinnabar.extracting": ("Extracting", "Progress", "aextract", "extract"),
    "cinnabar.results": ("Failure", "Found", "Table", "Value", "read"),
    "cinnabar.errors": ("CinnabarError", "SchemaError", "UsageError"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports an exported name at its first use."""
    if name == "outlines":
        return importlib.import_module("cinnabar.outlines")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'cinnabar' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
