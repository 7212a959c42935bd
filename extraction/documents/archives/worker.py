"""A process that unpacks archives in its memory: it lists the files of one, and then gives their bytes.

    python -P -m cinnabar.extraction.documents.archives.worker

The first line of standard input holds the passwords. Of the requests behind it, `{"open": PATH}` with the path in hex
lists the files, and `{"read": NUMBER}` gives the bytes of one of them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import PurePath
from typing import Any

import orjson

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.archives.members import Member, UnpackedBytes, all_members
from cinnabar.extraction.documents.content.inputs import read_file
from cinnabar.extraction.documents.content.limits import MAX_FILE, MAX_UNPACKED, UNPACKING_MEMORY, UNPACKING_SECONDS
from cinnabar.extraction.documents.content.zipped import archive_kind
from cinnabar.extraction.documents.processes.serving import MAGIC, allow_processor_time, limit, parent_pipes


def list_archive(path: str, passwords: list[str]) -> tuple[dict[str, Any], list[Member]]:
    """Returns the files of an archive, and how the parent is told of them."""
    try:
        data = read_file(path, MAX_FILE)
        if not archive_kind(data):
            return {"members": None}, []
        bound = UnpackedBytes(len(data), MAX_UNPACKED)
        members = all_members(data, PurePath(path).name, bound.count, passwords)
    except DocumentError as problem:
        return {"code": problem.code, "detail": problem.detail[:500]}, []
    except MemoryError:
        return {"code": "memory", "detail": "an allocation was refused"}, []
    # The boundary of the process: an error concerns only this archive.
    except Exception as error:
        return {"code": "parser_error", "detail": type(error).__name__}, []
    return {"members": [_row_of(one) for one in members]}, members


def _row_of(one: Member) -> list[str]:
    problem = one.problem
    if problem is None and len(one.data) > MAX_FILE:
        problem = DocumentError("too_large", f"{len(one.data)} bytes, the limit is {MAX_FILE}")
    if problem is not None:
        return [one.name, "", problem.code, problem.detail[:500]]
    return [one.name, hashlib.sha256(one.data).hexdigest(), "", ""]


def answer_requests() -> None:
    """Sets the limits, and answers until standard input ends."""
    pipes = parent_pipes()
    limit(UNPACKING_MEMORY)
    passwords = orjson.loads(pipes.requests.readline())
    pipes.send(MAGIC)
    held: list[Member] = []
    for request in pipes.asked():
        asked = orjson.loads(request)
        allow_processor_time(UNPACKING_SECONDS)
        if "open" in asked:
            # The memory of the last archive is free before the next one is unpacked.
            held = []
            listing, held = list_archive(os.fsdecode(bytes.fromhex(asked["open"])), passwords)
            pipes.answer(orjson.dumps(listing))
        else:
            pipes.answer(held[asked["read"]].data)


if __name__ == "__main__":
    answer_requests()
