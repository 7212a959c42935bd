"""A process that compiles schemas of clients first, so that one that takes long or much memory harms nobody else.

    python -P -m cinnabar.apps.server.schema_worker TIME MEMORY

A request is the length of a schema's text, 8 bytes little-endian, and the text; so is an answer, as JSON: `null` for a
schema that compiles, else the error's `message` and the `pointer` of its keyword. TIME is the limit for a schema in
seconds of processor time, MEMORY in bytes of address space.
"""

from __future__ import annotations

import sys
from typing import Any

from cinnabar.errors import CinnabarError
from cinnabar.extraction.documents.processes.serving import answer_json_requests
from cinnabar.schemas.compiling.compile import compile_schema
from cinnabar.schemas.parsing.texts import read_schema


def problem_of(text: str) -> dict[str, Any] | None:
    """Returns what is wrong with a schema, None if it compiles."""
    try:
        _ = compile_schema(read_schema(text)).form
    except CinnabarError as problem:
        return {"message": str(problem), "pointer": getattr(problem, "pointer", None)}
    except (RecursionError, MemoryError) as error:
        return {"message": f"the schema is too large ({type(error).__name__})", "pointer": None}
    except Exception as error:
        return {"message": f"the schema cannot be compiled ({type(error).__name__})", "pointer": None}
    return None


if __name__ == "__main__":
    answer_json_requests(lambda text: problem_of(text.decode()), float(sys.argv[1]), int(sys.argv[2]))
