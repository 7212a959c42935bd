"""Documents as frames of bytes, which a parser process writes and its parent reads.

A frame is `MAGIC`, the lengths of its five sections as little-endian uint64, and the sections: a JSON head, the text in
UTF-8, the words' [W, 3] int32 (start, end, part), their [W, 4] float32 boxes, and the pictures one after the other. The
writer has read hostile bytes, so `unpack` trusts nothing and checks everything.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import orjson

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.document import Document, Fact, Part, PartKind, Picture, Places, Words
from cinnabar.extraction.documents.content.limits import MAX_CHARACTERS, MAX_PICTURE_BYTES
from cinnabar.extraction.documents.processes.serving import MAGIC
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.schemas.facts import FACTS, FactValue

HEADER = struct.Struct("<4s5Q")

# The parser's own limits, each with room for separators.
_MAX_TEXT = 4 * MAX_CHARACTERS + (1 << 20)
_MAX_WORDS = MAX_CHARACTERS
_LIMITS = (64 << 20, _MAX_TEXT, 12 * _MAX_WORDS, 16 * _MAX_WORDS, MAX_PICTURE_BYTES)


class BadFrame(ValueError):
    """The other side of the pipe wrote something that is not a frame; the message tells the fault."""


def pack(outcome: Document | DocumentError) -> list[bytes]:
    """Returns an outcome as the pieces of a frame, to be written one after the other."""
    if isinstance(outcome, DocumentError):
        head: dict[str, Any] = {"code": outcome.code, "detail": outcome.detail[:500]}
        return _frame(head)
    words = outcome.words
    head = {
        "digest": outcome.digest,
        "media_type": outcome.media_type,
        "size": outcome.size,
        "flags": list(outcome.flags),
        "metadata": outcome.metadata,
        "facts": {name: [fact.value, fact.spans] for name, fact in outcome.facts.items()},
        "parts": [
            [p.kind, p.start, p.end, p.name, p.page, p.width, p.height, p.parent, p.media_type] for p in outcome.parts
        ],
        "places": [outcome.places.start, outcome.places.label],
        "parsers": outcome.parsers,
        "pictures": [[picture.part, len(picture.data), picture.scale] for picture in outcome.pictures],
    }
    bounds = np.stack([words.start, words.end, words.part], axis=1).astype("<i4")
    boxes = np.ascontiguousarray(words.box, "<f4")
    pictures = b"".join(picture.data for picture in outcome.pictures)
    return _frame(head, outcome.text.encode("utf-8"), bounds.tobytes(), boxes.tobytes(), pictures)


def lengths(header: bytes) -> tuple[int, ...]:
    """Returns the lengths of the sections that follow a frame's header. Raises BadFrame if the header is malformed."""
    magic, *sizes = HEADER.unpack(header)
    if magic != MAGIC:
        raise BadFrame(f"expected {MAGIC!r} at the beginning of a frame, got {magic!r}")
    for size, limit in zip(sizes, _LIMITS, strict=True):
        if size > limit:
            raise BadFrame(f"a section of {size} bytes, at most {limit} are allowed")
    return tuple(sizes)


def unpack(
    path: str, head: bytes, text: bytes, bounds: bytes, boxes: bytes, pictures: bytes
) -> Document | DocumentError:
    """Returns the outcome in a frame's sections. Raises BadFrame if a correct parser could not have written it."""
    try:
        return _unpack(path, orjson.loads(head), text.decode("utf-8"), bounds, boxes, pictures)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise BadFrame(f"{type(error).__name__}: {str(error)[:200]}") from error


