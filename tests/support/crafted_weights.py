"""Files of weights and texts that somebody crafted: each differs from a whole one in one place."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cinnabar.engine.models.language import gguf_file

#: What stands in the place of a number: the least and greatest of its kinds, and some beside the right one.
EXTREMES = (
    0,
    1,
    7,
    255,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
ODD: tuple[Any, ...] = (*EXTREMES, -1, -(1 << 63), 1.5, 1e308, float("inf"), None, True, "x", [], {}, [[]], "\ud800")
ODD += (10**400,)


def places_of_numbers(path: Path) -> list[tuple[int, int]]:
    """Where the numbers of a GGUF file's head stand, each with its bytes."""
    places: list[tuple[int, int]] = []
    number = gguf_file._Head.number

    def noted(own: Any, kind: str, what: str) -> Any:
        at = own.at
        value = number(own, kind, what)
        places.append((at, own.at - at) if own.at - at in (4, 8) else (at, 1))
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf_file._Head, "number", noted)
        gguf_file.read_gguf(path)
    return places


def crafted_gguf(whole: bytes, places: list[tuple[int, int]], at: int) -> bytes:
    """One of many files: a number changed, bytes changed, cut, doubled."""
    drawn = random.Random(at)
    place, size = places[at] if at < 3 else drawn.choice(places)
    if at % 5 < 3:
        value = drawn.choice(EXTREMES) % (1 << 8 * size)
        return whole[:place] + value.to_bytes(size, "little") + whole[place + size :]
    if at % 5 == 3:
        cut = drawn.choice((drawn.randrange(len(whole)), drawn.randrange(64), place + drawn.randrange(9)))
        return whole[:cut] + (drawn.randbytes(drawn.randrange(99)) if at % 2 else b"")
    begin = drawn.choice((place, place + size, drawn.randrange(places[-1][0])))
    return whole[:begin] + b"\xff" * drawn.choice((1, 4, 9)) + whole[begin + drawn.choice((0, 1, 4, 9)) :]


def odd_leaf(content: Any, drawn: random.Random) -> None:
    """Puts something odd in the place of a part of a JSON value."""
    part = content
    while True:
        key = drawn.choice(list(part) if isinstance(part, dict) else range(len(part)))
        if not isinstance(part[key], dict | list) or not part[key] or drawn.random() < 0.2:
            break
        part = part[key]
    part[key] = drawn.choice(ODD)


def crafted_json(text: str, at: int) -> bytes:
    """One of many texts: a part changed, named twice, deep, no UTF-8, cut."""
    drawn = random.Random(at)
    raw = text.strip().encode()
    if at % 8 == 0:
        return (b"[" * 200_000, b'{"a":' * 50_000, raw[: drawn.randrange(len(raw))], raw + b"}")[at // 8 % 4]
    if at % 8 == 1:
        place = raw.index(b'"', drawn.randrange(len(raw) // 2)) + 1
        return raw[:place] + b"\xff\xfe" + raw[place:]
    if at % 8 == 2 and raw.startswith(b"{"):
        return raw[:-1] + b"," + raw[1:]
    content = json.loads(text)
    odd_leaf(content, drawn)
    return json.dumps(content).encode()


def crafted_safetensors(whole: bytes, at: int) -> bytes:
    """One of many files: the header changed, or its length, or the file cut."""
    drawn = random.Random(at)
    length = int.from_bytes(whole[:8], "little")
    header, data = whole[8 : 8 + length], whole[8 + length :]
    if at % 10 == 0:
        return drawn.choice(EXTREMES).to_bytes(8, "little") + header + data
    if at % 10 == 1:
        return whole[: drawn.choice((drawn.randrange(len(whole)), drawn.randrange(16)))]
    changed = crafted_json(header.decode(), at)
    return len(changed).to_bytes(8, "little") + changed + data


Craft = Callable[[int], bytes]
