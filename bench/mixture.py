"""Generation of many documents of the library's kinds, for measuring speed: marked samples and generated texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from training.generator.family import family_names, load_family
from training.generator.generator import generate

from cinnabar.errors import UsageError
from cinnabar.schemas.library import LIBRARY


@dataclass(frozen=True, slots=True)
class MixedDocument:
    """A file with bytes unlike those of all others. `kind` is a schema of the library."""

    kind: str
    name: str
    data: bytes


def mixed_documents(samples: Path, count: int, seed: int = 0) -> Iterator[MixedDocument]:
    """`count` documents, the kinds in turn; within a kind marked samples and generated texts alternate.

    No two have the same bytes, so none is skipped as a duplicate; the same seed gives the same documents. `samples`
    holds a set for each schema of the library. Raises UsageError if one is missing.
    """
    files = {kind: sorted((samples / kind / "docs").glob("*")) for kind in LIBRARY}
    for kind, found in files.items():
        if not found:
            raise UsageError(f"{samples / kind / 'docs'}: expected sample documents, found none")
    generated = {kind: generate(seed, _families(kind)) for kind in LIBRARY}
    kinds = list(LIBRARY)
    for number in range(count):
        kind, turn = kinds[number % len(kinds)], number // len(kinds)
        if turn % 2:
            text = f"{next(generated[kind]).text}\n\n{number}\n"
            yield MixedDocument(kind, f"{number:05}.txt", text.encode())
        else:
            path = files[kind][turn // 2 % len(files[kind])]
            yield MixedDocument(kind, f"{number:05}{path.suffix}", marked(path.read_bytes(), path.suffix, number))


def marked(data: bytes, suffix: str, number: int) -> bytes:
    """The same document in other bytes: a comment behind a PDF, a header in a mail, a line below a text."""
    if suffix == ".pdf":
        return data + f"\n% copy {number}\n".encode()
    if suffix == ".eml":
        return f"X-Copy: {number}\n".encode() + data
    return data + f"\n\n{number}\n".encode()


def _families(kind: str) -> list[str]:
    """The families of the generator that print documents of this schema."""
    model = LIBRARY[kind]
    return [name for name in family_names() if load_family(name).library == f"{model.__module__}:{model.__name__}"]
