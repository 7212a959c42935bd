"""The usage of a model behind a server, for the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinnabar.schemas.wording import counted


def spent(usage: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns the usage of a model behind a server, and the escalated fields, as rows of the report."""
    if "cost" not in usage:
        return _escalated(usage)
    cost = "not known" if usage["cost"] is None else f"${usage['cost']}"
    tokens = (
        f"{usage['input_tokens']:,} tokens in ({usage['cached_tokens']:,} cached),"
        f" {usage['output_tokens']:,} out"
    )
    again = f"{usage['retries']} sent again, {usage['asked_again']} asked again"
    rows: list[tuple[str, Any, str]] = [
        ("cost", cost, tokens),
        ("requests", usage["requests"], f"{again}, {usage['from_journal']} paid for by an earlier run"),
    ]
    for name, meaning in (
        ("unmetered", "answers without a reported usage, so their cost is not known"),
        ("unanswered", "sent, perhaps charged"),
    ):
        if usage[name]:
            most = usage[f"{name}_cost_at_most"]
            rows.append((name, usage[name], meaning if most is None else f"{meaning}, ${most} at most"))
    return rows + _escalated(usage)


def _escalated(usage: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    if "escalated_documents" not in usage:
        return []
    fields = f"{counted(usage['escalated_fields'], 'field')} escalated to {usage['model']}"
    return [("escalated", usage["escalated_documents"], fields)]
