"""The schemas package compiles JSON Schemas to automata, which define the texts that a field may hold."""

from __future__ import annotations

from cinnabar.schemas.compile import CompiledSchema, compile_schema
from cinnabar.schemas.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas.loading import SchemaSource, load_schema

__all__ = [
    "CompiledSchema",
    "SchemaError",
    "SchemaSource",
    "UnsupportedSchema",
    "compile_schema",
    "load_schema",
]
