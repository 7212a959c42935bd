"""Writes corrected drafts into `truth.jsonl` and reports those that the schema refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.reading.records.validation import Validator, exact, pointer
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True, slots=True)
class DraftProblem:
    """The reason why a draft is refused: its file in the set, the line, the place in the record, and a message."""

    draft: str
    line: int
    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.draft}:{self.line}: {self.pointer + ': ' if self.pointer else ''}{self.message}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The drafts of a set by result (taken, not checked yet, wrong), and the lines of its truth afterwards."""

    taken: int
    waiting: tuple[str, ...]
    problems: tuple[DraftProblem, ...]
    lines: int


def accept(folder: Path) -> Accepted:
    """Writes the checked drafts of a set into its truth; if one is wrong it writes none.

    Truths of documents without a draft stay. Raises UsageError if the folder is not a set with drafts.
    """
    if not (folder / "schema.json").is_file() or not drafts_of(folder):
        raise UsageError(
            f"{folder}: expected a set with schema.json and drafts, as `cinnabar label` makes it"
        )
    validator = Validator(load_schema(folder / "schema.json"))
    taken: dict[str, dict[str, Any]] = {}
    drafted: dict[str, str] = {}
    waiting: list[str] = []
    problems: list[DraftProblem] = []
    for path in drafts_of(folder):
        name = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        own = list(_problems(folder, name, text, validator))
        problems += own
        if own:
            continue
        draft = json.loads(text)
        file = draft["file"]
        if file in drafted:
            problems.append(
                DraftProblem(name, line_of(text, "/file"), "", f"{drafted[file]} is a draft of {file} too")
            )
        drafted[file] = name
        if draft["checked"]:
            taken[file] = {k: draft[k] for k in ("file", "truth", "also_accepted") if k in draft}
        else:
            waiting.append(name)
    kept = [line for line in truth_lines(folder) if line["file"] not in drafted]
    lines = [*kept, *taken.values()]
    if not problems and lines:
        write_truths(folder, lines)
    return Accepted(len(taken), tuple(waiting), tuple(problems), len(lines))


def drafts_of(folder: Path) -> list[Path]:
    """Returns the drafts of a set, in order."""
    return sorted((folder / "drafts").glob("*.json"))


def known_files(folder: Path) -> set[str]:
    """Returns the documents of a set that have a truth or a draft; a malformed draft counts by its `file` entry."""
    known = {line["file"] for line in truth_lines(folder)}
    return known | {file for path in drafts_of(folder) if (file := drafted_file(path)) is not None}


def drafted_file(draft: Path) -> str | None:
    """Returns the document of a draft by its `file` entry, also of a malformed draft; None if it has none."""
    match = re.search(r'"file":\s*("(?:[^"\\]|\\.)*")', draft.read_text(encoding="utf-8", errors="replace"))
    return None if match is None else str(json.loads(match[1]))


def write_truths(folder: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Replaces the truth of a set in one step."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    temporary = folder / "truth.jsonl.tmp"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / "truth.jsonl")


def line_of(text: str, place: str) -> int:
    """Returns the line, from 1, where the value at this JSON pointer begins, or the nearest value around it."""
    at, best = 1, -1
    for path, offset in _values(text):
        here = pointer(path)
        if f"{place}/".startswith(f"{here}/") and len(here) > best:
            at, best = text.count("\n", 0, offset) + 1, len(here)
    return at


def _values(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Yields the place of every value in a valid JSON text, and the offset where it begins."""
    # The next step in each open container: a key that was read, None before a key, or an index.
    path: list[str | int | None] = []
    objects: list[bool] = []
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in "}]":
            path.pop()
            objects.pop()
        elif mark == ",":
            path[-1] = None if objects[-1] else int(path[-1] or 0) + 1
        elif mark == ":":
            continue
        elif objects and objects[-1] and path[-1] is None:
            path[-1] = json.loads(mark)
        else:
            yield tuple(step for step in path if step is not None), token.start()
            if mark in "{[":
                objects.append(mark == "{")
                path.append(None if objects[-1] else 0)


def _problems(folder: Path, name: str, text: str, validator: Validator) -> Iterator[DraftProblem]:
    try:
        exact(text)
        draft = json.loads(text)
    except json.JSONDecodeError as error:
        yield DraftProblem(name, error.lineno, "", f"not JSON: {error.msg} (column {error.colno})")
        return
    except (ValueError, RecursionError) as error:
        yield DraftProblem(name, 1, "", f"expected JSON, got {error}")
        return
    if not isinstance(draft, dict) or not isinstance(draft.get("file"), str) or "truth" not in draft:
        yield DraftProblem(name, 1, "", "expected an object with file, checked and truth")
        return
    if not isinstance(draft.get("checked"), bool):
        yield DraftProblem(name, line_of(text, "/checked"), "", 'expected "checked": true or false')
        return
    file = draft["file"]
    if not (folder / file).is_file():
        yield DraftProblem(name, line_of(text, "/file"), "", f"there is no file {file} in the set")
    if draft["checked"]:
        for violation in validator.check(json.dumps(draft["truth"])):
            line = line_of(text, f"/truth{violation.pointer}")
            yield DraftProblem(name, line, violation.pointer, violation.message)


def truth_lines(folder: Path) -> list[dict[str, Any]]:
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
