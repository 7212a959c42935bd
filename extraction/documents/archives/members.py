"""Members of archives, one after the other, unpacked in memory within bounds."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath, PurePosixPath
from typing import Protocol

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import add_content
from cinnabar.extraction.documents.content.inputs import DistinctNames, is_hidden, member_name
from cinnabar.extraction.documents.content.limits import (
    ALWAYS_UNPACKED,
    LZMA_MEMORY,
    MAX_MEMBERS,
    MAX_NESTING,
    MAX_RATIO,
    MAX_UNPACKED,
)
from cinnabar.extraction.documents.content.parse_context import PASSWORD_HELP, ParseContext
from cinnabar.extraction.documents.content.seven_zip import seven_zip_members
from cinnabar.extraction.documents.content.zipped import archive_kind, open_zip, packed_kind, read_member

_PIECE = 1 << 16
_DOUBLE_SUFFIXES = {".tgz": ".tar", ".tbz2": ".tar", ".tbz": ".tar", ".txz": ".tar"}
_UTF8 = 0x800

# Counts bytes before they are kept, and raises an error beyond a bound.
_Count = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its name there, and its bytes or the problem that keeps it from being read."""

    name: str
    data: bytes = b""
    problem: DocumentError | None = None


class UnpackedBytes:
    """Counts what is unpacked from one archive, also through archives within it."""

    def __init__(self, packed: int, limit: int) -> None:
        self._limit = min(limit, max(ALWAYS_UNPACKED, MAX_RATIO * packed))
        self._packed, self._unpacked = packed, 0

    def count(self, size: int) -> None:
        """Counts bytes before they are kept. Raises DocumentError("unpacked") beyond the bound."""
        self._unpacked += size
        if self._unpacked > self._limit:
            raise DocumentError("unpacked", f"more than {self._limit} bytes out of an archive of {self._packed}")


