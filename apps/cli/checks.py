"""`cinnabar checks` lists the results of the checks between fields."""

from __future__ import annotations

import json
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from cinnabar.apps.cli.console import standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.apps.cli.results import Out
from cinnabar.extraction.reading.checks.listing import check_results
from cinnabar.schemas.wording import harmless


def checks(out: Out, as_json: AsJson = False) -> None:
    """List how often each check of a schema holds, and the documents that fail one, with their values.

    A schema has checks under the keyword x-cinnabar-checks. Records in quarantine count too.

    \b
    Examples:
      cinnabar checks --out tables
      cinnabar checks --out tables --json
    """
    results = check_results(out)
    if as_json:
        print(json.dumps(asdict(results), ensure_ascii=False, default=_number))
        return
    console = standard_output()
    rows = [(one.schema_name, one.check_name, one.holds, one.fails, one.open, one.expression) for one in results.checks]
    console.print(table(("schema", "check", "holds", "fails", "not applicable", "expression"), rows))
    failing = [(one.path, one.check_name, one.outcome, _values_in_words(one.values)) for one in results.failing]
    if failing:
        console.print(table(("path", "check", "outcome", "values"), failing))
    documents = len({(one.document, one.schema_name) for one in results.failing})
    console.print(harmless(f"documents that fail a check: {documents}"), markup=False)


def _number(value: Any) -> float | int:
    """Returns an exact number as JSON has it."""
    assert isinstance(value, Decimal)
    return int(value) if value == value.to_integral_value() else float(value)


def _values_in_words(values: dict[str, Any]) -> str:
    """Returns the values of a check's fields in one line; of a list, the number of its items."""
    parts = (
        f"{pointer or '/'} {f'{len(value)} items' if isinstance(value, list) else json.dumps(value, default=_number)}"
        for pointer, value in values.items()
    )
    return ", ".join(parts)
