"""Encrypted office files (MS-OFFCRYPTO): opened with the passwords of the run, then read as what they are."""

from __future__ import annotations

import io

from cinnabar.extraction.documents.content.formats import content_format
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.content.settings import PASSWORD_HELP
from cinnabar.schemas.errors import DocumentError

# Excel encrypts read-only workbooks with it, so that everyone can open them.
_KNOWN = "VelvetSweatshop"


def add_encrypted(reading: ParseContext, data: bytes) -> None:
    """Appends an encrypted office file. Raises DocumentError: password if none of the passwords opens it, broken."""
    inside = decrypt(reading, data)
    reading.read(content_format(inside, reading.name).reader(), inside)


def decrypt(reading: ParseContext, data: bytes) -> bytes:
    """Returns an encrypted office file without its encryption. Raises DocumentError: password, broken, unpacked."""
    # Cold start: the library imports much, and few files need it.
    import msoffcrypto
    from msoffcrypto.exceptions import InvalidKeyError

    # The whole content is decrypted in memory.
    reading.count(len(data))
    try:
        file = msoffcrypto.OfficeFile(io.BytesIO(data))
        for password in (*reading.settings.passwords, _KNOWN):
            opened = io.BytesIO()
            try:
                # Files of before 2007 know no other time for the test of a password.
                check = {"verify_password": True} if file.format == "ooxml" else {}
                file.load_key(password=password, **check)
                file.decrypt(opened)
            except InvalidKeyError:
                continue
            return opened.getvalue()
    # The library fails in several ways on damaged files.
    except Exception as error:
        raise DocumentError("broken", f"an encrypted office file: {type(error).__name__}") from error
    raise DocumentError("password", f"the office file is encrypted, and no password opens it: {PASSWORD_HELP}")
