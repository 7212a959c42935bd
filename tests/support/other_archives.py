"""Archives that other programs wrote: 7z in its ways of packing, and ZIP under AES. The password is `open sesame`."""

from __future__ import annotations

import base64
import struct
import zlib

#: Each holds `a/x.txt` ("words of x"), `grün.txt` ("äöü") and an empty file.
SEVEN_ZIPS: dict[str, bytes] = {
    name: base64.b64decode(text)
    for name, text in {
        "lzma2": (
            "N3q8ryccAASGmaJOkwAAAAAAAAAVAAAAAAAAAPx+WvcBABF3b3JkcyBvZiB4CsOkw7bDvAoA4ACaAHVdAACBMweuD89dLwwHsMPa"
            "KtdYZKyzeM5U3aaNkbZqlAVA3vQ/8xJBfyNATWdX/xQbAXg8Yxr2QJccHLJxM6bYQI4eTzdtgNc7mFUaz6WARuej7iIf/tcSlTFv"
            "uHQpmKcafM6BQsVc2eYD4H6zUwLiCuJ6pAAAAAAXBhYBCX0ABwsBAAEhIQEYDICbAAA="
        ),
        "lzma": (
            "N3q8ryccAARYw2JpnAAAAAAAAAAVAAAAAAAAAFd/OtAAO5vKqtSwUnPCg7zV0I7XEohuAYq7/7v//2BsAADgAJ4Adl0AAIEzB64P"
            "z+swFA/r6p4BDWIDjdNJSlO4WxygdoQaxN1wiHi5iJTrenECKKOUp5/WLYXxevH1bIa0zGZwA5x/i/WNG0XNTbpIx1BcyWn6yKUh"
            "KJisJTqV8tseRApMdwftFRAV1bJCRgR1Br8iJxn9hUQ1JAAAAAAXBh4BCX4ABwsBAAEhIQEYDICfAAA="
        ),
        "delta": (
            "N3q8ryccAATMVgD0lAAAAAAAAAAVAAAAAAAAANJim9kBABF3+APyD61P97pYkrnhH/MN+U4A4ACeAHZdAACBMweuD89dLwwHsMPa"
            "Ktc62t41hZsRQAe7FQDdCG9DzGYXUQFqMkbFU42lr61W1ZcBhtnxshnSibClG75jKAZY3JUbSRDtl8zkyS8EffHyhDuLasoOH/Hg"
            "HsPTW+/GExDP73txVh1Ik32Js0JLC4cPMyoAAAAAFwYWAQl+AAcLAQABISEBGAyAnwAA"
        ),
        "bzip2": (
            "N3q8ryccAASDu27fswAAAAAAAAAVAAAAAAAAAAj4a1ZCWmg5MUFZJlNZ3jMV6gAABVGcABBAAAUAmMAEAAEECAAgACKYDICAaAMI"
            "kCipL79c3hdyRThQkN4zFergAJIAb10AAIEzB64P0bZyEKCQoHJD1LHihdtg8o8AWzZCfq8IYCOdMX8YKCDtG4DatE/iNggZmBpt"
            "o9VHqYuZAPha+wCnPsZa3ghq/F4N0Bgln5K0PyeZ2APq2YQVk4W0nNVHeWfNYPpoaQMdvjcDzydgAAAAABcGPAEJdwAHCwEAASEh"
            "ARgMgJMAAA=="
        ),
        "deflate": (
            "N3q8ryccAASh2dO6iQAAAAAAAAAVAAAAAAAAAPq27v4rzy9KKVbIT1Oo4Dq85PC2w3u4AOAAkgBtXQAAgTMHrg/PObAMB8hDbALX"
            "hToeSnZXmLGfL4bxH2O5pw7ZFbitxGWuctY2FWQpcshMniv/iLX/ZnUJVWyad4OW5o888htHdqzEeqhdC3g53TPV3xxGofsTzUGX"
            "rA/LOsKRKOAR6dOsTkalAAAAABcGFAEJdQAHCwEAASEhARgMgJMAAA=="
        ),
        "copy": (
            "N3q8ryccAASvxK66hgAAAAAAAAAVAAAAAAAAAKSEU8p3b3JkcyBvZiB4CsOkw7bDvArgAJYAbF0AAIEzB64PzxYxDAfIRA/b+Kxf"
            "HO0VIAmhARpL5/GjpUTCmG10HjgwjjFEIf5TTs5CboKPI/lWjg/xAP7ixUQC9uIzyh5CN1HqhRICE30b+XlEzRRLwhQ5EKH7yJ6a"
            "IQOgNGYvqt7zI22oAAAAABcGEgEJdAAHCwEAASEhARgMgJcAAA=="
        ),
        "ppmd": (
            "N3q8ryccAASGmaJOkgAAAAAAAAAVAAAAAAAAAG3vMlkAdvZZcR2CGbdTLGvw5yq6zOd0W9EA4ACaAHRdAACBMweuD89dLwwHyEOA"
            "g4LiwAQskCbH9BpkYFTM0Ijbv/eJisFNb+ts3duYFsC1t27iVlHUO0ppG8UtfcKPv2SXmuHctwWT8AX+OlfHhDd/NKqGqXdIF/18"
            "JH/ewCrfsJy5t1JqZtyp0NzQzFOZRkDAAAAAABcGFgEJfAAHCwEAASEhARgMgJsAAA=="
        ),
        "aes": (
            "N3q8ryccAATDFwa3ugAAAAAAAAAWAAAAAAAAAMBUvaRk/A4rh0xTK/LKl7W2zQ4RgbZcd1/XBXt39ObjU2zEmOAAtgCSXQAAgTMH"
            "rg/QDv4P3nWkOhmvKmc5R4PH6mThFqttpm6XBqWH0aCWs0+HtVyVyNqNBTDgMwMV+lgmLkYfJ4LxNWDl1bcCmt91Hqd+So6Ra/W0"
            "3e/OA4VL3h65QpMT9IGLP1S9aH1T4+XPvMB7XcJHPPswA5njDerDvXFJCFfWCYl4Fo5ndwKo2FwAg0aX1LQ1EAAAAAAXBiABCYCa"
            "AAcLAQABISEBGAyAtwAA"
        ),
        "names": (
            "N3q8ryccAAQOK7bJ4AAAAAAAAAAqAAAAAAAAAOJmHTNtvtz3Oat5C6uPSjlLCrSqHcD2j2miYz7HrLB9Gvb7fmKpluGEBPS5CcfX"
            "D5Buk5/ddCIzOqr62pEmZhEnXN48rjQfMtDrDUqN4dITZf6IQOwQhJBIkS8looUjbncaJ8oYH7ehk4IHdOlLGLlabUWJEWMw6LRo"
            "fAmeY+Lm5J4h9B9i7uU8ydDXG7p83G3Vp0rLHsbHFOMvGj0p6rKpcCYc/wJJsg74zPGDelMQSdsiMiVX3mabGpzxDfaf5oN+2BbW"
            "aCWfOpqUnL2iclAtpQNnDl7pxaHmkTsIrAFyl6k6bxcGIAEJgMAABwsBAAEkBvEHARJTD4d+IM/iQfGmsZHevgDI8WoMgLcAAA=="
        ),
    }.items()
}
#: Holds `x.txt` ("words of x"), deflated, under AES-256.
AES_ZIP = base64.b64decode(
    "UEsDBBQAAQBjAKCzdl0AAAAAKQAAAAsAAAAFAAsAeC50eHQBmQcAAgBBRQMIAJt5xb0MSx5nKVaNuY1QcUXaS+8MuUKiu9vXYQGj"
    "1KuMeuaBlRWVYUItUEsBAhQDFAABAGMAoLN2XQAAAAApAAAACwAAAAUACwAAAAAAAAAAAIABAAAAAHgudHh0AZkHAAIAQUUDCABQ"
    "SwUGAAAAAAEAAQA+AAAAVwAAAAAA"
)


def packed_by_hand(packed: bytes, method: bytes, size: int, files: int = 1) -> bytes:
    """A 7z archive of one folder, packed by a method without properties, whose list says what it is told to."""
    stated = b"\xff" + size.to_bytes(8, "little")
    coder = b"\x01" + bytes([len(method)]) + method
    streams = b"\x06\0\x01\x09\xff" + len(packed).to_bytes(8, "little") + b"\0\x07\x0b\x01\0" + coder
    header = b"\x01\x04" + streams + b"\x0c" + stated + b"\0\x08\0\0"
    header += b"\x05\xff" + files.to_bytes(8, "little") + b"\0" * files + b"\0"
    start = struct.pack("<QQL", len(packed), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(start)) + start + packed + header
