"""Verifies an output folder: files, checksums, keys, and every record against its schema.

Broken batches are set aside in `aside/` and no longer count; the next run fills their documents again. Nothing else is
ever removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.corrections.unread import unread_corrections
from cinnabar.extraction.corrections.waiting_commits import commit_waiting, renew_corrected
from cinnabar.extraction.filling.records.validation import Validator
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.broken_files import FileProblem, content_problem, set_aside, within
from cinnabar.extraction.store.files import is_locked
from cinnabar.extraction.store.held_snapshots import hold_files
from cinnabar.extraction.store.manifest import BrokenManifest, Manifest, StoredFile
from cinnabar.extraction.store.store import Store
from cinnabar.extraction.store.tables import COMMAND, CORRECT
from cinnabar.schemas import SchemaSource
from cinnabar.schemas.parsing.metaschema import fingerprint
from cinnabar.schemas.parsing.texts import read_schema
from cinnabar.wording import with_noun


@dataclass(frozen=True, slots=True)
class Verified:
    """The counts and problems of a verification.

    `aside` are the batches that no longer count, `removed` the files of dead runs that were removed, `leftovers` those
    that remain.
    """

    batches: int
    files: int
    records: int
    problems: list[FileProblem]
    aside: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


def verify(out: Path, clean: bool = False) -> Verified:
    """Checks everything in this folder and sets broken batches aside.

    With `clean` it removes files that dead runs left. Raises UsageError if the folder holds no results, or if something
    must be set aside or removed while a run is writing.
    """
    if not manifests.paths(out):
        raise UsageError(f"{out}: the folder holds no results of Cinnabar; name the --out folder of a run")
    lying = set(_leftovers(out))
    checked = check(out)
    aside: list[str] = []
    problems = list(checked.problems)
    wrong = checked
    # Setting a batch aside may uncover more: a batch that a broken manifest had replaced counts again.
    while any(problem.batch for problem in wrong.problems):
        aside += set_aside(out, wrong.problems)
        before, wrong = wrong.problems, check(out)
        if wrong.problems == before:
            raise RunError(f"{out / before[0].path}: {before[0].detail}; it could not be set aside")
        problems += [problem for problem in wrong.problems if problem not in problems]
    removed: list[str] = []
    if aside or clean:
        with Store.open(out) as store:
            if commit_waiting(store):
                store.publish()
            if aside and renew_corrected(store):
                store.publish()
    if clean:
        removed = sorted(lying - set(_leftovers(out)))
    # A going run has files of uncommitted batches, which are no leftovers.
    left = [] if is_locked(out) else _leftovers(out)
    return Verified(checked.batches, checked.files, checked.records, problems, aside, removed, left)


def check(out: Path) -> Verified:
    """Returns the problems of this folder; it changes nothing and needs no lock."""
    readable, problems = _manifests(out)
    live = manifests.live(readable)
    with hold_files(out, max((entry.number for entry in live), default=0)):
        return _check(out, live, problems)


def _check(out: Path, live: list[Manifest], problems: list[FileProblem]) -> Verified:
    sound: list[Manifest] = []
    for entry in live:
        wrong = [p for file in entry.files if (p := _check_file(out, entry, file)) is not None]
        problems += wrong
        if not wrong:
            sound.append(entry)
    validators = {
        name: _validator(out, name, problems) for name in sorted({entry.schema_fingerprint for entry in live})
    }
    keys = _Keys(_correction_runs(out, sound))
    records = 0
    # A merged batch comes before its sources, in case one of them has come back.
    for entry in sorted(sound, key=lambda entry: (-entry.level, entry.number)):
        try:
            records += _check_rows(out, entry, validators[entry.schema_fingerprint], keys, problems)
        except (OSError, pa.ArrowException) as error:
            path = entry.files[0].path if entry.files else entry.name
            problems.append(FileProblem(entry.number, path, f"cannot be read: {error}"))
    problems += keys.find_unmatched()
    problems += [FileProblem(0, within(out, path), why) for path, why in unread_corrections(out).items()]
    return Verified(len(live), sum(len(entry.files) for entry in live), records, problems)


def _correction_runs(out: Path, sound: list[Manifest]) -> set[str]:
    """Returns the runs that hold corrections: they write a record again under the engine that made it."""
    run_ids: set[str] = set()
    for entry in sound:
        for file in entry.files:
            if file.table == "runs":
                for row in _rows(out / file.path, ["run_id", "arguments"]):
                    if row["arguments"] and json.loads(row["arguments"]).get(COMMAND) == CORRECT:
                        run_ids.add(row["run_id"])
    return run_ids


def _manifests(out: Path) -> tuple[list[Manifest], list[FileProblem]]:
    entries, problems = [], []
    for path in manifests.paths(out):
        number = manifests.number_of(path) or 0
        try:
            entry = manifests.read_moved(path)
        except FileNotFoundError:
            continue  # the writer removed it, replaced, after the folder was listed
        except BrokenManifest as error:
            problems.append(FileProblem(number, within(out, path), error.detail))
            continue
        except OSError as error:
            problems.append(FileProblem(number, within(out, path), f"cannot be read: {error.strerror or error}"))
            continue
        if entry.number != number:
            problems.append(FileProblem(number, within(out, path), f"says that it is number {entry.number}"))
        else:
            entries.append(entry)
    return entries, problems


def _check_file(out: Path, entry: Manifest, file: StoredFile) -> FileProblem | None:
    path = out / file.path
    if not path.is_file():
        return FileProblem(entry.number, file.path, "it is missing")
    size = path.stat().st_size
    if size != file.bytes:
        return FileProblem(entry.number, file.path, f"it has {size} bytes, but was committed with {file.bytes}")
    digest = manifests.describe_file(out, file.table, path, file.rows).sha256
    if digest != file.sha256:
        return FileProblem(entry.number, file.path, f"its SHA-256 is {digest}, but was committed as {file.sha256}")
    try:
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        return FileProblem(entry.number, file.path, f"not a Parquet file: {error}")
    if rows != file.rows:
        problem = f"it has {with_noun(rows, 'row')}, but was committed with {file.rows:,}"
        return FileProblem(entry.number, file.path, problem)
    try:
        problem = content_problem(path, file.table) or ""
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {error}"
    return FileProblem(entry.number, file.path, problem) if problem else None


def _validator(out: Path, name: str, problems: list[FileProblem]) -> Validator | None:
    path = out / "schemas" / f"{name}.json"
    advice = "the next run with this schema writes it again"
    try:
        schema = read_schema(path.read_text(encoding="utf-8")) if path.is_file() else None
        if schema is None:
            problems.append(FileProblem(0, within(out, path), f"it is missing; {advice}"))
            return None
        if fingerprint(schema) != name:
            problems.append(
                FileProblem(0, within(out, path), f"its schema does not match its name; {advice}")
            )
            return None
        return Validator(SchemaSource(name[:12], schema, None, name))
    except (OSError, ValueError, UsageError) as error:
        problems.append(FileProblem(0, within(out, path), f"cannot be used: {error}; {advice}"))
        return None


class _Keys:
    """The outcomes and records seen so far: each must occur once, and each record with its outcome.

    A record that a person corrected is there again, once in each run of corrections.

    A key is one text, in which numbers stand for runs, schemas and engines. Of a million documents they take half a
    gigabyte less than tuples of all parts.
    """

    def __init__(self, corrections: set[str]) -> None:
        self._corrections = corrections
        self._numbers: dict[tuple[str, ...], int] = {}
        self._paths: dict[str, int] = {}
        self._records: dict[str, tuple[int, str]] = {}
        self._outcomes: dict[str, tuple[int, str]] = {}

    def outcome(self, place: tuple[int, str], row: dict[str, Any]) -> FileProblem | None:
        """Notes a row of `outcomes` in the file at this place: the number of its batch, and its path."""
        key = self._key(row["path"], row["run_id"])
        if self._paths.setdefault(key, place[0]) != place[0]:
            return FileProblem(*place, f"{row['path']}: a second outcome in run {row['run_id']}")
        return self._note(self._outcomes, place, row) if row["outcome"] == "written" else None

    def record(self, place: tuple[int, str], row: dict[str, Any]) -> FileProblem | None:
        """Notes a record in the file at this place."""
        return self._note(self._records, place, row)

    def _key(self, own: str, *shared: str) -> str:
        return f"{own} {self._numbers.setdefault(shared, len(self._numbers))}"

    def _note(
        self, seen: dict[str, tuple[int, str]], place: tuple[int, str], row: dict[str, Any]
    ) -> FileProblem | None:
        shared = [row["schema_fingerprint"], row["engine_fingerprint"]]
        if row["run_id"] in self._corrections:
            shared.append(row["run_id"])
        key = self._key(row["document"], *shared)
        if key in seen:
            return FileProblem(*place, f"document {row['document'][:16]}: written twice with the same engine")
        seen[key] = place
        return None

    def find_unmatched(self) -> Iterator[FileProblem]:
        """Yields a problem for each record without an outcome and each outcome without its record."""
        for seen, other, what in (
            (self._records, self._outcomes, "a record without its outcome"),
            (self._outcomes, self._records, "written, but its record is missing"),
        ):
            for key, place in seen.items():
                if key not in other:
                    yield FileProblem(*place, f"document {key[:16]}: {what}")


def _check_rows(
    out: Path, entry: Manifest, validator: Validator | None, keys: _Keys, problems: list[FileProblem]
) -> int:
    """Checks the outcomes and records of a batch with sound files, and returns the number of records."""
    columns = ["document", "schema_fingerprint", "engine_fingerprint", "run_id"]
    records = 0
    for file in entry.files:
        place = entry.number, file.path
        if file.table == "outcomes":
            for row in _rows(out / file.path, [*columns, "path", "outcome"]):
                if (problem := keys.outcome(place, row)) is not None:
                    problems.append(problem)
        elif file.table == "data":
            for row in _rows(out / file.path, [*columns, "record_json"]):
                records += 1
                if (problem := keys.record(place, row)) is not None:
                    problems.append(problem)
                violations = [] if validator is None else validator.check(row["record_json"])
                if violations:
                    broken = f"{violations[0].pointer or '/'}: {violations[0].message}"
                    detail = f"document {row['document'][:16]}: breaks its schema at {broken}"
                    problems.append(FileProblem(entry.number, file.path, detail))
    return records


def _rows(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=columns):
            yield from batch.to_pylist()


def _leftovers(out: Path) -> list[str]:
    sound, _ = _manifests(out)
    return sorted(within(out, path) for path in manifests.leftovers(out, sound))
