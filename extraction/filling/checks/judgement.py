"""Applies the checks of a schema to the outcomes of a batch: a flag for each check that fails, or quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cinnabar.extraction.filling.checks.checks import FLAG, Check, Checks, Results
from cinnabar.extraction.plan.run_options import OnCheck
from cinnabar.extraction.store.records import Outcome, Record
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.pointers import MISSING, value_at

#: The reason code of a record that fails a check, if such records are held back.
CODE = "check_failed"


def apply_checks(outcomes: Sequence[Outcome], checks: Checks | None, on_check: OnCheck) -> list[Outcome]:
    """Returns the outcomes with the results of the checks on their records, rejected ones too.

    With `on_check` "quarantine" a written record that fails a check goes to quarantine.
    """
    if not checks:
        return list(outcomes)
    records = [outcome.record.value for outcome in outcomes if outcome.record is not None]
    results = iter(checks.evaluate(records))
    return [
        outcome if outcome.record is None else _judge(outcome, outcome.record, next(results), checks, on_check)
        for outcome in outcomes
    ]


def _judge(outcome: Outcome, record: Record, results: Results, checks: Checks, on_check: OnCheck) -> Outcome:
    wrong = [name for name, holds in results.items() if holds is False]
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


def values_in_words(check: Check, record: Any) -> str:
    """Returns the values of a check's fields in words; of a list, the number of its items."""
    parts = []
    for pointer in check.pointers:
        value = value_at(record, pointer)
        text = f"{len(value)} items" if isinstance(value, list) else json_text(None if value is MISSING else value)[:60]
        parts.append(f"{pointer or '/'} {text}")
    return ", ".join(parts)
