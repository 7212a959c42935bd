"""Applies the checks of a schema to the outcomes of a batch: a flag for each check that fails, or quarantine.

The results of checks in an output folder: how often each holds, and the documents that fail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cinnabar.extraction.filling.checks.checks import FLAG, Check, Checks, Results, failed_checks
from cinnabar.extraction.plan.run_options import OnCheck
from cinnabar.extraction.store.reading import connect
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.pointers import unescape

#: The reason code of a record that fails a check, if such records are held back.
CODE = "check_failed"


def with_checks(outcomes: Sequence[Outcome], checks: Checks | None, on_check: OnCheck) -> list[Outcome]:
    """Returns the outcomes with the results of the checks on their records, rejected ones too.

    With `on_check` "quarantine" a written record that fails a check goes to quarantine.
    """
    if not checks:
        return list(outcomes)
    texts = [outcome.record.text for outcome in outcomes if outcome.record is not None]
    results = iter(checks.evaluate(texts))
    return [
        outcome if outcome.record is None else _judge(outcome, outcome.record, next(results), checks, on_check)
        for outcome in outcomes
    ]


def _judge(outcome: Outcome, record: Record, results: Results, checks: Checks, on_check: OnCheck) -> Outcome:
    wrong = failed_checks(results)
    kept = {flag for flag in record.flags if not flag.startswith(FLAG)}
    flags = tuple(sorted(kept | {f"{FLAG}{name}" for name in wrong}))
    outcome = replace(outcome, record=replace(record, checks=results, flags=flags))
    if not wrong or outcome.status != "written" or on_check == "flag":
        return outcome
    broken = [check for check in checks.each if check.name in wrong]
    value = record.value
    detail = "; ".join(
        f"{one.name} does not hold: {one.expression} ({values_in_words(one, value)})" for one in broken[:5]
    )
    pointers = tuple(dict.fromkeys(pointer for one in broken for pointer in one.pointers))
    return replace(outcome, status="quarantined", code=CODE, detail=detail[:2000], pointers=pointers)


def values_of(check: Check, record: Any) -> dict[str, Any]:
    """Returns the values of a check's fields in a record by pointer."""
    return {pointer: _at(record, pointer) for pointer in check.pointers}


def values_in_words(check: Check, record: Any) -> str:
    """Returns the values of a check's fields in words; of a list, the number of its items."""
    parts = []
    for pointer, value in values_of(check, record).items():
        text = f"{len(value)} items" if isinstance(value, list) else json_text(value)[:60]
        parts.append(f"{pointer or '/'} {text}")
    return ", ".join(parts)


def _at(record: Any, pointer: str) -> Any:
    value = record
    for step in pointer.split("/")[1:]:
        value = value.get(unescape(step)) if isinstance(value, dict) else None
    return value


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
            check = next((one for one in known[fingerprint].each if one.name == name), None)
            values = values_of(check, parse(record)) if check is not None and record else {}
            failing.append(FailedCheck(path, document, schema_name, name, outcome, values))
    named = {(schema_name, fingerprint) for schema_name, fingerprint, *_ in counts}
    checks = [
        CheckCounts(schema_name, check.name, check.expression, *(counts[schema_name, fingerprint, check.name, holds]
                    for holds in (True, False, None)))
        for schema_name, fingerprint in sorted(named)
        for check in known[fingerprint].each
    ]  # fmt: skip
    return CheckResults(checks, failing)
