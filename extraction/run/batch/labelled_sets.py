"""Reads labelled sets: folders of documents with their truth, and of their documents the text.

A set is a folder with `schema.json`, `truth.jsonl`, its documents, and optionally `score.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import OpenedInput

#: A line of a set's truth: {"file": …, "truth": record, "also_accepted": {top-level field: other right values}}.
Truth = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A folder of documents with their truth; file names are relative to `folder`."""

    name: str
    folder: Path
    truths: tuple[Truth, ...]
    schema: dict[str, Any]
    options: dict[str, bool]

    def select(self, files: Iterable[str] | None = None, limit: int | None = None) -> LabelledSet:
        """Returns the set with these files only, and at most `limit` of them."""
        wanted = None if files is None else set(files)
        kept = [line for line in self.truths if wanted is None or line["file"] in wanted]
        return LabelledSet(self.name, self.folder, tuple(kept[:limit]), self.schema, self.options)


def load_set(folder: Path) -> LabelledSet:
    """Returns the set in this folder: `schema.json`, `truth.jsonl`, its documents, and optionally `score.json`.

    Raises UsageError if a file is missing or malformed.
    """
    schema = _read_json(folder / "schema.json")
    options = _read_json(folder / "score.json") if (folder / "score.json").exists() else {}
    if not isinstance(options, dict) or set(options) - {"zero_is_null"}:
        raise UsageError(f"{folder / 'score.json'}: expected an object with zero_is_null and nothing else")
    truths = []
    for number, text in enumerate(_read(folder / "truth.jsonl").split("\n"), 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            file, _ = line["file"], line["truth"]
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{folder / 'truth.jsonl'}, line {number}: expected an object with file and truth ({error!r})"
            ) from error
        also = line.get("also_accepted")
        if not isinstance(file, str) or not isinstance(also, dict | None):
            raise UsageError(
                f"{folder / 'truth.jsonl'}, line {number}: expected a text as file, and an object by "
                f"top-level field as also_accepted if present, got {json.dumps(file)} and "
                f"{json.dumps(also)}"
            )
        if not (folder / file).is_file():
            raise UsageError(f"{folder / 'truth.jsonl'}, line {number}: there is no file {file} in {folder}")
        truths.append(line)
    return LabelledSet(folder.resolve().name, folder, tuple(truths), schema, options)


def find_sets(folder: Path) -> list[LabelledSet]:
    """Returns the set in this folder, or the sets in its folders by name. Raises UsageError if there is none."""
    if (folder / "truth.jsonl").is_file():
        return [load_set(folder)]
    folders = sorted(path.parent for path in folder.glob("*/truth.jsonl"))
    if not folders:
        raise UsageError(
            f"{folder}: expected a folder with truth.jsonl and schema.json, or a folder of such folders"
        )
    return [load_set(path) for path in folders]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _read_json(path: Path) -> Any:
    try:
        return orjson.loads(_read(path))
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error


def mark_of(file: str) -> str:
    """Returns the mark by which a fine-tuned model's folder names a training document of a set."""
    return hashlib.sha256(f"own:{file}".encode()).hexdigest()[:16]


def read_set(labelled: LabelledSet, pool: ParserPool) -> Iterator[OpenedInput]:
    """Yields the parsed documents of a set, with their names in it."""
    files = {labelled.folder / line["file"]: line["file"] for line in labelled.truths}
    for path, outcome in pool.parse_many(files):
        yield OpenedInput(files[path], getattr(outcome, "digest", ""), outcome)
