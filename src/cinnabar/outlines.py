"""A schema of Cinnabar as an output type of the package outlines, for other models that write under it.

    import outlines
    import cinnabar

    generator = outlines.Generator(model, cinnabar.outlines.output_type("invoice"))

The other way needs nothing: `cinnabar.extract` takes types of outlines as schemas.
"""

from __future__ import annotations

from typing import Any

from outlines.types import JsonSchema

from cinnabar.schemas import load_schema

__all__ = ["output_type"]


def output_type(schema: Any) -> JsonSchema:
    """Returns the output type of a schema: a name of the library, a file, a dict, or a type, as for `extract`.

    Raises SchemaError for what is none.
    """
    return JsonSchema(load_schema(schema).schema)
