"""The schema, models and options of a run in one object that can be pickled for a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cinnabar.engine.examples import shown_with
from cinnabar.extraction.records.checks.checks import Checks
from cinnabar.extraction.records.validation import Validator
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.sources import Escalation, LanguageSource, Place, Source
from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.compile import CompiledSchema

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.pipeline import Job
    from cinnabar.extraction.quality.prompt_examples import PromptExamples
    from cinnabar.extraction.routing.routing import Routing


@dataclass(frozen=True)
class Assignment:
    """The schema, the models and the options of a run; `job` makes the job that each of its batches goes through.

    With a `routing` each document gets one of its schemas, of which `source` is the first. Prompts show the `examples`.
    An assignment can be pickled if its parts can. The pickle leaves out cached properties; the receiver computes them
    again.
    """

    source: SchemaSource
    model: Source
    options: RunOptions
    escalation: Escalation | None = None
    routing: Routing | None = None
    examples: PromptExamples | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Assignment, (self.source, self.model, self.options, self.escalation, self.routing, self.examples)

    @cached_property
    def parts(self) -> Sequence[Assignment]:
        """Returns the assignments of the schemas that a document may go to: one for each, without a routing."""
        if self.routing is None:
            return (self,)
        return [replace(self, source=source, routing=None) for source in self.routing.sources]

    @cached_property
    def compiled(self) -> CompiledSchema:
        """Returns the compiled schema. Raises the errors of `compile_schema`."""
        return compile_schema(self.source.schema)

    @cached_property
    def validator(self) -> Validator:
        """Returns the validator of records. Raises SchemaError if the schema is invalid."""
        return Validator(self.source)

    @cached_property
    def checks(self) -> Checks:
        """Returns the checks of the schema. Raises UnsupportedSchema for one that cannot be used."""
        return Checks(self.source, self.compiled)

    @property
    def fingerprint(self) -> str:
        """Returns the key part that names models and options; parser workers and device do not change it."""
        return self.options.fingerprint(self._named)

    @property
    def agreed(self) -> str:
        """Returns the name of all that machines of one run must share: models, options and the choice of schemas."""
        return self.fingerprint if self.routing is None else f"{self.fingerprint} {self.routing.fingerprint}"

    @property
    def _named(self) -> str:
        """Returns the models' part of a record's key, with the examples that they are shown."""
        named = self.model.fingerprint
        if self.escalation is not None:
            named = f"{named} {self.escalation.source.fingerprint} {self.escalation.below}"
        return shown_with(named, self.examples)

    def _shown(self, source: Source) -> Source:
        return source if self.examples is None else self.examples.shown_to(source)

    def memory_notes(self) -> list[str]:
        """Returns a warning for each language model whose longest request this machine cannot hold.

        Raises UsageError if it cannot hold one of the context that the options ask for.
        """
        sources = [self.model, *([self.escalation.source] if self.escalation is not None else [])]
        notes = [one.memory_note(self.options.context) for one in sources if isinstance(one, LanguageSource)]
        return [note for note in notes if note is not None]

    def job(self, place: Place | None = None) -> Job:
        """Returns the job with its models loaded; they may keep encodings and answers under `place`.

        Raises UsageError if a model has no room for the schema.
        """
        from cinnabar.engine.filler import Prompted
        from cinnabar.extraction.pipeline import Job
        from cinnabar.extraction.records.tiers import Tier

        options, tier = self.options, None
        engine = self._shown(self.model).filler(options.effort, options.steps, place)
        if self.escalation is not None:
            upper = self._shown(self.escalation.source).filler(options.effort, None, place)
            tier = Tier(upper, self.escalation.below)
        for filler in [engine, *([tier.filler] if tier else [])]:
            if isinstance(filler, Prompted):
                for part in self.parts:
                    filler.context_beside(part.compiled.form)
        job = Job(
            self.compiled,
            engine,
            self.validator,
            options.on_missing,
            options.context,
            options.min_confidence,
            tier,
            options.max_tokens,
            options.max_seconds,
            self.checks,
            options.on_check,
            options.on_empty,
        )
        if self.routing is None:
            return job
        from cinnabar.extraction.routing.jobs import RoutedJobs
        from cinnabar.extraction.routing.router import Router

        jobs = {
            part.source.name: replace(job, compiled=part.compiled, validator=part.validator, checks=part.checks)
            for part in self.parts
        }
        return replace(job, routing=RoutedJobs(Router(self.routing), jobs, self.routing.done))
