"""What the head of a GGUF file says: its fields, and where its tensors lie.

Each length, count and place is compared with what is left of the file before anything is made of it, so a crafted file
takes no more memory than some times its size, and ends in one ModelError that names the byte.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.errors import ModelError

#: The kinds of values, by their numbers, as `struct` writes them; texts and lists stand apart.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
#: The values of all lists together; a vocabulary of 262,144 tokens with its merges has a million.
_MOST_VALUES = 4_000_000
#: The bytes that a field and a tensor take at least.
_LEAST_FIELD, _LEAST_TENSOR = 13, 24
#: The most dimensions of a tensor.
_DIMENSIONS = 4


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A tensor: its name, the name of its type, its shape from the slowest dimension on, and bytes [begin, end)."""

    name: str
    kind: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """The fields of a file by their names, and its tensors."""

    fields: dict[str, Any]
    tensors: list[GgufTensor]


def read_gguf(path: Path) -> GgufFile:
    """Returns what the head of a file says. Raises ModelError if it is none, or is damaged."""
    size = path.stat().st_size
    if size < _LEAST_TENSOR:
        raise ModelError(f"{path}: expected a GGUF file, and it has {size} bytes; fetch it again")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        head = _Head(path, data)
        if head.take(4, "the sign") != b"GGUF" or head.number("I", "the version") not in (2, 3):
            raise head.error("expected a GGUF file of version 2 or 3", at=0)
        tensors, fields = (head.number("Q", "a count") for _ in range(2))
        for what, count, least in (("fields", fields, _LEAST_FIELD), ("tensors", tensors, _LEAST_TENSOR)):
            if count * least > size:
                raise head.error(f"{count:,} {what}, more than {size:,} bytes hold", at=8)
        held: dict[str, Any] = {}
        for _ in range(fields):
            at, name = head.at, head.text("the name of a field")
            if name in held:
                raise head.error(f"the field {name!r:.80} comes twice", at)
            held[name] = head.value(head.number("I", f"the kind of {name!r:.80}"), f"{name!r:.80}")
        found = [*_tensors(head, tensors, held.get("general.alignment", 32))]
    return GgufFile(held, found)


def _tensors(head: _Head, count: int, alignment: Any) -> Iterator[GgufTensor]:
    # Extra: models.
    from gguf import GGML_QUANT_SIZES

    kinds = {kind.value: (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
        raise head.error(f"general.alignment: expected a power of two, found {alignment!r:.40}")
    told: dict[str, tuple[int, str, tuple[int, ...], int, int]] = {}
    for _ in range(count):
        at, name = head.at, head.text("the name of a tensor")
        dimensions = head.number("I", f"the dimensions of {name!r:.80}")
        if not 0 < dimensions <= _DIMENSIONS or name in told:
            raise head.error(f"the tensor {name!r:.80} comes twice, or has {dimensions} dimensions", at)
        shape = tuple(head.number("Q", f"the shape of {name!r:.80}") for _ in range(dimensions))
        kind, offset = head.number("I", f"the type of {name!r:.80}"), head.number("Q", f"the place of {name!r:.80}")
        if kind not in kinds:
            raise head.error(f"the tensor {name!r:.80} has the unknown type {kind}", at)
        title, values, size = kinds[kind]
        if 0 in shape or shape[0] % values or offset % alignment:
            raise head.error(f"the tensor {name!r:.80} of {title} has the shape {[*shape]} and the place {offset}", at)
        told[name] = at, title, shape[::-1], offset, math.prod(shape) // values * size
    start = -(-head.at // alignment) * alignment
    before, end = "", start
    for name, (at, _, _, offset, size) in sorted(told.items(), key=lambda one: one[1][3]):
        begin = start + offset
        if begin < end:
            raise head.error(f"the tensor {name!r:.80} lies over {before!r:.80}", at)
        before, end = name, begin + size
        if end > head.size:
            raise head.error(f"the tensor {name!r:.80} ends at {end:,}, and the file has {head.size:,} bytes", at)
    for name, (_, title, shape, offset, size) in told.items():
        yield GgufTensor(name, title, shape, start + offset, start + offset + size)


class _Head:
    """Reads the head of a file from its beginning; `at` is the next byte."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.at, self.size = 0, len(data)
        self._path, self._data, self._values = path, data, 0

    def error(self, problem: str, at: int | None = None) -> ModelError:
        place = self.at if at is None else at
        return ModelError(f"{self._path}: byte {place:,}: {problem}; the GGUF file is damaged, fetch it again")

    def take(self, count: int, what: str) -> bytes:
        if count > self.size - self.at:
            raise self.error(f"{what} takes {count:,} bytes, and the file has {self.size - self.at:,} more")
        self.at += count
        return self._data[self.at - count : self.at]

    def number(self, kind: str, what: str) -> Any:
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}"), what))[0]

    def text(self, what: str) -> str:
        at, raw = self.at, self.take(self.number("Q", what), what)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.error(f"{what} is no UTF-8: {error}", at) from error

    def value(self, kind: int, what: str) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind], what)
        if kind == _TEXT:
            return self.text(what)
        if kind != _LIST:
            raise self.error(f"{what} has the unknown kind {kind}")
        at, inner, count = self.at, self.number("I", what), self.number("Q", what)
        self._values += count
        if self._values > _MOST_VALUES or (inner not in _SCALARS and inner != _TEXT):
            raise self.error(f"{what} is a list of {count:,} values of the kind {inner}, which is not read", at)
        if inner == _TEXT:
            return [self.text(what) for _ in range(count)]
        form = _SCALARS[inner]
        return list(struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize(f"<{form}"), what)))
