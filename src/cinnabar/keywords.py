"""The keywords of `extract` that type checkers know: the options of a run."""

from __future__ import annotations

from decimal import Decimal
from typing import TypedDict

from cinnabar.extraction.plan.limits import OcrChoice
from cinnabar.extraction.plan.run_options import DayFirst, EffortName, OnCheck, OnEmpty, OnListIncomplete, OnMissing

#: Dollars.
Budget = str | float | Decimal | None


class Options(TypedDict, total=False):
    """The options of a run, as the command line has them; `RunOptions` has their defaults and ranges."""

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
