"""ZIP files: their members, unpacked piece by piece so that no size is believed, and the formats that they tell."""

from __future__ import annotations

import hashlib
import hmac
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_ZIP_ENTRIES
from cinnabar.extraction.documents.content.seven_zip import SEVEN_ZIP

_ENTRY = b"PK\x01\x02"
_PIECE = 1 << 16
# The decompressors of other methods give all that a piece of input holds, so the pieces are small.
_SMALL_PIECE = 1 << 12
_ENCRYPTED = 1
# The method of members under AES, and the extra field with their own.
_AES, _AES_FIELD, _HEADER = 99, 0x9901, 30


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Returns a ZIP file with its entries listed. Raises DocumentError: broken, unpacked."""
    if data.count(_ENTRY) > MAX_ZIP_ENTRIES:
        raise DocumentError("unpacked", f"the ZIP file lists more than {MAX_ZIP_ENTRIES} entries")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError, IndexError) as error:
        raise DocumentError("broken", f"a damaged ZIP file: {str(error)[:100]}") from error


def read_member(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, count: Callable[[int], None], passwords: Sequence[str] = ()
) -> bytes:
    """Returns the bytes of an entry, and calls `count` with each number of bytes before they are kept.

    Raises DocumentError: password, broken, unsupported; and what `count` raises.
    """
    locked = bool(entry.flag_bits & _ENCRYPTED)
    if locked and entry.compress_type == _AES:
        return _read_aes(archive, entry, count, passwords)
    for password in passwords if locked else [None]:
        try:
            return _read(archive, entry, count, password)
        except NotImplementedError as error:
            raise DocumentError("unsupported", f"a member is packed or encrypted in another way: {error}") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, LookupError, RuntimeError) as error:
            # A wrong password passes the check of one byte now and then; then the content is damaged.
            if not locked:
                raise DocumentError("broken", f"a damaged member: {str(error)[:100]}") from error
    raise DocumentError("password", "the member is encrypted")


def _read(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, count: Callable[[int], None], password: str | None
) -> bytes:
    size = _PIECE if entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else _SMALL_PIECE
    pieces: list[bytes] = []
    with archive.open(entry, pwd=None if password is None else password.encode()) as file:
        while piece := file.read(size):
            count(len(piece))
            pieces.append(piece)
    return b"".join(pieces)


def _read_aes(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, count: Callable[[int], None], passwords: Sequence[str]
) -> bytes:
    """Returns the bytes of an entry under AES. Raises DocumentError: password, broken, unsupported."""
    strength, method = _aes_field(entry.extra)
    assert archive.fp is not None
    try:
        archive.fp.seek(entry.header_offset)
        # The lengths of name and extra field stand at the end of the member's own header.
        lengths = struct.unpack("<2H", archive.fp.read(_HEADER)[26:])
        archive.fp.seek(sum(lengths), io.SEEK_CUR)
        data = archive.fp.read(max(0, entry.compress_size))
        opened = (opened_member(data, password, strength) for password in passwords)
        packed = next((one for one in opened if one is not None), None)
        if packed is None:
            raise DocumentError("password", "the member is encrypted")
        if method == zipfile.ZIP_STORED:
            count(len(packed))
            return packed
        if method != zipfile.ZIP_DEFLATED:
            raise DocumentError("unsupported", f"an encrypted member is packed by the method {method}")
        stream, pieces = zlib.decompressobj(-15), list[bytes]()
        while packed and not stream.eof:
            pieces.append(stream.decompress(packed, _PIECE))
            count(len(pieces[-1]))
            packed = stream.unconsumed_tail
        return b"".join(pieces)
    except (ValueError, OverflowError, OSError, struct.error, zlib.error) as error:
        raise DocumentError("broken", f"a damaged member: {str(error)[:100]}") from error


def _aes_field(extra: bytes) -> tuple[int, int]:
    """Returns the strength of a member under AES and the method that it is packed by, zeros if none is told."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == _AES_FIELD and size >= 7 and at + 11 <= len(extra):
            strength, method = struct.unpack_from("<BH", extra, at + 8)
            return int(strength), int(method)
        at += 4 + size
    return 0, 0


# Opens what AES encrypts in ZIP files: members of WinZip's AE-1 and AE-2.

