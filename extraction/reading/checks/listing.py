"""The results of checks in an output folder: how often each holds, and the documents that fail."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.reading.checks.checks import Checks
from cinnabar.extraction.reading.checks.judgement import values_of
from cinnabar.extraction.store.cases import stored_cases
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
class FailedCase:
    """A case whose documents fail a check between them, or, with a `problem`, a check that cannot be computed."""

    case_name: str
    check_name: str
    paths: list[str]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CheckResults:
    """The results of all checks in a folder, those between the documents of a case last."""

    checks: list[CheckCounts]
    failing: list[FailedCheck]
    cases: list[FailedCase]


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
    counted, cases = _case_results(out)
    return CheckResults(checks + counted, failing, cases)


def _case_results(out: Path) -> tuple[list[CheckCounts], list[FailedCase]]:
    """Returns the counts of the checks between documents, and the cases that fail one."""
    known = stored_cases(out)
    stated = {} if known is None else {
        (schema, name): one.expression for schema, own in known.checks.items() for name, one in own.items()
    }  # fmt: skip
    if not stated:
        return [], []
    with connect(out, views=("_case_checks", "_case_failures", "_case_documents")) as connection:
        if not connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = '_case_checks'").fetchall():
            return [], []
        rows = connection.execute(
            "SELECT schema_name, check_name, count(*) FILTER (holds), count(*) FILTER (NOT holds),"
            " count(*) FILTER (holds IS NULL), any_value(problem) FROM _case_checks GROUP BY ALL"
        ).fetchall()
        failing = connection.execute(
            "SELECT case_name, check_name, list(path ORDER BY path) FROM _case_failures JOIN _case_documents"
            " USING (case_name, document, schema_name) GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    found = {(schema, name): counts for schema, name, *counts in rows}
    counts = [CheckCounts(*at, text, *found.get(at, (0, 0, 0))[:3]) for at, text in stated.items()]
    open_ones = [FailedCase("", name, [], problem) for (_, name), (*_, problem) in found.items() if problem]
    return counts, [*(FailedCase(*row) for row in failing), *open_ones]
