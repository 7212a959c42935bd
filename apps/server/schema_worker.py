"""A process that compiles schemas of clients first, so that one that takes long or much memory harms nobody else.

    python -P -m cinnabar.apps.server.schema_worker TIME MEMORY

A request is the length of a schema's text, 8 bytes little-endian, and the text; so is an answer, as JSON: `null` for a
schema that compiles, else the error's `message` and the `pointer` of its keyword. TIME is the limit for a schema in
seconds of processor time, MEMORY in bytes of address space. Automata that took long are kept on disk for the server.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

import orjson

from cinnabar.extraction.documents.processes.serving import allow_processor_time, parent_pipes
from cinnabar.extraction.documents.processes.wire import MAGIC
from cinnabar.schemas.compiling.compile import compile_schema
from cinnabar.schemas.errors import CinnabarError
from cinnabar.schemas.reading.texts import read_schema


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


def answer_requests(arguments: list[str]) -> None:
    """Sets the limits, and answers until standard input ends."""
    seconds, memory = float(arguments[0]), int(arguments[1])
    pipes = parent_pipes()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    pipes.send(MAGIC)
    while len(head := pipes.requests.read(8)) == 8:
        text = pipes.requests.read(int.from_bytes(head, "little")).decode()
        allow_processor_time(seconds)
        answer = orjson.dumps(problem_of(text))
        pipes.send(len(answer).to_bytes(8, "little"), answer)


if __name__ == "__main__":
    answer_requests(sys.argv[1:])