def _unpack(path: str, head: Any, text: str, bounds: bytes, boxes: bytes, pictures: bytes) -> Document | DocumentError:
    if "code" in head:
        if head["code"] not in UNREADABLE:
            raise BadFrame(f"unknown code {str(head['code'])[:40]!r}")
        return DocumentError(head["code"], str(head["detail"]))
    array = np.frombuffer(bounds, "<i4").reshape(-1, 3)
    box = np.frombuffer(boxes, "<f4").reshape(-1, 4)
    start, end, part = (np.ascontiguousarray(column) for column in array.T)
    parts = tuple(_part(index, entry, len(text)) for index, entry in enumerate(head["parts"]))
    _expect(len(box) == len(array), "as many boxes as words")
    _expect(len(text) <= MAX_CHARACTERS + (1 << 16), "a text within its limit")
    _expect("\x00" not in text, "no NUL in the text")
    if len(array):
        _expect(bool((start < end).all()), "words with a character")
        _expect(int(start[0]) >= 0 and int(end[-1]) <= len(text), "words within the text")
        _expect(bool((end[:-1] <= start[1:]).all()), "words that are sorted and disjoint")
        _expect(int(part.min()) >= 0 and int(part.max()) < len(parts), "words within known parts")
        first = np.array([p.start for p in parts])
        last = np.array([p.end for p in parts])
        _expect(bool(((first[part] <= start) & (end <= last[part])).all()), "words within their parts")
    metadata = {str(key): str(value) for key, value in head["metadata"].items()}
    digest = str(head["digest"])
    _expect(len(digest) == 64 and not set(digest) - set("0123456789abcdef"), "a SHA-256 in hex")
    return Document(
        digest=digest,
        path=path,
        media_type=str(head["media_type"]),
        size=int(head["size"]),
        text=text,
        parts=parts,
        words=Words(start, end, box, part),
        flags=tuple(sorted({str(flag) for flag in head["flags"]})),
        metadata=metadata,
        facts={name: _fact(name, entry, len(text)) for name, entry in head["facts"].items()},
        places=_places(head["places"], len(text)),
        pictures=tuple(_pictures(head["pictures"], pictures, len(parts))),
        parsers=tuple(sorted({str(parser) for parser in head["parsers"]})),
    )


def _fact(name: str, entry: list[Any], length: int) -> Fact:
    _expect(name in FACTS, "known facts")
    value, spans = entry
    kind = FACTS[name].kind
    several = isinstance(value, list)
    _expect(several == (kind in ("texts", "integers")), f"a list for a list of facts ({name})")
    wanted = int if kind in ("integer", "integers") else str
    values = value if several else [value]
    _expect(all(type(one) is wanted for one in values), f"values of the kind {kind} ({name})")
    if kind == "moment":
        # Cold start: a sixth of that of a parser, which only packs.
        from cinnabar.schemas.formats.formats import is_format

        _expect(is_format("date-time", str(value)), f"a moment ({name})")
    _expect(len(spans) in (0, len(values)), f"a span for each value ({name})")
    _expect(all(0 <= int(start) < int(end) <= length for start, end in spans), f"spans within the text ({name})")
    content: FactValue = tuple(value) if several else value
    return Fact(content, tuple((int(start), int(end)) for start, end in spans))


def _places(entry: list[Any], length: int) -> Places:
    start, label = (tuple(one) for one in entry)
    _expect(len(start) == len(label), "a name for each place")
    _expect(all(type(one) is int for one in start) and all(type(one) is str for one in label), "places with names")
    _expect(list(start) == sorted(start) and (not start or 0 <= start[0] <= start[-1] <= length), "sorted places")
    return Places(start, label)


def _pictures(entries: list[Any], pictures: bytes, parts: int) -> Iterator[Picture]:
    begin = 0
    for part, size, scale in entries:
        _expect(0 <= int(part) < parts and int(size) > 0 and float(scale) > 0, "pictures of known parts")
        yield Picture(int(part), pictures[begin : begin + int(size)], float(scale))
        begin += int(size)
    _expect(begin == len(pictures), "as many bytes as the pictures have")


def _part(index: int, entry: list[Any], length: int) -> Part:
    kind, start, end, name, page, width, height, parent, media_type = entry
    _expect(kind in get_args(PartKind), "a known kind of part")
    _expect(0 <= int(start) <= int(end) <= length, "parts within the text")
    _expect(-1 <= int(parent) < index, "parts after their parents")
    size = float(width), float(height)
    return Part(kind, int(start), int(end), str(name), int(page), *size, int(parent), str(media_type))


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise BadFrame(f"expected {what}")


def _frame(
    head: dict[str, Any], text: bytes = b"", bounds: bytes = b"", boxes: bytes = b"", pictures: bytes = b""
) -> list[bytes]:
    sections = [orjson.dumps(head), text, bounds, boxes, pictures]
    return [HEADER.pack(MAGIC, *map(len, sections)), *sections]
