"""An OCR process: it reads pictures from standard input and writes the words of each to standard output.

    python -P -m cinnabar.extraction.ingest.ocr.worker READER TIME MEMORY

The first line of standard input holds the reader's languages. Each further line holds the size of a picture, whose
bytes follow it. An answer is a letter, `T` for a text or `E` for an error, the length of what follows as a
little-endian uint64, and the page or the name of the error. READER is `module:class`, TIME the limit for a picture in
seconds of processor time, MEMORY the bytes of address space. Before the first picture the process loads its networks;
after that it opens no file for writing and needs no network.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import struct
import sys
import warnings
from typing import Protocol

import orjson

from cinnabar.extraction.ingest.ocr.page_text import PageText
from cinnabar.extraction.ingest.wire import MAGIC
from cinnabar.extraction.ingest.worker import allow_processor_time, limit

#: The letter and the length before an answer.
ANSWER = struct.Struct("<cQ")
TEXT, ERROR = b"T", b"E"


class PictureReader(Protocol):
    """Reads the words of encoded pictures."""

    def read(self, data: bytes) -> PageText:
        """Returns the words of a picture; any exception concerns this picture alone."""
        ...


def serve_pictures(dotted: str, seconds: float, memory: int) -> None:
    """Answers requests until standard input ends."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    # Native code that prints must not write into the answers.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    languages = str(orjson.loads(requests.readline()))
    module, _, name = dotted.partition(":")
    reader: PictureReader = getattr(importlib.import_module(module), name)(languages)
    limit(memory)
    answers.write(MAGIC)
    for line in requests:
        picture = requests.read(int(line))
        allow_processor_time(seconds)
        kind, answer = _answer(reader, picture)
        view = memoryview(ANSWER.pack(kind, len(answer)) + answer)
        while view:
            view = view[answers.write(view) :]


def _answer(reader: PictureReader, picture: bytes) -> tuple[bytes, bytes]:
    try:
        return TEXT, reader.read(picture).packed()
    # The boundary of the process: an error concerns only this picture. Its message may hold text of the document, its
    # type does not.
    except Exception as error:
        return ERROR, type(error).__name__.encode()


def start(arguments: list[str]) -> None:
    """Serves requests within the limits."""
    dotted, seconds, memory = arguments
    # The terminal's interrupt goes to the whole group, but the parent decides when the workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    serve_pictures(dotted, float(seconds), int(memory))


if __name__ == "__main__":
    start(sys.argv[1:])
