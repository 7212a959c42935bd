"""Encrypted office files (MS-OFFCRYPTO): opened with the passwords of the run, then read as what they are."""

from __future__ import annotations

import io

from cinnabar.extraction.ingest.formats import content_format
from cinnabar.extraction.ingest.reading import Reading
from cinnabar.schemas.errors import DocumentError

# Excel encrypts read-only workbooks with it, so that everyone can open them.
_KNOWN = "VelvetSweatshop"


def add_encrypted(reading: Reading, data: bytes) -> None:
    """Appends an encrypted office file. Raises DocumentError: password if none of the passwords opens it, broken."""
    # The library imports much, and few files need it.
    import msoffcrypto
    from msoffcrypto.exceptions import InvalidKeyError

    # The whole content is decrypted in memory.
    reading.count(len(data))
    try:
        file = msoffcrypto.OfficeFile(io.BytesIO(data))
        for password in (*reading.settings.passwords, _KNOWN):
            opened = io.BytesIO()
            try:
                file.load_key(password=password, verify_password=True)
                file.decrypt(opened)
            except InvalidKeyError:
                continue
            break
        else:
            raise DocumentError("password", "the office file is encrypted, and no password opens it")
    except DocumentError:
        raise
    # The library fails in several ways on damaged files.
    except Exception as error:
        raise DocumentError("broken", f"an encrypted office file: {type(error).__name__}") from error
    inside = opened.getvalue()
    content_format(inside, reading.name).reader()(reading, inside)
