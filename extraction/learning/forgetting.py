"""Removes a document from a labelled set: its line in the truth, and the set's copy of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.errors import UsageError
from cinnabar.extraction.store.files import failures, write_bytes


@dataclass(frozen=True, slots=True)
class ForgottenInSet:
    """The removed files of a set, relative to it, and the number of removed lines of its truth."""

    folder: str
    files: tuple[str, ...]
    truths: int


def forget_in_set(
    folder: Path, document: str, digests: Collection[str] = (), *, dry_run: bool = False
) -> ForgottenInSet:
    """Removes this document from a labelled set, or only finds what would be removed.

    It is known by its path in the set, by the end of that path from a `/` on, or by its bytes: the beginning (at least
    4 digits) of their SHA-256, or one of `digests`. Raises UsageError if the folder is not a set.
    """
    if not (folder / "schema.json").is_file():
        raise UsageError(f"--set {folder}: expected a labelled set, a folder with schema.json")
    lines = _truth_lines(folder)
    known = {line["file"] for line in lines} | _files(folder)
    held = {name for name in known if _is(folder / name, name, document, digests)}
    kept = [line for line in lines if line["file"] not in held]
    going = [path for name in sorted(held) if (path := folder / name).is_file()]
    if not dry_run:
        with failures(f"{folder}: could not forget {document}"):
            # The copy goes last, because its bytes tell which document this is.
            if len(kept) < len(lines):
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
                write_bytes(folder / "truth.jsonl", text.encode())
            for path in going:
                path.unlink(missing_ok=True)
    removed = tuple(path.relative_to(folder).as_posix() for path in going)
    return ForgottenInSet(str(folder), removed, len(lines) - len(kept))


def _files(folder: Path) -> set[str]:
    """Returns the documents in the set's folder: all files but its schema and its truth."""
    own = {"schema.json", "truth.jsonl"}
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in names if name not in own}


def _truth_lines(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of a set's truth. Raises UsageError if one is malformed."""
    path = folder / "truth.jsonl"
    if not path.is_file():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except ValueError as error:
        raise UsageError(f"{path}: expected one JSON object a line: {error}") from error
    for line in lines:
        if not isinstance(line, dict) or not isinstance(line.get("file"), str):
            raise UsageError(f"{path}: expected an object with file and truth a line, got {json.dumps(line)}")
    return lines


def _is(path: Path, name: str, document: str, digests: Collection[str]) -> bool:
    plain = os.path.normpath(document).lstrip("/")
    if name == plain or name.endswith(f"/{plain}") or os.path.realpath(path) == os.path.realpath(document):
        return True
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return digest in digests or (len(document) >= 4 and digest.startswith(document.casefold()))
