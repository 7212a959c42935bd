"""7z archives: py7zr reads them, in pieces that are counted before they are kept.

Folders packed by copying, LZMA, LZMA2, Deflate and bzip2 are read, with filters and with AES; PPMd and the filter BCJ2
are not.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Sequence
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
_START = 32
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
_Members = Iterator[tuple[str, bytes | DocumentError]]


@cache
def _library() -> Any:
    """Returns py7zr with our bounds of lists, dictionaries and keys, and with each key made once."""
    # Extra: `sevenzip`.
    import py7zr
    from py7zr import archiveinfo, compressor

    lists, folders = cast(Any, archiveinfo), cast(Any, compressor)
    lists.MAX_NUMFILES = lists.MAX_SUBSTREAMS = lists.MAX_NUMFOLDERS = MAX_7Z_ENTRIES
    lists.MAX_HEADER_SIZE = MAX_7Z_LIST
    # 0.3 s for a key; each folder of an archive asks for it.
    folders.calculate_key = lru_cache(maxsize=128)(folders.calculate_key)

    def bounded_decompressor(folder: Any, packed: int, reset: bool = False) -> Any:
        if folder.decompressor is None or reset:
            coders = [_limit_dictionary(coder, folder.get_unpack_size()) for coder in folder.coders]
            if sum(coder["method"] in _PACKED for coder in coders) > 1:
                raise DocumentError("unsupported", "a 7z archive packed twice: pack it as .zip")
            sizes, password = folder.unpacksizes, folder.password
            folder.decompressor = folders.SevenZipDecompressor(coders, packed, sizes, None, password, _FED)
        return folder.decompressor

    lists.Folder.get_decompressor = bounded_decompressor
    return py7zr


def seven_zip_members(data: bytes, count: _Count, passwords: Sequence[str]) -> _Members:
    """Yields the files of an archive: name, and bytes or problem.

    Raises DocumentError: broken, truncated, unsupported, password if the names are encrypted, and what `count` raises.
    """
    if EXTRAS["sevenzip"].missing_packages():
        raise DocumentError("unsupported", f"the content is a 7z archive; {install_line('sevenzip')} reads it")
    if len(data) < _START + sum(int.from_bytes(data[at : at + 8], "little") for at in (12, 20)):
        raise DocumentError("truncated", "the end of the 7z archive is missing, where its files are listed")
    archive, folders = _open(data, passwords)
    for folder, packed in folders:
        files = list(folder.files or ())
        try:
            contents: Sequence[bytes | DocumentError] = _unpack(packed, folder, files, count, passwords)
        except DocumentError as error:
            if error.code == "unpacked":
                raise
            contents = [error] * len(files)
        yield from zip((one.filename for one in files), contents, strict=True)
    # Of the entries without bytes some are files, the others folders.
    emptied = iter(archive.header.files_info.emptyfiles if archive.files else ())
    yield from ((one.filename, b"") for one in archive.files if one.emptystream and next(emptied, False))


def _open(data: bytes, passwords: Sequence[str]) -> tuple[Any, list[tuple[Any, bytes | None]]]:
    """Returns the archive with its list of files, and its folders with their packed bytes, None beyond the end.

    Raises DocumentError: broken, password, unpacked, unsupported.
    """
    for password in (None, *passwords):
        try:
            archive = _library().SevenZipFile(io.BytesIO(data), password=password)
            return archive, list(_folders(archive, data))
        except (DocumentError, MemoryError):
            raise
        except _library().exceptions.PasswordRequired:
            continue
        # The library fails in several ways on damaged lists, and on those that a wrong password opens.
        except Exception as error:
            if password is None:
                code = "unpacked" if "exceeds limit" in str(error) else "broken"
                raise DocumentError(code, f"the list of a 7z archive: {str(error)[:100]}") from error
    raise DocumentError("password", f"the 7z archive is encrypted, and no password opens it: {PASSWORD_HELP}")


def _folders(archive: Any, data: bytes) -> Iterator[tuple[Any, bytes | None]]:
    streams: Any = getattr(archive.header, "main_streams", None)
    stream = 0
    for folder in streams.unpackinfo.folders if streams else ():
        begin = archive.afterheader + streams.packinfo.packpos + streams.packinfo.packpositions[stream]
        packed = data[begin : begin + streams.packinfo.packsizes[stream]]
        yield folder, packed if len(packed) == streams.packinfo.packsizes[stream] else None
        stream += len(folder.packed_indices)


def _unpack(
    packed: bytes | None, folder: Any, files: Sequence[Any], count: _Count, passwords: Sequence[str]
) -> list[bytes | DocumentError]:
    """Returns the bytes of each file of a folder, or its problem.

    Raises DocumentError: truncated, password, broken, unsupported, as `count`.
    """
    if packed is None:
        raise DocumentError("truncated", "the 7z archive ends within a member")
    is_locked = any(coder["method"] == _AES for coder in folder.coders)
    for password in passwords if is_locked else [None]:
        folder.password, folder.decompressor = password, None
        try:
            contents = _decode(packed, folder, [one.uncompressed for one in files], count)
        except (DocumentError, MemoryError):
            raise
        # The library fails in several ways on damaged folders, and on those that a wrong password opens.
        except Exception as error:
            if not is_locked:
                raise DocumentError("broken", f"a damaged 7z archive: {str(error)[:100]}") from error
            continue
        sound = [one.crc32 in (None, zlib.crc32(piece)) for one, piece in zip(files, contents, strict=True)]
        if is_locked and sound[:1] == [False]:
            continue
        damaged = DocumentError("broken", "a damaged member of a 7z archive")
        return [piece if whole else damaged for piece, whole in zip(contents, sound, strict=True)]
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


def _decode(packed: bytes, folder: Any, sizes: Sequence[int], count: _Count) -> list[bytes]:
    stream, source = folder.get_decompressor(len(packed)), io.BytesIO(packed)
    contents = []
    for size in sizes:
        pieces, left, idle = list[bytes](), size, 0
        while left > 0:
            before = source.tell()
            piece = bytes(stream.decompress(source, min(left, _PIECE)))
            # A filter gives what it holds back when nothing is left to read.
            idle = 0 if piece or source.tell() > before else idle + 1
            if idle > len(folder.coders):
                raise ValueError("fewer bytes than were packed")
            count(len(piece))
            pieces.append(piece)
            left -= len(piece)
        contents.append(b"".join(pieces))
    return contents
