"""Verifies an output folder: files, checksums, keys, and every record against its schema.

Broken batches are set aside in `aside/` and no longer count; the next run fills their documents again. Nothing else is
ever removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.corrections.journal import unread_corrections
from cinnabar.extraction.corrections.waiting_commits import commit_waiting, renew_corrected
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.broken_files import FileProblem, content_problem, set_aside, within
from cinnabar.extraction.store.files import is_locked
from cinnabar.extraction.store.manifest import BrokenManifest, Manifest, StoredFile
from cinnabar.extraction.store.names import sql_literal
from cinnabar.extraction.store.queries import locked_connection
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
    if clean:
        with Store.open(out, trusting=False) as store:
            store.go_on_without_lost()
    if aside or clean:
        with Store.open(out) as store:
            commit_waiting(store)
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
    if said := manifests.about_lost(out, live, len(problems)):
        problems.append(FileProblem(0, manifests.FOLDER, said))
    elif not problems:
        why = "it holds corrections, and no manifest names it; put its manifest back, or move it away"
        kept = manifests.unnamed(out, readable)[1]
        problems += [FileProblem(0, within(out, path), why) for path in kept if "corrections" in path.parts]
    sound: list[Manifest] = []
    for entry in live:
        wrong = [p for file in entry.files if (p := _check_file(out, entry, file)) is not None]
        problems += wrong
        if not wrong:
            sound.append(entry)
    validators = {
        name: _validator(out, name, problems) for name in sorted({entry.schema_fingerprint for entry in live})
    }
    records = 0
    for entry in sound:
        for file in entry.files:
            if file.table == "data":
                records += file.rows
                problems += _schema_problems(out, entry.number, file, validators[entry.schema_fingerprint])
    problems += _key_problems(out, sound)
    problems += [FileProblem(0, within(out, path), why) for path, why in unread_corrections(out).items()]
    return Verified(len(live), sum(len(entry.files) for entry in live), records, problems)


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
        entries.append(entry)
    return entries, problems


def _check_file(out: Path, entry: Manifest, file: StoredFile) -> FileProblem | None:
    problem = manifests.file_problem(out, file)
    if problem is None:
        try:
            rows = pq.read_metadata(out / file.path).num_rows
            if rows == file.rows:
                problem = content_problem(out / file.path, file.table)
            else:
                problem = f"it has {with_noun(rows, 'row')}, but was committed with {file.rows:,}"
        except (OSError, ValueError, pa.ArrowException) as error:
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
            problems.append(FileProblem(0, within(out, path), f"its schema does not match its name; {advice}"))
            return None
        return Validator(SchemaSource(name[:12], schema, None, name))
    except (OSError, ValueError, UsageError) as error:
        problems.append(FileProblem(0, within(out, path), f"cannot be used: {error}; {advice}"))
        return None


# Of rows that are there twice those of a merged batch count, in case one of its sources has come back. A record that a
# person corrected is there again, once in each run of corrections.
_KEY_PROBLEMS = f"""
WITH corrected AS (SELECT run_id FROM ({{runs}}) WHERE arguments ->> '{COMMAND}' = '{CORRECT}'),
outcomes AS (SELECT * FROM ({{outcomes}}) JOIN files USING (filename)),
found AS (SELECT 'record' AS kind, * FROM ({{data}}) JOIN files USING (filename)
  UNION ALL BY NAME SELECT 'outcome' AS kind, * EXCLUDE (path, outcome) FROM outcomes WHERE outcome = 'written'),
keyed AS (SELECT *, CASE WHEN run_id IN (FROM corrected) THEN run_id ELSE '' END AS revision FROM found),
seen AS (SELECT *, row_number() OVER (PARTITION BY kind, document, schema_fingerprint, engine_fingerprint, revision
  ORDER BY place) AS time, count(DISTINCT kind) OVER (PARTITION BY document, schema_fingerprint, engine_fingerprint,
  revision) AS kinds FROM keyed)
SELECT batch, file, path || ': a second outcome in run ' || run_id FROM outcomes
  QUALIFY batch <> first(batch) OVER (PARTITION BY path, run_id ORDER BY place)
UNION ALL SELECT batch, file, 'document ' || document[:16] || CASE WHEN time > 1 THEN ': written twice with the same'
  ' engine' WHEN kind = 'record' THEN ': a record without its outcome' ELSE ': written, but its record is missing' END
  FROM seen WHERE time > 1 OR kinds < 2
ORDER BY ALL
"""
_KEY = ("document", "schema_fingerprint", "engine_fingerprint", "run_id")


def _key_problems(out: Path, sound: list[Manifest]) -> Iterator[FileProblem]:
    """Yields the problems of keys in these batches, whose files are sound: each outcome and each record must be there
    once, and each record with its outcome.
    """
    batches = sorted(sound, key=lambda one: (-one.level, one.number))
    files = [
        {"filename": str(out / file.path), "place": place, "batch": entry.number, "file": file.path}
        for place, entry in enumerate(batches)
        for file in entry.files
    ]
    sources = {
        "runs": _source(out, sound, "runs", ("run_id", "arguments")),
        "outcomes": _source(out, sound, "outcomes", (*_KEY, "path", "outcome")),
        "data": _source(out, sound, "data", _KEY),
    }
    if files:
        with locked_connection([str(file["filename"]) for file in files]) as connection:
            connection.register("files", pa.Table.from_pylist(files))
            for row in connection.execute(_KEY_PROBLEMS.format_map(sources)).fetchall():
                yield FileProblem(*row)


def _source(out: Path, sound: list[Manifest], table: str, columns: Sequence[str]) -> str:
    """Returns the SQL of these columns of a table's rows, each with the name of its file."""
    # Columns of one name may have different types in two schemas.
    by_schema: dict[str, list[str]] = defaultdict(list)
    for entry in sound:
        by_schema[entry.schema_fingerprint] += [str(out / file.path) for file in entry.files if file.table == table]
    # A field of a schema may be called `filename`.
    own = f"file_{uuid4().hex}"
    nothing = f"SELECT {', '.join(f'NULL::VARCHAR AS {name}' for name in (*columns, 'filename'))} WHERE false"
    return " UNION ALL ".join(
        [nothing]
        + [
            f"SELECT {', '.join(columns)}, {own} FROM read_parquet([{', '.join(map(sql_literal, paths))}],"
            f" union_by_name = true, hive_partitioning = false, filename = {sql_literal(own)})"
            for paths in by_schema.values()
            if paths
        ]
    )


def _schema_problems(out: Path, batch: int, file: StoredFile, validator: Validator | None) -> Iterator[FileProblem]:
    """Yields a problem for each record of a sound file that breaks its schema."""
    if validator is None:
        return
    with pq.ParquetFile(out / file.path) as opened:
        for rows in opened.iter_batches(columns=["document", "record_json"]):
            for row in rows.to_pylist():
                if violations := validator.check(row["record_json"]):
                    place = f"{violations[0].pointer or '/'}: {violations[0].message}"
                    broken = f"document {row['document'][:16]}: breaks its schema at {place}"
                    yield FileProblem(batch, file.path, broken)


def _leftovers(out: Path) -> list[str]:
    sound, _ = _manifests(out)
    return sorted(within(out, path) for path in manifests.leftovers(out, sound))
