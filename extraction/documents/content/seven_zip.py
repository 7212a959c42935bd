"""7z archives: py7zr reads their lists and unpacks their folders, in pieces that are counted before they are kept.

Folders packed by copying, LZMA, LZMA2, Deflate and bzip2 are read, with filters and with AES; PPMd and the filter BCJ2
are not.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import (
    MAX_7Z_DICTIONARY,
    MAX_7Z_ENTRIES,
    MAX_7Z_KEY_POWER,
    MAX_7Z_LIST,
)
from cinnabar.extraction.documents.content.parse_context import PASSWORD_HELP
from cinnabar.extras import EXTRAS, install_line

#: The first bytes of such an archive.
SEVEN_ZIP = b"7z\xbc\xaf\x27\x1c"
_START, _PACKED_LIST = 32, b"\x17"
# Packed bytes that are unpacked at once: Deflate makes up to four megabytes of them, which are counted afterwards.
_FED, _PIECE = 1 << 12, 1 << 16
_AES, _LZMA, _LZMA2 = b"\x06\xf1\x07\x01", b"\x03\x01\x01", b"\x21"
# Besides those two: Deflate, bzip2.
_PACKED = {_LZMA, _LZMA2, b"\x04\x01\x08", b"\x04\x02\x02"}
# Copy, delta, and the filters of programs: x86, PowerPC, IA-64, ARM, ARM Thumb, SPARC.
_CHANGED = {
    b"\x00", b"\x03", b"\x03\x03\x01\x03", b"\x03\x03\x02\x05", b"\x03\x03\x04\x01", b"\x03\x03\x05\x01",
    b"\x03\x03\x07\x01", b"\x03\x03\x08\x05",
}  # fmt: skip

_Count = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A packed stream: py7zr's description of it, where its bytes are, and sizes and CRC-32 of the files in it."""

    described: Any
    begin: int
    end: int
    sizes: list[int]
    sums: list[int | None]


@cache
def _library() -> tuple[Any, Any]:
    """Returns py7zr's modules that read lists and folders, with our bounds set and each key made once."""
    # Extra: `sevenzip`.
    from py7zr import archiveinfo, compressor

    lists, folders = cast(Any, archiveinfo), cast(Any, compressor)
    lists.MAX_NUMFILES = lists.MAX_SUBSTREAMS = lists.MAX_NUMFOLDERS = MAX_7Z_ENTRIES
    # 0.3 s for a key; each folder of an archive asks for it.
    folders.calculate_key = lru_cache(maxsize=128)(folders.calculate_key)
    return lists, folders


def seven_zip_members(
    data: bytes, count: _Count, passwords: Sequence[str]
) -> Iterator[tuple[str, bytes | DocumentError]]:
    """Yields the files of an archive: name, and bytes or problem.

    Raises DocumentError: broken, truncated, unsupported, password if the names are encrypted, and what `count` raises.
    """
    if EXTRAS["sevenzip"].missing_packages():
        raise DocumentError("unsupported", f"the content is a 7z archive; {install_line('sevenzip')} reads it")
    try:
        folders, files = _list_files(data, count, passwords)
    except (DocumentError, MemoryError):
        raise
    # The library fails in several ways on damaged lists.
    except Exception as error:
        if "exceeds limit" in str(error):
            most = f"more than {MAX_7Z_ENTRIES} files or streams"
            raise DocumentError("unpacked", f"the 7z archive lists {most}") from error
        raise DocumentError("broken", f"a damaged 7z archive: {type(error).__name__}") from error
    named = (name for name, has_stream in files if has_stream)
    for folder in folders:
        problem: DocumentError | None = None
        content = b""
        try:
            content = _unpack(data, folder, count, passwords)
        except DocumentError as error:
            if error.code == "unpacked":
                raise
            problem = error
        for piece, has_sum in _files(content, folder):
            if problem is None and has_sum is False:
                yield next(named, ""), DocumentError("broken", "a damaged member of a 7z archive")
            else:
                yield next(named, ""), problem or piece
    yield from ((name, b"") for name, has_stream in files if not has_stream)


def _files(content: bytes, folder: _Folder) -> Iterator[tuple[bytes, bool | None]]:
    """Yields the bytes of each file of a folder, with True if they have the sum of the list, None if it has none."""
    at = 0
    for size, expected in zip(folder.sizes, folder.sums, strict=True):
        piece = content[at : at + size]
        yield piece, None if expected is None else zlib.crc32(piece) == expected
        at += size


def _list_files(data: bytes, count: _Count, passwords: Sequence[str]) -> tuple[list[_Folder], list[tuple[str, bool]]]:
    """Returns the folders, and the names of files, each with True if it has bytes in a folder."""
    begin, size = int.from_bytes(data[12:20], "little"), int.from_bytes(data[20:28], "little")
    raw = data[_START + begin : _START + begin + size]
    if len(data) < _START or len(raw) < size:
        raise DocumentError("truncated", "the end of the 7z archive is missing, where its files are listed")
    if size and zlib.crc32(raw) != int.from_bytes(data[28:32], "little"):
        raise ValueError("the list of files is damaged")
    while raw[:1] == _PACKED_LIST:
        (folder,) = _folders(_library()[0].HeaderStreamsInfo.retrieve(io.BytesIO(raw[1:])))
        if sum(folder.sizes) > MAX_7Z_LIST:
            raise DocumentError("unpacked", f"the 7z archive has a list of files of {sum(folder.sizes)} bytes")
        raw = _unpack(data, folder, count, passwords, is_list=True)
    return _parse_header(raw) if raw else ([], [])