class _Stream(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


def members(data: bytes, name: str, count: _Count, passwords: Sequence[str] = ()) -> Iterator[Member]:
    """Yields the files of an archive, without hidden ones and folders; their names are distinct.

    Raises DocumentError: broken, truncated, password if all are encrypted, unpacked, and what `count` raises.
    """
    kind = archive_kind(data)
    if kind == "ZIP archive":
        files = _zip_members(data, count, passwords)
    elif kind == "tar archive":
        files = _tar_members(data, count)
    elif kind == "7z archive":
        files = _seven_zipped(data, count, passwords)
    else:
        inside = _decompress(data, kind, count)
        if packed_kind(inside) == "tar archive":
            files = _tar_members(inside, count)
        else:
            files = iter([Member(_inner_name(name), inside)])
    names = DistinctNames()
    for number, one in enumerate(files):
        if number >= MAX_MEMBERS:
            raise DocumentError("unpacked", f"the archive holds more than {MAX_MEMBERS} files")
        yield Member(names.distinct(one.name), one.data, one.problem)


def all_members(data: bytes, name: str, count: _Count, passwords: Sequence[str] = ()) -> list[Member]:
    """Returns the files of an archive and of archives within it, named by their path inside.

    An archive within it that cannot be read is one member with a problem. Raises DocumentError as `members`, and empty.
    """
    files: list[Member] = []
    _walk(data, name, "", 1, count, passwords, files)
    if not files:
        raise DocumentError("empty", "the archive holds no files")
    # A folder may have the name of an archive beside it.
    names = DistinctNames()
    return [replace(one, name=names.distinct(one.name)) for one in files]


def _walk(
    data: bytes, name: str, above: str, depth: int, count: _Count, passwords: Sequence[str], files: list[Member]
) -> None:
    for one in members(data, name, count, passwords):
        path = above + one.name
        if one.problem is not None or not archive_kind(one.data):
            files.append(Member(path, one.data, one.problem))
        elif depth >= MAX_NESTING:
            problem = DocumentError("depth", f"archives lie within each other more than {MAX_NESTING} deep")
            files.append(Member(path, problem=problem))
        else:
            before = len(files)
            try:
                _walk(one.data, one.name, f"{path}/", depth + 1, count, passwords, files)
                if len(files) == before:
                    raise DocumentError("empty", "the archive holds no files")
            except DocumentError as problem:
                if problem.code == "unpacked":
                    raise
                del files[before:]
                files.append(Member(path, problem=problem))
        if len(files) > MAX_MEMBERS:
            raise DocumentError("unpacked", f"the archive holds more than {MAX_MEMBERS} files")


def _zip_members(data: bytes, count: _Count, passwords: Sequence[str]) -> Iterator[Member]:
    with open_zip(data) as archive:
        named = [(_zip_name(entry.filename, entry.flag_bits), entry) for entry in archive.infolist()]
        files = [(name, entry) for name, entry in named if not entry.filename.endswith("/") and not is_hidden(name)]
        opened = 0
        refused: list[tuple[str, DocumentError]] = []
        for name, entry in files:
            try:
                yield Member(name, read_member(archive, entry, count, passwords))
                opened += 1
            except DocumentError as error:
                if error.code == "unpacked":
                    raise
                # They come last, so that an archive of encrypted files alone is one problem.
                refused.append((name, error))
        if refused and not opened and all(problem.code == "password" for _, problem in refused):
            raise DocumentError("password", f"the archive is encrypted, and no password opens it: {PASSWORD_HELP}")
        for name, problem in refused:
            yield Member(name, problem=problem)


def _seven_zipped(data: bytes, count: _Count, passwords: Sequence[str]) -> Iterator[Member]:
    refused: list[Member] = []
    opened = 0
    for raw, content in seven_zip_members(data, count, passwords):
        name = member_name(raw)
        if is_hidden(name):
            continue
        if isinstance(content, bytes):
            opened += 1
            yield Member(name, content)
        else:
            refused.append(Member(name, problem=content))
    # As of a ZIP file: encrypted files alone are one problem.
    if refused and not opened and len({one.problem.code for one in refused if one.problem}) == 1:
        assert refused[0].problem is not None
        raise refused[0].problem
    yield from refused


def _zip_name(name: str, flags: int) -> str:
    if not flags & _UTF8:
        # Without the flag the charset is unknown; the library takes IBM's, and most writers write UTF-8.
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return member_name(name)


def _tar_members(data: bytes, count: _Count) -> Iterator[Member]:
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", errors="replace") as archive:
            for number, entry in enumerate(archive):
                name = member_name(entry.name)
                # The library keeps each header, also of folders.
                if number > 4 * MAX_MEMBERS:
                    raise DocumentError("unpacked", f"the archive lists more than {4 * MAX_MEMBERS} entries")
                if entry.isdir() or is_hidden(name):
                    continue
                file = archive.extractfile(entry) if entry.isreg() else None
                if file is None:
                    problem = DocumentError("not_a_file", "a link or a device in an archive, which is not followed")
                    yield Member(name, problem=problem)
                    continue
                pieces: list[bytes] = []
                while piece := file.read(_PIECE):
                    count(len(piece))
                    pieces.append(piece)
                whole = b"".join(pieces)
                if len(whole) < entry.size:
                    yield Member(name, problem=DocumentError("truncated", "the archive ends within the member"))
                else:
                    yield Member(name, whole)
    except tarfile.ReadError as error:
        raise DocumentError("broken", f"a damaged tar archive: {str(error)[:100]}") from error
    except (tarfile.TarError, ValueError, OSError, EOFError, OverflowError) as error:
        raise DocumentError("broken", f"a damaged tar archive: {type(error).__name__}") from error


def _decompress(data: bytes, kind: str, count: _Count) -> bytes:
    """Returns the bytes within a stream, or within several in a row."""
    pieces: list[bytes] = []
    view = memoryview(data)
    at = 0
    stream = _stream(kind)
    try:
        while True:
            fed = view[at : at + _PIECE]
            at += len(fed)
            piece = stream.decompress(bytes(fed), _PIECE)
            while True:
                count(len(piece))
                pieces.append(piece)
                # A stream holds back input until it is asked again.
                held = getattr(stream, "unconsumed_tail", b"")
                if stream.eof or not (held or (len(piece) == _PIECE)):
                    break
                piece = stream.decompress(held, _PIECE)
            if stream.eof:
                at -= len(stream.unused_data)
                # Other bytes behind a stream are padding.
                if packed_kind(bytes(view[at : at + 10])) == kind:
                    stream = _stream(kind)
                    continue
                return b"".join(pieces)
            if not fed:
                raise DocumentError("truncated", f"the end of the {kind} is missing")
    except (zlib.error, OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise DocumentError("broken", f"a damaged {kind}: {str(error)[:100]}") from error


def _stream(kind: str) -> _Stream:
    if kind == "bzip2 archive":
        return bz2.BZ2Decompressor()
    if kind == "xz archive":
        return lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
    return zlib.decompressobj(wbits=31)


def _inner_name(name: str) -> str:
    """Returns the name of the file within a compressed one: the same without its last suffix."""
    path = PurePosixPath(member_name(name))
    suffix = path.suffix.lower()
    if suffix in (".gz", ".bz2", ".xz", *_DOUBLE_SUFFIXES):
        return path.with_suffix(_DOUBLE_SUFFIXES.get(suffix, "")).name
    return path.name


def add_archive(reading: ParseContext, data: bytes) -> None:
    """Appends the files of an archive. Raises DocumentError: broken, truncated, password, unpacked."""
    builder = reading.builder
    bound = UnpackedBytes(len(data), MAX_UNPACKED)

    def count(size: int) -> None:
        reading.count(size)
        bound.count(size)

    for member in members(data, PurePath(reading.name).name, count, reading.settings.passwords):
        if builder.full:
            builder.flags.add("truncated")
            break
        builder.open("attachment", member.name)
        if member.problem is not None:
            builder.flags.add(f"attachment_{member.problem.code}")
        else:
            add_content(reading, member.data, member.name)
        builder.close()
    if reading.is_top and not builder.part_count:
        raise DocumentError("empty", "the archive holds no files")
