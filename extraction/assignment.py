"""What a run wants done with its documents, in a form that whoever does it can be handed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cinnabar.extraction.records.validation import Validator
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.sources import Escalation, Place, Source
from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.compile import CompiledSchema

# Torch takes seconds to import, which a run that finds its work done does not pay.
if TYPE_CHECKING:
    from cinnabar.extraction.pipeline import Job


@dataclass(frozen=True)
class Assignment:
    """The schema, the models and the options of a run; `job` is what each of its batches goes through.

    It can be pickled where its parts can. What was made from them stays behind, and is made again.
    """

    source: SchemaSource
    model: Source
    options: RunOptions
    escalation: Escalation | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Assignment, (self.source, self.model, self.options, self.escalation)

    @cached_property
    def compiled(self) -> CompiledSchema:
        """The schema, compiled. Raises what `compile_schema` raises."""
        return compile_schema(self.source.schema)

    @cached_property
    def validator(self) -> Validator:
        """The judge of records. Raises SchemaError."""
        return Validator(self.source)

    @property
    def fingerprint(self) -> str:
        """What a record's key says of everything that read it but the parser's workers and the device."""
        return self.options.fingerprint(self._named)

    @property
    def _named(self) -> str:
        """What a record's key says of the models."""
        if self.escalation is None:
            return self.model.fingerprint
        return f"{self.model.fingerprint} {self.escalation.source.fingerprint} {self.escalation.below}"

    def job(self, place: Place | None = None) -> Job:
        """The job, with the models loaded; `place` is where they may keep what they made of documents."""
        from cinnabar.extraction.pipeline import Job
        from cinnabar.extraction.records.tiers import Tier

        options, tier = self.options, None
        engine = self.model.filler(options.effort, options.steps, place)
        if self.escalation is not None:
            upper = self.escalation.source.filler(options.effort, None, place)
            tier = Tier(upper, self.escalation.below)
        return Job(
            self.compiled,
            engine,
            self.validator,
            options.on_missing,
            options.context,
            options.min_confidence,
            tier,
        )
