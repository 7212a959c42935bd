"""The results of checks in an output folder: how often each holds, and the documents that fail."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.reading.checks.checks import Checks
from cinnabar.extraction.reading.checks.judgement import values_of
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.stored_schemas import source_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.canonical import parse

# The results for the record of each document and schema that the view `checks` shows.
_LATEST = (
    "SELECT c.schema_name, schema_fingerprint, check_name, holds, document, path, outcome, record_json"
    " FROM checks AS c LEFT JOIN (SELECT document, schema_fingerprint, run_id, record_json FROM records UNION ALL"
    " SELECT document, schema_fingerprint, run_id, record_json FROM quarantine) AS r"
    " USING (document, schema_fingerprint, run_id) ORDER BY c.schema_name, path, document"
)


@dataclass(frozen=True, slots=True)
class CheckCounts:
    """How many records meet a check, fail it, or have a value missing that it needs (`open`)."""

    schema_name: str
    check_name: str
    expression: str
    holds: int
    fails: int
    open: int


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A record that fails a check, with the values of the check's fields by pointer."""

    path: str
    document: str
    schema_name: str
    check_name: str
    outcome: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CheckResults:
    """The results of all checks in a folder."""

    checks: list[CheckCounts]
    failing: list[FailedCheck]


def check_results(out: Path) -> CheckResults:
    """Returns the results for the records that count, in quarantine too. Raises UsageError without results."""
    with connect(out, sql=_LATEST) as connection:
        rows = connection.execute(_LATEST).fetchall()
    counts: Counter[tuple[str, str, str, bool | None]] = Counter()
    known: dict[str, Checks] = {}
    failing = []
    for schema_name, fingerprint, name, holds, document, path, outcome, record in rows:
        if fingerprint not in known:
            source = source_of(out, schema_name, fingerprint)
            known[fingerprint] = Checks(source, compile_schema(source.schema))
        counts[schema_name, fingerprint, name, holds] += 1
        if holds is False:
            check = next(one for one in known[fingerprint].each if one.name == name)
            values = values_of(check, parse(record)) if record else {}
            failing.append(FailedCheck(path, document, schema_name, name, outcome, values))
    named = {(schema_name, fingerprint) for schema_name, fingerprint, *_ in counts}
    checks = [
        CheckCounts(schema_name, check.name, check.expression, *(counts[schema_name, fingerprint, check.name, holds]
                    for holds in (True, False, None)))
        for schema_name, fingerprint in sorted(named)
        for check in known[fingerprint].each
    ]  # fmt: skip
    return CheckResults(checks, failing)
