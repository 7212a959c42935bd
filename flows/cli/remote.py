"""What commands say and check of models behind a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cinnabar.schemas.errors import UsageError

if TYPE_CHECKING:
    from cinnabar.engine.models.remote.serving import Settings
    from cinnabar.extraction.sources import Escalation

#: Confidence below which a field goes up, where none is said.
BELOW = 0.8


def check(
    model: str, escalate_to: str | None, below: float | None, steps: int | None, remote: dict[str, Any]
) -> None:
    """Raise UsageError for options that do not go together."""
    from cinnabar.engine.models.remote.serving import is_remote

    if escalate_to is not None and not is_remote(escalate_to):
        raise UsageError(f"--escalate-to {escalate_to}: expected mercury-2 or openai:NAME")
    if escalate_to is not None and is_remote(model):
        raise UsageError(f"--escalate-to {escalate_to}: expected a --model of our own below it, got {model}")
    if below is not None and escalate_to is None:
        raise UsageError("--below: expected --escalate-to with it, the model that such fields go up to")
    given = [f"--{name.replace('_', '-')}" for name, value in remote.items() if value is not None]
    if given and not is_remote(escalate_to or model):
        raise UsageError(f"{given[0]}: expected mercury-2 or openai:NAME with it, got the model {model}")
    if steps is not None and is_remote(model):
        raise UsageError(f"--steps: {model} has no steps to be set; see --effort")


def escalation_of(name: str | None, below: float | None, settings: Settings) -> Escalation | None:
    """The model that fields go up to; None where none is named."""
    from cinnabar.extraction.sources import Escalation, model_source

    if name is None:
        return None
    return Escalation(model_source(name, settings=settings), BELOW if below is None else below)


def spent(usage: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """What a model behind a server took, as rows of the report."""
    if not usage:
        return []
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
    for name, said in (
        ("unmetered", "answers of which the server reported no usage, so their cost is not known"),
        ("unanswered", "sent, perhaps charged"),
    ):
        if usage[name]:
            most = usage[f"{name}_cost_at_most"]
            rows.append((name, usage[name], said if most is None else f"{said}, ${most} at most"))
    if "escalated_documents" in usage:
        fields = f"{usage['escalated_fields']} fields went up to {usage['model']}"
        rows.append(("escalated", usage["escalated_documents"], fields))
    return rows