# Bytes of the key for each strength of a ZIP member; the salt has half as many.
_STRENGTHS = {1: 16, 2: 24, 3: 32}
_ROUNDS, _VERIFIER, _SEAL = 1000, 2, 10
_BLOCK = 16


def opened_member(data: bytes, password: str, strength: int) -> bytes | None:
    """Returns the packed bytes of a ZIP member, None if the password is wrong or the member was changed.

    Raises ValueError for an unknown strength or missing bytes.
    """
    size = _STRENGTHS.get(strength, 0)
    if not size or len(data) < size // 2 + _VERIFIER + _SEAL:
        raise ValueError("an unknown strength, or too few bytes")
    salt, rest = data[: size // 2], data[size // 2 :]
    verifier, content, seal = rest[:_VERIFIER], rest[_VERIFIER:-_SEAL], rest[-_SEAL:]
    keys = hashlib.pbkdf2_hmac("sha1", password.encode(), salt, _ROUNDS, 2 * size + _VERIFIER)
    if keys[2 * size :] != verifier:
        return None
    if not hmac.compare_digest(hmac.digest(keys[size : 2 * size], content, "sha1")[:_SEAL], seal):
        return None
    return _counter_mode(content, keys[:size])


def _counter_mode(content: bytes, key: bytes) -> bytes:
    """Returns content under AES in counter mode, whose counter is little-endian here and begins at one."""
    # Cold start: few files are encrypted.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    blocks = -(-len(content) // _BLOCK)
    counters = np.zeros((blocks, 2), "<u8")
    counters[:, 0] = np.arange(1, blocks + 1)
    # Each counter is one block; in counter mode ECB is the cipher itself.
    pad = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters.tobytes())[: len(content)]
    return (np.frombuffer(content, np.uint8) ^ np.frombuffer(pad, np.uint8)).tobytes()


# A folder that only files of this format have, and the format's name.
_FOLDERS = (("word/", "Word document"), ("xl/", "Excel workbook"), ("ppt/", "PowerPoint presentation"))
# The beginning of the first member of OpenDocument and EPUB files.
_DECLARED = (
    ("application/vnd.oasis.opendocument.text", "OpenDocument text"),
    ("application/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet"),
    ("application/vnd.oasis.opendocument.presentation", "OpenDocument presentation"),
    ("application/epub+zip", "EPUB"),
)
_MAX_TYPE = 200


def archive_kind(data: bytes) -> str:
    """Returns the name of the format of an archive, "" for anything else."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        kind = zip_format(data)
        return kind if kind == "ZIP archive" else ""
    return packed_kind(data)


def packed_kind(data: bytes) -> str:
    """Returns the name of the format of an archive other than ZIP, of which the beginning is enough."""
    if data.startswith(b"\x1f\x8b\x08"):
        return "gzip archive"
    if data.startswith(b"BZh") and data[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2 archive"
    if data.startswith(b"\xfd7zXZ\x00"):
        return "xz archive"
    if data.startswith(SEVEN_ZIP):
        return "7z archive"
    return "tar archive" if data[257:262] == b"ustar" else ""


def zip_format(data: bytes) -> str:
    """Returns the name of the format of a ZIP file: an office file, or an archive."""
    try:
        archive = open_zip(data)
    except DocumentError as error:
        if error.code == "unpacked":
            raise
        return "ZIP archive"
    names = {plain_name(name) for name in archive.namelist()}
    if "mimetype" in names:
        declared = _declared_type(archive)
        for kind, name in _DECLARED:
            if declared.startswith(kind):
                return name
    if "[content_types].xml" in names:
        for folder, name in _FOLDERS:
            if any(one.startswith(folder) for one in names):
                return "binary Excel workbook" if "xl/workbook.bin" in names else name
    if "content.xml" in names and "meta-inf/manifest.xml" in names:
        return "OpenDocument text"
    if "meta-inf/container.xml" in names:
        return "EPUB"
    return "ZIP archive"


def _declared_type(archive: zipfile.ZipFile) -> str:
    name = next(one for one in archive.namelist() if plain_name(one) == "mimetype")
    try:
        with archive.open(name) as file:
            return file.read(_MAX_TYPE).decode("ascii", "replace").strip()
    # The library fails in several ways on damaged members.
    except Exception:
        return ""


def plain_name(name: str) -> str:
    """Returns a member's name to compare: without regard to case, and some writers use backslashes."""
    return name.replace("\\", "/").lstrip("/").lower()
