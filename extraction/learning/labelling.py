"""Makes a labelled set from a folder of documents: a model drafts records, which a person corrects."""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cinnabar.engine.filler import Filler
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import expand
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.learning.drafts import Draft, file_name
from cinnabar.extraction.learning.predicting import BATCH
from cinnabar.extraction.learning.truth import drafts_of, known_files
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS, RunOptions
from cinnabar.extraction.reading.checks.checks import Checks
from cinnabar.extraction.reading.pipeline import Job, Read, run_batch
from cinnabar.extraction.reading.progress import Progress, Silent
from cinnabar.extraction.reading.records.validation import Validator
from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.reading.texts import read_schema, schema_text

# Parser processes.
_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Drafted:
    """Counts of new drafts, their fields and their fields to look at, and the reasons of unread documents.

    `before` counts the documents that already had a draft or a truth.
    """

    documents: int
    fields: int
    doubts: int
    before: int
    unread: Mapping[str, str]


def label(
    paths: Sequence[Path],
    source: SchemaSource,
    out: Path,
    filler: Filler,
    count: int,
    progress: Progress | None = None,
    options: RunOptions = DEFAULT_OPTIONS,
) -> Drafted:
    """Drafts the records of at most `count` documents into the set `out`, which it creates if needed.

    A draw by file name picks the same documents in every run. It copies them into the set unless they lie there, and
    leaves older drafts as they are. Of `options` the limits of a document count. Raises UsageError if `out` is a set of
    another schema.
    """
    progress = progress or Silent()
    if any(path.resolve() == out.resolve() for path in paths):
        raise UsageError(
            f"{out}: expected documents to draw from, such as {out / 'docs'}, got the set itself"
        )
    within = any(path.resolve().is_relative_to(out.resolve()) for path in paths)
    named = dict(_names(expand(paths, None if within else out), paths, out))
    _prepare(out, source)
    known = known_files(out)
    waiting = sorted(
        (path for path in named if named[path] not in known), key=lambda path: _draw(named[path])
    )
    progress.begin(min(count, len(waiting)))
    compiled = compile_schema(source.schema)
    limits = options.max_tokens, options.max_seconds
    job = Job(
        compiled, filler, Validator(source), "guess", None, 0.0, None, *limits, checks=Checks(source, compiled)
    )
    drafts: list[Draft] = []
    unread: dict[str, str] = {}
    with ParserPool(_WORKERS, max_tokens=options.max_tokens, settings=parser_settings(options)) as pool:
        parsed = pool.parse_many(waiting)
        # Unreadable documents do not count towards `count`.
        while batch := list(islice(parsed, min(BATCH, count - len(drafts)))):
            reads = [Read(named[path], getattr(found, "digest", ""), found) for path, found in batch]
            outcomes = run_batch(reads, job).outcomes
            for read, outcome in zip(reads, outcomes, strict=True):
                if outcome.record is None or not isinstance(read.found, Document):
                    unread[outcome.path] = f"{outcome.code}: {outcome.detail}"
                else:
                    drafts.append(Draft.of(read.path, read.found, outcome.record))
            progress.advance(outcomes)
    drafts.sort(key=lambda draft: draft.confidence)
    _write(out, drafts, {name: path for path, name in named.items()})
    return Drafted(
        documents=len(drafts),
        fields=sum(len(draft.fields) for draft in drafts),
        doubts=sum(draft.doubts for draft in drafts),
        before=len(named) - len(waiting),
        unread=unread,
    )


def _prepare(out: Path, source: SchemaSource) -> None:
    """Creates the set's folder with its schema."""
    path = out / "schema.json"
    wanted: Any = read_schema(schema_text(source.schema))
    if path.exists():
        try:
            there = read_schema(path.read_text(encoding="utf-8"))
        except ValueError:
            there = None
        if there != wanted:
            raise UsageError(
                f"--out {out}: holds a set of another schema; expected {source.name} or a new folder"
            )
        return
    try:
        (out / "drafts").mkdir(parents=True, exist_ok=True)
        path.write_text(schema_text(wanted, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {out}: expected a folder that can be written: {error.strerror}") from error


def _names(files: Sequence[Path], roots: Sequence[Path], out: Path) -> Iterator[tuple[Path, str]]:
    """Yields each file with its name in the set: its own place if it lies there, else a place below `docs`.

    A number is added if another document, in the set or among these files, has the name.
    """
    taken: set[str] = set()
    for path in files:
        if path.resolve().is_relative_to(out.resolve()):
            yield path, path.resolve().relative_to(out.resolve()).as_posix()
            continue
        root = next((r for r in roots if r.is_dir() and path.is_relative_to(r)), path.parent)
        name = Path("docs") / path.relative_to(root)
        number = 2
        while name.as_posix() in taken or _is_another(out / name, path):
            name, number = name.with_stem(f"{name.stem.removesuffix(f'-{number - 1}')}-{number}"), number + 1
        taken.add(name.as_posix())
        yield path, name.as_posix()


def _is_another(there: Path, path: Path) -> bool:
    """Returns True if this place in the set holds a document other than `path`."""
    try:
        return there.is_file() and not filecmp.cmp(there, path, shallow=False)
    except OSError:  # the reader reports an unreadable file later
        return False


def _draw(name: str) -> bytes:
    """Returns the key that sorts a document in the draw."""
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()


def _write(out: Path, drafts: Sequence[Draft], origins: Mapping[str, Path]) -> None:
    folder = out / "drafts"
    folder.mkdir(exist_ok=True)
    numbers = (re.match("[0-9]+", path.name) for path in drafts_of(out))
    first = 1 + max((int(number[0]) for number in numbers if number), default=0)
    for number, draft in enumerate(drafts, first):
        document = out / draft.file
        if not document.exists():
            document.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origins[draft.file], document)
        name = file_name(number, draft.file, ".json")
        link = quote(os.path.relpath(document, folder).replace(os.sep, "/"))
        (folder / file_name(number, draft.file, ".html")).write_text(draft.page(name, link), encoding="utf-8")
        # Written last, because it marks the document as drafted.
        (folder / name).write_text(draft.json(), encoding="utf-8")
