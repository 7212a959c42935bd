"""ZIP files: their members, unpacked piece by piece so that no size is believed, and the formats that they tell."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.limits import MAX_ZIP_ENTRIES
from cinnabar.extraction.documents.content.parse_context import PASSWORD_HELP

_ENTRY = b"PK\x01\x02"
_PIECE = 1 << 16
# The decompressors of other methods give all that a piece of input holds, so the pieces are small.
_SMALL_PIECE = 1 << 12
# The bit of an encrypted member, and the method of one under AES.
_ENCRYPTED, _AES = 1, 99


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
        raise DocumentError("unsupported", "encrypted by AES: unpack it first, or pack it as .zip with ZipCrypto")
    for password in passwords if locked else [None]:
        try:
            return _read(archive, entry, count, password)
        except NotImplementedError as error:
            raise DocumentError("unsupported", f"a member is packed or encrypted in another way: {error}") from error
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, LookupError, RuntimeError) as error:
            # A wrong password passes the check of one byte now and then; then the content is damaged.
            if not locked:
                raise DocumentError("broken", f"a damaged member: {str(error)[:100]}") from error
    raise DocumentError("password", f"it is encrypted, and no password opens it: {PASSWORD_HELP}")


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


# A folder that only files of this format have, and the format's name.
_FOLDERS = (("word/", "Word document"), ("xl/", "Excel workbook"), ("ppt/", "PowerPoint presentation"))
# The beginning of the first member of OpenDocument files and books: the format, or in words what it is.
_BOOK = "a book (EPUB): save it as .html or .pdf"
_DECLARED = (
    ("application/vnd.oasis.opendocument.text", "OpenDocument text"),
    ("application/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet"),
    ("application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation: save it as .pptx or .pdf"),
    ("application/vnd.oasis.opendocument.graphics", "an OpenDocument drawing: save it as .pdf"),
    ("application/epub+zip", _BOOK),
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
    return "tar archive" if data[257:262] == b"ustar" else ""


def zip_format(data: bytes) -> str:
    """Returns the name of the format of a ZIP file, of an office file or an archive, or in words what else it is."""
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
        return _BOOK
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
