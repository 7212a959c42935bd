"""The documents that `extract` takes: paths, bytes, open files, and bytes with a name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.formats import is_plain_text
from cinnabar.extraction.documents.content.inputs import DistinctNames
from cinnabar.extraction.documents.inputs import Input, Location, input_of, parse_locations

_Bytes = bytes | bytearray | memoryview
#: A path or an address; bytes; a file that is open for bytes, such as a BytesIO; or a name with one of the latter two.
Document = str | os.PathLike[str] | _Bytes | BinaryIO | tuple[str, _Bytes | BinaryIO]
Documents = Document | Sequence[Document]


def locations_of(documents: Documents) -> list[Location]:
    """Returns the locations of these documents, in their order. Raises UsageError if something is no document."""
    paths = [os.fspath(one) for one in _each(documents) if isinstance(one, (str, os.PathLike))]
    located_paths = iter(parse_locations(paths))
    names = DistinctNames()
    for path in paths:
        names.distinct(path)
    result: list[Location] = []
    for one in _each(documents):
        if isinstance(one, (str, os.PathLike)):
            result.append(next(located_paths))
        else:
            result.append(_held(one, names))
    if not result:
        raise UsageError("paths: expected at least one file, folder or mailbox, or bytes, got none")
    return result


def _each(documents: Any) -> Iterator[Any]:
    named = isinstance(documents, tuple) and len(documents) == 2 and _has_bytes(documents[1])
    if named or _has_bytes(documents) or isinstance(documents, (str, os.PathLike)):
        yield documents
    elif isinstance(documents, Sequence):
        yield from documents
    else:
        raise UsageError(_expected_text(documents))


def _held(document: Any, names: DistinctNames) -> Input:
    """Returns bytes as an input under a name of its own."""
    name, content = "", document
    if isinstance(document, tuple) and len(document) == 2 and isinstance(document[0], str):
        name, content = document
    if not _has_bytes(content):
        raise UsageError(_expected_text(document))
    if hasattr(content, "read"):
        file_name = getattr(content, "name", "")
        name = name or (file_name if isinstance(file_name, str) else "")
        content = content.read()
        if isinstance(content, str):
            raise UsageError(f"paths: expected a file open for bytes (mode 'rb'), got text of {name or 'a file'}")
    data = bytes(content)
    # A name of the content, so that a second call with the same folder knows the document.
    name = name or f"bytes-{hashlib.sha256(data).hexdigest()[:12]}{'.txt' if is_plain_text(data) else ''}"
    return input_of(names.distinct(name), data)


def _has_bytes(content: Any) -> bool:
    return isinstance(content, (bytes, bytearray, memoryview)) or hasattr(content, "read")


def _expected_text(document: Any) -> str:
    return (
        "paths: expected paths, bytes, files that are open for bytes, or (name, bytes), got"
        f" {type(document).__name__}"
    )