def _parse_header(raw: bytes) -> tuple[list[_Folder], list[tuple[str, bool]]]:
    header = _library()[0].Header.retrieve(io.BytesIO(), io.BytesIO(raw), 0)
    files: list[tuple[str, bool]] = []
    if header.files_info is not None:
        # Of the entries without bytes some are files, the others folders.
        emptied = iter(header.files_info.emptyfiles)
        for entry in header.files_info.files:
            if not entry["emptystream"] or next(emptied, False):
                files.append((entry.get("filename", ""), not entry["emptystream"]))
    return _folders(header.main_streams) if header.main_streams is not None else [], files


def _folders(streams: Any) -> list[_Folder]:
    """Returns the folders of a description of streams."""
    packed, parts = streams.packinfo, streams.substreamsinfo
    folders: list[_Folder] = []
    stream = size_at = sum_at = 0
    for index, described in enumerate(streams.unpackinfo.folders):
        whole = described.get_unpack_size()
        number = parts.num_unpackstreams_folders[index] if parts is not None else 1
        if parts is None or parts.unpacksizes is None:
            sizes = [whole] * number
        else:
            sizes = parts.unpacksizes[size_at : size_at + number]
            # The library keeps a size of a folder without files too.
            size_at += max(1, number)
        sums: list[int | None] = [None] * number
        if parts is not None:
            known = parts.digestsdefined[sum_at : sum_at + number]
            given = parts.digests[sum_at : sum_at + number]
            sums = [one if is_known else None for one, is_known in zip(given, known, strict=True)]
            sum_at += number
        if len(sizes) != number or min(sizes, default=0) < 0 or sum(sizes) > whole:
            raise ValueError("files without sizes")
        begin = _START + packed.packpos + packed.packpositions[stream]
        folders.append(_Folder(described, begin, begin + packed.packsizes[stream], sizes, sums))
        stream += len(described.packed_indices)
    return folders


def _unpack(data: bytes, folder: _Folder, count: _Count, passwords: Sequence[str], is_list: bool = False) -> bytes:
    """Returns the bytes of a folder. Raises DocumentError: password, broken, truncated, unsupported, as `count`."""
    if folder.end > len(data):
        raise DocumentError("truncated", "the 7z archive ends within a member")
    described = folder.described
    coders = [_limit_dictionary(coder, described.get_unpack_size()) for coder in described.coders]
    if sum(coder["method"] in _PACKED for coder in coders) > 1:
        raise DocumentError("unsupported", "a 7z archive packed twice: pack it as .zip")
    is_locked = any(coder["method"] == _AES for coder in coders)
    for password in passwords if is_locked else [""]:
        try:
            content = _decode(data, folder, coders, count, password)
            if described.digestdefined and zlib.crc32(content) != described.crc:
                raise ValueError("other bytes than were packed")
            if is_locked and [known for _, known in _files(content, folder) if known is not None][:1] == [False]:
                raise ValueError("other bytes than were packed")
            if is_locked and is_list and content[:1] != _PACKED_LIST:
                # Some programs encrypt the list without a sum.
                _parse_header(content)
            return content
        except (DocumentError, MemoryError):
            raise
        # The library fails in several ways on damaged folders, and on those that a wrong password opens.
        except Exception as error:
            if not is_locked:
                raise DocumentError("broken", f"a damaged 7z archive: {str(error)[:100]}") from error
    raise DocumentError("password", f"the 7z archive is encrypted, and no password opens it: {PASSWORD_HELP}")


def _limit_dictionary(coder: dict[str, Any], size: int) -> dict[str, Any]:
    """Returns a coder whose dictionary has no more bytes than it needs for so many. Raises DocumentError: unsupported.

    The dictionary is allocated at once, and never reaches beyond the unpacked bytes.
    """
    method, properties = coder["method"], coder["properties"] or b""
    if method not in _PACKED | _CHANGED | {_AES} or coder["numinstreams"] != 1 or coder["numoutstreams"] != 1:
        raise DocumentError("unsupported", f"a 7z archive packed by the method {method.hex()}: pack it as .zip")
    needed = max(4096, min(size, MAX_7Z_DICTIONARY))
    if method == _LZMA:
        stated = int.from_bytes(properties[1:5], "little")
        properties = properties[:1] + min(stated, needed).to_bytes(4, "little")
    elif method == _LZMA2 and properties:
        # A dictionary has two or three times a power of two.
        least = next(code for code in range(41) if (2 | code & 1) << (code // 2 + 11) >= needed)
        properties = bytes([min(properties[0], least)])
    elif method == _AES and properties and MAX_7Z_KEY_POWER < properties[0] & 0x3F < 0x3F:
        raise DocumentError("unsupported", f"a 7z archive whose key takes 2**{properties[0] & 0x3F} hashes")
    return {**coder, "properties": properties or None}


def _decode(data: bytes, folder: _Folder, coders: list[dict[str, Any]], count: _Count, password: str) -> bytes:
    described, left = folder.described, folder.described.get_unpack_size()
    size = folder.end - folder.begin
    stream = _library()[1].SevenZipDecompressor(coders, size, described.unpacksizes, None, password, _FED)
    packed = io.BytesIO(data)
    packed.seek(folder.begin)
    pieces: list[bytes] = []
    idle = 0
    while left > 0:
        before = packed.tell()
        piece = stream.decompress(packed, min(left, _PIECE))
        # A filter gives what it holds back when nothing is left to read.
        idle = 0 if piece or packed.tell() > before else idle + 1
        if idle > len(coders):
            raise ValueError("fewer bytes than were packed")
        count(len(piece))
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
