"""A parser process: it reads paths from standard input and writes one frame for each to standard output.

    python -P -m cinnabar.extraction.documents.processes.worker PARSER TIME MEMORY SIZE TOKENS

The first line of standard input holds the settings. A path with a size is followed by so many bytes, which are parsed
under that name; no file is opened. It may hold settings of this file alone, as the page to draw from. PARSER is
`module:function`, TIME the limit for a document in seconds of processor time, MEMORY and SIZE are bytes of address
space and of the largest file. TOKENS bounds the tokens of a document, as far as its words tell; 0 sets no bound. The
worker and not the parent reads the file: the parent stays small for any size of file, its clock ends a hanging file
system, and the hash is that of the parsed bytes. The process imports no torch.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace

import orjson

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, check_length
from cinnabar.extraction.documents.content.inputs import read_file
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.processes.frames import pack
from cinnabar.extraction.documents.processes.serving import (
    MAGIC,
    ParentPipes,
    allow_processor_time,
    limit,
    parent_pipes,
)

#: Turns bytes under a name into a document, as the settings say.
Parser = Callable[[bytes, str, ParserSettings], Document]


def outcome(
    parser: Parser,
    path: str,
    max_bytes: int,
    max_tokens: int = 0,
    data: bytes | None = None,
    settings: ParserSettings = DEFAULT,
) -> Document | DocumentError:
    """Parses a file, or `data`, and returns the document or the error; only exceptions that end the process escape."""
    try:
        document = parser(read_file(path, max_bytes) if data is None else data, path, settings)
        if max_tokens:
            check_length(document, max_tokens)
        return document
    except DocumentError as error:
        return error
    except MemoryError:
        return DocumentError("memory", "an allocation was refused")
    except RecursionError:
        return DocumentError("depth", "the interpreter's recursion limit was reached")
    # The boundary of the process: an error of a parser concerns only this file. The message may hold text of the
    # document, the type does not.
    except Exception as error:
        return DocumentError("parser_error", type(error).__name__)


def serve(pipes: ParentPipes, parser: Parser, seconds: float, max_bytes: int, max_tokens: int) -> None:
    """Parses the file of each request and sends its document or problem, until standard input ends."""
    settings = ParserSettings.from_sent(orjson.loads(pipes.requests.readline()))
    pipes.send(MAGIC)
    for line in pipes.requests:
        asked = orjson.loads(line)
        path = os.fsdecode(bytes.fromhex(asked["path"]))
        data = pipes.requests.read(asked["size"]) if "size" in asked else None
        own = replace(settings, **asked["own"])
        allow_processor_time(seconds)
        pipes.send(*pack(outcome(parser, path, max_bytes, max_tokens, data, own)))


def main(arguments: list[str]) -> None:
    """Sets the limits, imports the parser and serves requests."""
    dotted, seconds, memory, max_bytes, max_tokens = arguments
    pipes = parent_pipes()
    module, _, name = dotted.partition(":")
    parser: Parser = getattr(importlib.import_module(module), name)
    limit(int(memory))
    serve(pipes, parser, float(seconds), int(max_bytes), int(max_tokens))


if __name__ == "__main__":
    main(sys.argv[1:])
