"""ZIP files: their members, unpacked piece by piece so that no size is believed."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence

from cinnabar.schemas.errors import DocumentError

# Entries that a file may list; each takes half a kilobyte of memory before the first one is read.
_MAX_ENTRIES = 200_000
_ENTRY = b"PK\x01\x02"
_PIECE = 1 << 16
# The decompressors of other methods give all that a piece of input holds, so the pieces are small.
_SMALL_PIECE = 1 << 12
_ENCRYPTED = 1


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Returns a ZIP file with its entries listed. Raises DocumentError: broken, unpacked."""
    if data.count(_ENTRY) > _MAX_ENTRIES:
        raise DocumentError("unpacked", f"the ZIP file lists more than {_MAX_ENTRIES} entries")
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
    for password in passwords if locked else [None]:
        try:
            return _read(archive, entry, count, password)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, LookupError) as error:
            # A wrong password passes the check of one byte now and then; then the content is damaged.
            if not locked:
                raise DocumentError("broken", f"a damaged member: {str(error)[:100]}") from error
        except NotImplementedError as error:
            raise DocumentError("unsupported", f"a member is packed or encrypted in another way: {error}") from error
        except RuntimeError as error:
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
