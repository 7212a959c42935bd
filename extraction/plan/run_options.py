"""What a run is: its plan, with the defaults, ranges and descriptions that commands, flows and Python read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from cinnabar.engine.settings import effort_of
from cinnabar.engine.version import engine_fingerprint
from cinnabar.errors import UsageError
from cinnabar.extraction.plan.left_options import drop_left_options
from cinnabar.extraction.plan.limits import LEAST_LIMIT, OcrChoice
from cinnabar.schemas.keywords import PAGES_PATTERN, backward_range

EffortName = Literal["instant", "low", "medium", "high"]
OnMissing = Literal["quarantine", "guess"]
OnCheck = Literal["flag", "quarantine"]
OnEmpty = Literal["quarantine", "skip", "write"]
OnListIncomplete = Literal["flag", "quarantine"]
DayFirst = Literal["yes", "no"]
Device = Literal["auto", "cpu", "cuda"]
# What matches a pattern, for a message.
_WORDED = {PAGES_PATTERN: "pages from 1 such as 1-3,last"}

#: Confidence below which a field is escalated; of two calibrated models the share of a document's values that is likely
#: right below which the document is (docs/models.md has the settings). `--below` or its folder says otherwise.
ESCALATE_BELOW = 0.8
#: Options of a run that `cinnabar.toml` sets and no option of a command.
RUN_SETTINGS = ("device", "steps", "context", "ocr_engine", "workers", "max_tokens", "max_seconds")


class OptionGroup(BaseModel):
    """A group of options. Raises UsageError, which names the command's option, if one is out of range or gone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, values: Any, check: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(values, dict):
            values = drop_left_options(values, cls.model_fields)
        try:
            return check(values)
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            name = str(wrong["loc"][0])
            if name not in cls.model_fields:
                raise UsageError(f"{name}: expected one of {', '.join(cls.model_fields)}") from None
            spelled = name.replace("_", "-")
            option = name if name in RUN_SETTINGS else f"--{spelled}"
            option = f"--on {spelled[3:]}" if name.startswith("on_") else option
            wanted = expected_values(cls.model_fields[name])
            raise UsageError(f"{option}: expected {wanted}, got {wrong['input']!r}") from None


class RunOptions(OptionGroup):
    """How a run reads documents, and what becomes of their records."""

    effort: EffortName = Field(
        default="medium", description="instant, low, medium, high: at most 1, 2, 3, 16 steps of the reader."
    )
    steps: int | None = Field(default=None, ge=1, le=64, description="Denoising steps instead of those of the effort.")
    on_missing: OnMissing = Field(
        default="quarantine", description="Quarantine a record that lacks a required value, or guess the value."
    )
    # Not part of a record's key: written records stay, and `retry_quarantined` with a lower value releases quarantined
    # ones.
    min_confidence: float = Field(
        default=0.0, ge=0, le=1, description="Quarantine records with a value less sure than this."
    )
    # No part of the key either.
    on_check: OnCheck = Field(
        default="flag", description="Flag a record that fails a check of its schema, or quarantine it."
    )
    # Nor is this one.
    on_empty: OnEmpty = Field(
        default="quarantine", description="Quarantine, skip or write a record whose every value is null."
    )
    # And neither is this one.
    on_list_incomplete: OnListIncomplete = Field(
        default="flag", description="Flag a record whose document counts or numbers other rows, or quarantine it."
    )
    limit: int | None = Field(default=None, ge=1, description="Read only the first N documents.")
    context: int | None = Field(
        default=None, ge=LEAST_LIMIT, description="Read documents in chunks of at most N tokens."
    )
    # These are not part of a record's key either: they only decide which documents are refused, or read by the reader.
    max_tokens: int = Field(
        default=500_000, ge=1, description="Quarantine a document of more than N tokens as too_long."
    )
    max_seconds: float = Field(
        default=1200.0, gt=0, description="Quarantine a document that the model works on for longer as too_slow."
    )
    seconds_each: float | None = Field(
        default=None, gt=0, description="In auto: a language model's seconds for a document."
    )
    # The name of the file is stored with a run, its content nowhere.
    password_file: str | None = Field(
        default=None, description="Passwords of encrypted documents, one a line."
    )
    # A record's key names the content of the set, not its folder.
    examples: str | None = Field(
        default=None, description="A labelled set to show a language model."
    )
    split: bool = Field(default=False, description="Read the documents within a PDF (a packet).")
    hidden: bool = Field(default=False, description="Read text that people cannot see, too.")
    day_first: DayFirst | None = Field(
        default=None, description="Whether 03/04/2026 is in April."
    )
    pages: str | None = Field(
        default=None, pattern=PAGES_PATTERN, description="The pages to read, such as 1-3,last."
    )
    ocr: OcrChoice = Field(
        default="auto", description="OCR auto (where text is missing), always, never."
    )
    ocr_engine: str = Field(
        default="rapidocr", description="The reader of images: rapidocr, tesseract or tesseract:LANGUAGES (deu+eng)."
    )
    workers: int = Field(default=2, ge=1, description="Processes that parse files.")
    engines: str = Field(
        default="1", pattern=r"^(auto|[1-9]\d{0,2})$", description="Processes with a model; auto: one a core."
    )
    batch: int = Field(default=16, ge=1, description="Documents that are read, filled and committed together.")
    retry_quarantined: bool = Field(default=False, description="Read quarantined documents again.")
    drop_corrections: bool = Field(
        default=False, description="Leave out corrections without a place in the schema."
    )

    @field_validator("pages")
    @classmethod
    def _check_pages(cls, pages: str | None) -> str | None:
        if pages is not None and (backward := backward_range(pages)) is not None:
            forward = "-".join(reversed(backward.split("-")))
            raise UsageError(f"--pages: {backward} ends before it begins; write {forward}")
        return pages

    def fingerprint(self, model: str, *fillers: str) -> str:
        """Returns the key part that names model and options; parser workers and device do not change it.

        `fillers` are the parts of the code that read with the model.
        """
        engine = engine_fingerprint(model, effort_of(self.effort, self.steps), *fillers)
        # The usual ways of reading are not named, so that records from before there were others stay.
        images = (self.ocr, self.ocr_engine)
        usual = images == (DEFAULT_OPTIONS.ocr, DEFAULT_OPTIONS.ocr_engine)
        ordered = [] if self.day_first is None else [f"day_first {self.day_first}"]
        ordered += [] if self.pages is None else [f"pages {self.pages}"]
        unusual = (*(["hidden"] if self.hidden else []), *(() if usual else images), *ordered)
        parts = repr((engine, self.on_missing, self.context, *unusual))
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


