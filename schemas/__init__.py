"""The schemas package compiles JSON Schemas to automata, which define the texts that a field may hold.

The names below are imported when they are first used: the folders of this package import its errors, and errors alone
must cost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cinnabar.errors import SchemaError, UnsupportedSchema
    from cinnabar.schemas.compiling.compile import CompiledSchema, compile_schema
    from cinnabar.schemas.compiling.loading import SchemaSource, load_schema, stored_schema

__all__ = [
    "CompiledSchema",
    "SchemaError",
    "SchemaSource",
    "UnsupportedSchema",
    "compile_schema",
    "load_schema",
    "stored_schema",
]

_HOME_OF = {
    "CompiledSchema": "cinnabar.schemas.compiling.compile",
    "SchemaError": "cinnabar.errors",
    "SchemaSource": "cinnabar.schemas.compiling.loading",
    "UnsupportedSchema": "cinnabar.errors",
    "compile_schema": "cinnabar.schemas.compiling.compile",
    "load_schema": "cinnabar.schemas.compiling.loading",
    "stored_schema": "cinnabar.schemas.compiling.loading",
}


def __getattr__(name: str) -> Any:
    """Imports an exported name at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value
