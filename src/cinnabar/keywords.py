"""The keywords of `extract` that type checkers know: the options of a run."""

from __future__ import annotations

from decimal import Decimal
from typing import TypedDict

from cinnabar.extraction.plan.limits import OcrChoice
from cinnabar.extraction.plan.run_options import (
    DayFirst,
    Device,
    EffortName,
    OnCheck,
    OnEmpty,
    OnListIncomplete,
    OnMissing,
)

#: Those that are fields of a plan itself.
PLAN_KEYWORDS = ("model", "device", "escalate_to", "below", "budget")


class Options(TypedDict, total=False):
    """The options of a run, as the command line has them; `RunPlan` and `RunOptions` have their defaults and ranges."""

    model: str | None
    device: Device
    escalate_to: str | None
    below: float | None
    budget: str | float | Decimal | None
    effort: EffortName
    steps: int | None
    on_missing: OnMissing
    min_confidence: float
    on_check: OnCheck
    on_empty: OnEmpty
    on_list_incomplete: OnListIncomplete
    limit: int | None
    context: int | None
    max_tokens: int
    max_seconds: float
    seconds_each: float | None
    password_file: str | None
    examples: str | None
    hidden: bool
    day_first: DayFirst | None
    pages: str | None
    ocr: OcrChoice
    ocr_engine: str
    workers: int
    engines: str
    batch: int
    split: bool
    retry_quarantined: bool
    drop_corrections: bool
