"""Tells a path of this machine from the address of a store elsewhere, which a path would silently make a folder of."""

from __future__ import annotations

import re
from pathlib import PurePath

from cinnabar.schemas.errors import UsageError

# A scheme with nothing behind the colon, as the first part of a path, or a store's scheme with anything behind it. A
# single letter is a drive of Windows.
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:|(?:s3|s3a|s3n|gs|gcs|az|abfss?|wasbs?|adl|hdfs|oss|r2|minio|https?|s?ftp|ssh|smb|file):.*",
    re.I | re.S,
)


def check_local(path: str | PurePath, option: str = "--out") -> None:
    """Raises UsageError if this is an address, such as s3://bucket/x, and no path of this machine."""
    first, *rest = PurePath(path).parts or ("",)
    if _ADDRESS.fullmatch(first) is None:
        return
    behind = "/".join(rest)
    if first.casefold() == "file:":
        raise UsageError(f"{option} {first}///{behind}: expected a path without file:, such as /{behind or 'tables'}")
    shown = f"{first}//{behind}" if first.endswith(":") else str(path)  # a path has lost one of the two strokes
    raise UsageError(
        f"{option} {shown}: expected a path of this machine, got an address; write here, and copy the result there"
    )
