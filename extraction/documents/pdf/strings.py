"""Reads the strings that pdfium returns in UTF-16 through a buffer."""

from __future__ import annotations

import ctypes
from typing import Any

# Bytes of one string that are read.
_MAX_BYTES = 1 << 20


def string_of(function: Any, *arguments: Any) -> str:
    """Returns the string that a function of pdfium writes into a buffer, its last two parameters; "" if none."""
    size = int(function(*arguments, None, 0))
    if size <= 2:
        return ""
    size = min(size, _MAX_BYTES)
    buffer = ctypes.create_string_buffer(size)
    written = int(function(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size))
    return buffer.raw[: min(written, size)].decode("utf-16-le", "replace").split("\0")[0]