DEFAULT_OPTIONS = RunOptions()


class RunPlan(OptionGroup):
    """What a run does to documents: with which schemas, models and options, where, and when it counts as failed.

    `schemas` are what `load_schema` takes. `Assignment.of` finds the schemas and models of a plan.
    """

    schemas: list[Any] = []
    out: Path | None = None
    model: str | None = Field(
        default=None,
        description="auto, reader, a fetched model, a folder, mercury-2 or openai:NAME.",
    )
    device: Device = Field(default="auto", description="The device of the model.")
    max_error_rate: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Fail (status 3) if a larger share is held back.",
    )
    related: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Skip documents less likely of the schema's kind.",
    )
    escalate_to: str | None = Field(
        default=None, description="The model for unsure fields."
    )
    below: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description=f"Escalate what is less sure than this ({ESCALATE_BELOW}; in auto the folder's own).",
    )
    # Money is text, and Python may name it as a number. The key of a server comes from the environment only.
    budget: str | None = Field(
        default=None,
        coerce_numbers_to_str=True,
        description="Most dollars for a server; 0 only tells the cost.",
    )
    ray: str | None = Field(
        default=None, description="A Ray cluster: auto, HOST:PORT or local."
    )
    options: RunOptions = DEFAULT_OPTIONS

    @property
    def route(self) -> bool:
        """Returns whether each document is read with the one schema that fits it, or with none."""
        return len(self.schemas) > 1

    @classmethod
    def of(cls, schemas: Iterable[Any] = (), out: str | Path | None = None, **values: Any) -> RunPlan:
        """Returns the plan with these values of its own fields and of `RunOptions`.

        Raises UsageError if one is out of range.
        """
        own = {name: values.pop(name) for name in cls.model_fields if name in values}
        place = None if out is None else Path(out)
        return cls(schemas=[*schemas], out=place, **{"options": RunOptions(**values)} | own)


#: The options of a run by name, as commands and flows take them.
OPTIONS = {**RunPlan.model_fields, **RunOptions.model_fields}


def expected_values(field: FieldInfo) -> str:
    """Returns the values that a field may have, for an error message."""
    patterns = [pattern for one in field.metadata if (pattern := getattr(one, "pattern", None))]
    if patterns:
        return _WORDED.get(patterns[0], "auto or a number from 1 to 999")
    parts = (field.annotation, *get_args(field.annotation))
    names = [one for part in parts for one in get_args(part) if isinstance(one, str)]
    if names:
        return f"one of {', '.join(names)}"
    least = next((one.ge for one in field.metadata if hasattr(one, "ge")), None)
    most = next((one.le for one in field.metadata if hasattr(one, "le")), None)
    if most is not None:
        return f"{least} to {most}"
    above = next((one.gt for one in field.metadata if hasattr(one, "gt")), None)
    if above is not None:
        return f"more than {above}"
    if least is not None:
        return f"at least {least}"
    return "text" if str in parts else "a number" if float in parts else "true or false"
