"""7z archives: a bounded reader of their headers and folders, with the decompressors of Python's own library.

Folders packed by copying, LZMA, LZMA2, Deflate and bzip2 are read, with filters and with AES; PPMd and the filter BCJ2
are not.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cinnabar.extraction.documents.content.encryption import opened_stream, seven_zip_key
from cinnabar.extraction.documents.content.settings import PASSWORD_HELP
from cinnabar.schemas.errors import DocumentError

#: The first bytes of such an archive.
SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"
_START = 32
# Folders, streams and files that a header may list, and bytes of a header that is packed.
_MAX_LISTED, _MAX_HEADER = 200_000, 64 << 20
_MAX_DICTIONARY, _PIECE = 256 << 20, 1 << 16
_AES, _COPY, _LZMA, _LZMA2, _DELTA = b"\x06\xf1\x07\x01", b"\x00", b"\x03\x01\x01", b"\x21", b"\x03"
_DEFLATE, _BZIP2 = b"\x04\x01\x08", b"\x04\x02\x02"
_FILTERS = {
    b"\x03\x03\x01\x03": lzma.FILTER_X86, b"\x04": lzma.FILTER_X86, b"\x03\x03\x02\x05": lzma.FILTER_POWERPC,
    b"\x03\x03\x04\x01": lzma.FILTER_IA64, b"\x03\x03\x05\x01": lzma.FILTER_ARM,
    b"\x03\x03\x07\x01": lzma.FILTER_ARMTHUMB, b"\x03\x03\x08\x05": lzma.FILTER_SPARC,
}  # fmt: skip
_cached_key = lru_cache(maxsize=128)(seven_zip_key)

_Count = Callable[[int], None]


@dataclass(slots=True)
class _Folder:
    """A packed stream: coders with their properties, from the packed bytes on, and the sizes of the files in it.

    sums: CRC-32 of each file, None where there is none.
    """

    coders: list[tuple[bytes, bytes]]
    sizes: list[int]
    crc: int | None = None
    packed: tuple[int, int] = (0, 0)
    files: list[int] = field(default_factory=list)
    sums: list[int | None] = field(default_factory=list)

    @property
    def locked(self) -> bool:
        return any(method == _AES for method, _ in self.coders)


class _Header:
    """Reads the numbers and bytes of a header, one after the other. Raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise IndexError("the header ends")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self) -> int:
        """Returns a number of 1 to 9 bytes; the leading ones of the first byte tell how many follow."""
        first, value = self.byte(), 0
        for index in range(8):
            if not first & (0x80 >> index):
                return value | (first & ((0x80 >> index) - 1)) << 8 * index
            value |= self.byte() << 8 * index
        return value

    def count(self) -> int:
        """Returns a number of things. Raises DocumentError("unpacked") if they are too many."""
        number = self.number()
        if number > _MAX_LISTED:
            raise DocumentError("unpacked", f"the 7z archive lists more than {_MAX_LISTED} files or streams")
        return number

    def rest(self) -> bytes:
        return self._data[self._at :]

    def bits(self, count: int) -> list[bool]:
        packed = self.take(-(-count // 8))
        return [bool(packed[index // 8] & (0x80 >> index % 8)) for index in range(count)]

    def sums(self, count: int) -> list[int | None]:
        known = [True] * count if self.byte() else self.bits(count)
        return [int.from_bytes(self.take(4), "little") if one else None for one in known]


def seven_zip_members(
    data: bytes, count: _Count, passwords: Sequence[str]
) -> Iterator[tuple[str, bytes | DocumentError]]:
    """Yields the files of an archive: name, and bytes or problem.

    Raises DocumentError: broken, truncated, unsupported, password if the names are encrypted, and what `count` raises.
    """
    try:
        folders, files = _listed(data, count, passwords)
    except (IndexError, ValueError, OverflowError, UnicodeError) as error:
        raise DocumentError("broken", f"a damaged 7z archive: {type(error).__name__}") from error
    held = iter(files)
    for folder in folders:
        problem: DocumentError | None = None
        content = b""
        try:
            content = _unpacked(data, folder, count, passwords)
        except DocumentError as error:
            if error.code == "unpacked":
                raise
            problem = error
        at = 0
        for size, expected in zip(folder.files, folder.sums, strict=True):
            piece = content[at : at + size]
            at += size
            name = next((name for name, has_stream in held if has_stream), "")
            if problem is None and expected is not None and zlib.crc32(piece) != expected:
                yield name, DocumentError("broken", "a damaged member of a 7z archive")
            else:
                yield name, problem or piece
    yield from ((name, b"") for name, has_stream in files if not has_stream)


def _listed(data: bytes, count: _Count, passwords: Sequence[str]) -> tuple[list[_Folder], list[tuple[str, bool]]]:
    """Returns the folders, and the names of files, each with True if it has bytes in a folder."""
    begin, size = int.from_bytes(data[12:20], "little"), int.from_bytes(data[20:28], "little")
    raw = data[_START + begin : _START + begin + size]
    if len(data) < _START or len(raw) < size:
        raise DocumentError("truncated", "the end of the 7z archive is missing, where its files are listed")
    if size and zlib.crc32(raw) != int.from_bytes(data[28:32], "little"):
        raise ValueError("the list of files is damaged")
    while raw and raw[0] == 0x17:
        header = _Header(raw[1:])
        (folder,) = _streams(header)
        if folder.sizes[-1] > _MAX_HEADER:
            raise DocumentError("unpacked", f"the 7z archive has a list of files of {folder.sizes[-1]} bytes")
        raw = _unpacked(data, folder, count, passwords, _is_list)
    return _parsed(raw) if raw else ([], [])


def _is_list(raw: bytes) -> bool:
    """Returns True if these bytes list files; some programs encrypt the list without a sum."""
    try:
        return raw[:1] == b"\x17" or bool(_parsed(raw))
    except (IndexError, ValueError, OverflowError, DocumentError):
        return False


def _parsed(raw: bytes) -> tuple[list[_Folder], list[tuple[str, bool]]]:
    header = _Header(raw)
    if header.byte() != 1:
        raise ValueError("no header")
    folders: list[_Folder] = []
    files: list[tuple[str, bool]] = []
    while kind := header.byte():
        if kind == 4:
            folders = _streams(header)
        elif kind == 5:
            files = _files(header)
        elif kind == 2:
            while header.byte():
                header.take(header.number())
        else:
            raise DocumentError("unsupported", f"a 7z archive with an unknown section {kind}")
    return folders, files


def _streams(header: _Header) -> list[_Folder]:
    """Returns the folders of a description of streams."""
    folders: list[_Folder] = []
    position, packed = 0, list[int]()
    while kind := header.byte():
        if kind == 6:
            position, streams = header.number(), header.count()
            while part := header.byte():
                if part == 9:
                    packed = [header.number() for _ in range(streams)]
                elif part == 10:
                    header.sums(streams)
        elif kind == 7:
            folders = _folders(header)
        elif kind == 8:
            _substreams(header, folders)
        else:
            raise ValueError(f"unknown streams {kind}")
    if len(packed) < len(folders):
        raise ValueError("a folder without its stream")
    begin = _START + position
    for folder, size in zip(folders, packed, strict=False):
        folder.packed = begin, begin + size
        begin += size
        if not folder.files and not folder.sums:
            folder.files, folder.sums = [folder.sizes[-1]], [folder.crc]
    return folders


def _folders(header: _Header) -> list[_Folder]:
    if header.byte() != 11:
        raise ValueError("folders expected")
    number = header.count()
    if header.byte():
        raise ValueError("folders elsewhere")
    folders: list[_Folder] = []
    orders: list[list[int]] = []
    for _ in range(number):
        coders, order = _coders(header)
        folders.append(_Folder(coders, []))
        orders.append(order)
    while part := header.byte():
        if part == 12:
            for folder, order in zip(folders, orders, strict=True):
                sizes = [header.number() for _ in order]
                folder.sizes = [sizes[index] for index in order]
        elif part == 10:
            for folder, crc in zip(folders, header.sums(number), strict=True):
                folder.crc = crc
    if any(len(folder.sizes) != len(folder.coders) for folder in folders):
        raise ValueError("a folder without sizes")
    return folders


def _coders(header: _Header) -> tuple[list[tuple[bytes, bytes]], list[int]]:
    """Returns the coders of a folder from the packed bytes on, and their numbers in the file.

    Raises DocumentError("unsupported") for a coder with several streams.
    """
    coders: list[tuple[bytes, bytes]] = []
    for _ in range(min(header.count(), 32)):
        flags = header.byte()
        method = header.take(flags & 15)
        if flags & 0x10 and (header.number(), header.number()) != (1, 1):
            raise DocumentError("unsupported", "a 7z archive packed with BCJ2: pack it as .zip")
        coders.append((method, header.take(header.number()) if flags & 0x20 else b""))
    # Pairs of the coder that reads and the one that gives; no other coder gives to that of the packed bytes.
    pairs = [(header.number(), header.number()) for _ in coders[1:]]
    reader_of = {giver: taker for taker, giver in pairs}
    order = [index for index in range(len(coders)) if index not in reader_of.values()][:1]
    while order and order[-1] in reader_of and len(order) < len(coders):
        order.append(reader_of[order[-1]])
    if sorted(order) != list(range(len(coders))) or not coders:
        raise ValueError("coders without an order")
    return [coders[index] for index in order], order


def _substreams(header: _Header, folders: Sequence[_Folder]) -> None:
    numbers = [1] * len(folders)
    kind = header.byte()
    if kind == 13:
        numbers = [header.count() for _ in folders]
        if sum(numbers) > _MAX_LISTED:
            raise DocumentError("unpacked", f"the 7z archive lists more than {_MAX_LISTED} files")
        kind = header.byte()
    for folder, number in zip(folders, numbers, strict=True):
        sizes = [header.number() for _ in range(number - 1)] if kind == 9 else []
        folder.files = [*sizes, max(0, folder.sizes[-1] - sum(sizes))] if number else []
        folder.sums = [None] * number
        if len(folder.files) != number:
            raise ValueError("files without sizes")
    if kind == 9:
        kind = header.byte()
    while kind:
        if kind != 10:
            raise ValueError(f"unknown substreams {kind}")
        known = [folder for folder in folders if len(folder.files) == 1 and folder.crc is not None]
        for folder in known:
            folder.sums = [folder.crc]
        left = [folder for folder in folders if folder not in known]
        sums = iter(header.sums(sum(len(folder.files) for folder in left)))
        for folder in left:
            folder.sums = [next(sums) for _ in folder.files]
        kind = header.byte()


def _files(header: _Header) -> list[tuple[str, bool]]:
    """Returns the files of the list without folders."""
    number = header.count()
    names: list[str] = []
    empty, is_file = [False] * number, list[bool]()
    while kind := header.byte():
        part = _Header(header.take(header.number()))
        if kind == 14:
            empty = part.bits(number)
        elif kind == 15:
            is_file = part.bits(sum(empty))
        elif kind == 17:
            if part.byte():
                raise ValueError("names elsewhere")
            names = part.rest().decode("utf-16-le", "replace").split("\0")
    files: list[tuple[str, bool]] = []
    emptied = iter(is_file)
    for index in range(number):
        name = names[index] if index < len(names) else ""
        if not empty[index]:
            files.append((name, True))
        elif next(emptied, False):
            files.append((name, False))
    return files


def _unpacked(
    data: bytes,
    folder: _Folder,
    count: _Count,
    passwords: Sequence[str],
    is_right: Callable[[bytes], bool] | None = None,
) -> bytes:
    """Returns the bytes of a folder; `is_right` tells what a right password gives.

    Raises DocumentError: password, broken, truncated, unsupported; and what `count` raises.
    """
    begin, end = folder.packed
    if end > len(data):
        raise DocumentError("truncated", "the 7z archive ends within a member")
    for password in passwords if folder.locked else [""]:
        try:
            content = data[begin:end]
            for (method, properties), size in zip(folder.coders, folder.sizes, strict=True):
                content = _decoded(content, method, properties, size, count, password)
            if len(content) < folder.sizes[-1] or (folder.crc is not None and zlib.crc32(content) != folder.crc):
                raise ValueError("other bytes than were packed")
            if folder.locked and not (_has_sum(content, folder) if is_right is None else is_right(content)):
                raise ValueError("other bytes than were packed")
            return content
        except (lzma.LZMAError, zlib.error, OSError, EOFError, ValueError, IndexError) as error:
            if not folder.locked:
                raise DocumentError("broken", f"a damaged 7z archive: {str(error)[:100]}") from error
    raise DocumentError("password", f"the 7z archive is encrypted, and no password opens it: {PASSWORD_HELP}")


def _has_sum(content: bytes, folder: _Folder) -> bool:
    """Returns True if the first file with a sum has it, or none has one."""
    at = 0
    for size, expected in zip(folder.files, folder.sums, strict=True):
        if expected is not None:
            return zlib.crc32(content[at : at + size]) == expected
        at += size
    return True


def _decoded(data: bytes, method: bytes, properties: bytes, size: int, count: _Count, password: str) -> bytes:
    """Returns what a coder makes of its input, no more than `size` bytes."""
    if method == _COPY:
        return data[:size]
    if method == _AES:
        return opened_stream(data, *_key(properties, password))[:size]
    if method == _DEFLATE:
        return _inflated(zlib.decompressobj(-15), data, size, count)
    if method == _BZIP2:
        return _inflated(bz2.BZ2Decompressor(), data, size, count)
    if method in (_LZMA, _LZMA2):
        stream = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[_lzma(method, properties, size)])
        return _inflated(stream, data, size, count)
    if method in _FILTERS or method == _DELTA:
        chosen: dict[str, Any] = {"id": _FILTERS.get(method, lzma.FILTER_DELTA)}
        if method == _DELTA:
            chosen["dist"] = properties[0] + 1
        return _filtered(data, chosen)
    raise DocumentError("unsupported", f"a 7z archive packed by the method {method.hex()}: pack it as .zip")


def _key(properties: bytes, password: str) -> tuple[bytes, bytes]:
    """Returns key and start of a stream under AES."""
    first = properties[0]
    second = properties[1] if first & 0xC0 else 0
    salt = (first >> 7 & 1) + (second >> 4) if first & 0xC0 else 0
    start = (first >> 6 & 1) + (second & 15) if first & 0xC0 else 0
    if len(properties) < 2 * bool(first & 0xC0) + salt + start:
        raise ValueError("a key without its salt")
    key = _cached_key(password, properties[2 : 2 + salt], first & 0x3F)
    return key, properties[2 + salt : 2 + salt + start].ljust(16, b"\0")[:16]


def _lzma(method: bytes, properties: bytes, size: int) -> dict[str, Any]:
    if method == _LZMA2:
        bits = properties[0]
        stated = 0xFFFFFFFF if bits >= 40 else (2 | bits & 1) << (bits // 2 + 11)
        return {"id": lzma.FILTER_LZMA2, "dict_size": _dictionary(stated, size)}
    packed, stated = properties[0], int.from_bytes(properties[1:5], "little")
    chosen = {"id": lzma.FILTER_LZMA1, "dict_size": _dictionary(stated, size)}
    return chosen | {"lc": packed % 9, "lp": packed // 9 % 5, "pb": packed // 45}


def _dictionary(stated: int, size: int) -> int:
    # It is allocated at once, and never reaches beyond the unpacked bytes.
    return max(4096, min(stated, size, _MAX_DICTIONARY))


def _inflated(stream: Any, data: bytes, size: int, count: _Count) -> bytes:
    pieces: list[bytes] = []
    left, view, at = size, memoryview(data), 0
    held = b""
    while left > 0 and not stream.eof:
        fed = held or bytes(view[at : at + _PIECE])
        at += 0 if held else len(fed)
        piece = stream.decompress(fed, min(left, _PIECE))
        held = getattr(stream, "unconsumed_tail", b"")
        if not piece and not fed:
            break
        count(len(piece))
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _filtered(data: bytes, chosen: dict[str, Any]) -> bytes:
    """Returns bytes with a filter undone; LZMA2 without compression carries them to it."""
    plain = bytearray()
    for at in range(0, len(data), _PIECE):
        piece = data[at : at + _PIECE]
        plain += (1 if at == 0 else 2).to_bytes(1) + (len(piece) - 1).to_bytes(2, "big") + piece
    plain += b"\0"
    filters = [chosen, {"id": lzma.FILTER_LZMA2, "dict_size": 4096}]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters).decompress(bytes(plain))
