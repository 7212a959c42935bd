"""Removes a document from a labelled set: its drafts, its line in the truth, and the set's copy of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cinnabar.extraction.learning.truth import drafted_file, drafts_of, known_files, truth_lines, write_truths
from cinnabar.extraction.store.files import failures
from cinnabar.schemas.errors import UsageError


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
        raise UsageError(f"--set {folder}: expected a set with schema.json, as `cinnabar label` makes it")
    held = {name for name in known_files(folder) | _files(folder) if _is(folder / name, name, document, digests)}
    drafts = [path for path in drafts_of(folder) if drafted_file(path) in held]
    lines = truth_lines(folder)
    kept = [line for line in lines if line["file"] not in held]
    # The copy goes last, because its bytes tell which document this is.
    going = [*(path.with_suffix(".html") for path in drafts), *drafts, *(folder / name for name in sorted(held))]
    going = [path for path in going if path.is_file()]
    if not dry_run:
        with failures(f"{folder}: could not forget {document}"):
            if len(kept) < len(lines):
                write_truths(folder, kept)
            for path in going:
                path.unlink(missing_ok=True)
    removed = tuple(path.relative_to(folder).as_posix() for path in going)
    return ForgottenInSet(str(folder), removed, len(lines) - len(kept))


def _files(folder: Path) -> set[str]:
    """Returns the documents in the set's folder: all files but those that `label` and `truth` write."""
    own = {"schema.json", "truth.jsonl"}
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in names if name not in own and not name.startswith("drafts/")}


def _is(path: Path, name: str, document: str, digests: Collection[str]) -> bool:
    plain = os.path.normpath(document).lstrip("/")
    if name == plain or name.endswith(f"/{plain}") or os.path.realpath(path) == os.path.realpath(document):
        return True
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return digest in digests or (len(document) >= 4 and digest.startswith(document.casefold()))
