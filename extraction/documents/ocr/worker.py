"""An OCR process: it reads pictures from standard input and writes the words of each to standard output.

    python -P -m cinnabar.extraction.documents.ocr.worker READER TIME MEMORY

The first line of standard input holds the reader's languages. Each further line holds the size of a picture, whose
bytes follow it. An answer is a letter, `T` for a text or `E` for an error, the seconds of processor time that it took
as a little-endian double, the length of what follows as a uint64, and the page or the name of the error. READER is
`module:class`, TIME the limit for a picture in seconds of processor time, MEMORY the bytes of address space. Before the
first picture the process loads its networks; after that it opens no file for writing and needs no network.
"""

from __future__ import annotations

import importlib
import resource
import struct
import sys
from typing import Protocol

import orjson

from cinnabar.extraction.documents.ocr.page_text import PageText
from cinnabar.extraction.documents.processes.serving import MAGIC, allow_processor_time, limit, parent_pipes

#: The letter, the seconds and the length before an answer.
ANSWER = struct.Struct("<cdQ")
TEXT, ERROR = b"T", b"E"


class PictureReader(Protocol):
    """Reads the words of encoded pictures."""

    def read(self, data: bytes) -> PageText:
        """Returns the words of a picture; any exception concerns this picture alone."""
        ...


def serve_pictures(dotted: str, seconds: float, memory: int) -> None:
    """Answers requests until standard input ends."""
    pipes = parent_pipes()
    languages = str(orjson.loads(pipes.requests.readline()))
    module, _, name = dotted.partition(":")
    reader: PictureReader = getattr(importlib.import_module(module), name)(languages)
    limit(memory)
    pipes.send(MAGIC)
    for line in pipes.requests:
        picture = pipes.requests.read(int(line))
        allow_processor_time(seconds)
        begun = _processor_seconds()
        kind, answer = _answer(reader, picture)
        pipes.send(ANSWER.pack(kind, _processor_seconds() - begun, len(answer)), answer)


def _processor_seconds() -> float:
    """Returns the processor time of this process and of the programs that it ran."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _answer(reader: PictureReader, picture: bytes) -> tuple[bytes, bytes]:
    try:
        return TEXT, reader.read(picture).pack()
    # The boundary of the process: an error concerns only this picture. Its message may hold text of the document, its
    # type does not.
    except Exception as error:
        return ERROR, type(error).__name__.encode()


if __name__ == "__main__":
    serve_pictures(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
