"""The schema, models and options of a run in one object that can be pickled for a worker, made from a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cinnabar.engine.asking.few_shot import shown_with
from cinnabar.engine.request import Filler
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.model_sources import LanguageSource, RemoteSource, Source, filler_part
from cinnabar.extraction.filling.routing.routing import RoutedJobs, Routing, routing_of
from cinnabar.extraction.filling.run_models import Escalation, chosen_note, reader_of, sources_of
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS, RunOptions, RunPlan
from cinnabar.extraction.run.batch.improved_models import model_for
from cinnabar.extraction.run.batch.prompt_examples import PromptExamples, prompt_examples
from cinnabar.schemas import SchemaSource, compile_schema, load_schema
from cinnabar.schemas.compiling.compile import CompiledSchema
from cinnabar.schemas.keywords import PAGES
from cinnabar.schemas.parsing.schema_object import DAY_FIRST

# Torch takes seconds to import; a run that finds its work done does not pay for it.
if TYPE_CHECKING:
    from cinnabar.extraction.filling.pipeline import Job
    from cinnabar.extraction.filling.tiers import Tier


@dataclass(frozen=True)
class Assignment:
    """The schema, the models and the options of a run; `job` makes the job that each of its batches goes through.

    With a `routing` each document gets one of its schemas, of which `source` is the first. Prompts show the `examples`.
    An assignment can be pickled if its parts can. The pickle leaves out cached properties; the receiver computes them
    again. Raises UsageError if a model behind a server is to escalate.
    """

    source: SchemaSource
    model: Source
    options: RunOptions = DEFAULT_OPTIONS
    escalation: Escalation | None = None
    routing: Routing | None = None
    examples: PromptExamples | None = None

    def __post_init__(self) -> None:
        if self.escalation is not None and isinstance(self.model, RemoteSource):
            raise UsageError("--escalate-to: expected a local --model, got one behind a server")

    @classmethod
    def of(cls, plan: RunPlan, note: Callable[[str], object] = lambda _: None) -> Assignment:
        """Returns the schemas and models of a plan, which are checked but not loaded.

        `note` receives what the user may not expect: a model that `improve` kept, documents that travel unencrypted.
        Raises UsageError, of an unusable schema before it looks for models, or ModelError.
        """
        sources = [load_schema(one) for one in plan.schemas]
        for source in sources:
            _ = compile_schema(source.schema).form, Validator(source), Checks(source, compile_schema(source.schema))
        model = model_for(plan.out, [source.name for source in sources], plan.model)
        routing = routing_of(sources, plan.related, reader_of(model))
        model_source, escalation = sources_of(plan, model)
        if (said := chosen_note(plan, model, escalation)) is not None:
            note(said)
        return cls(sources[0], model_source, plan.options, escalation, routing).read_examples()

    def read_examples(self) -> Assignment:
        """Returns the assignment with the examples that its options name. Raises the errors of `prompt_examples`."""
        schemas = [part.source for part in self.parts]
        return replace(self, examples=prompt_examples(self.options, schemas, self.sources))

    @property
    def sources(self) -> list[Source]:
        """Returns the model, and the one for unsure fields."""
        return [self.model, *([self.escalation.source] if self.escalation is not None else [])]

    def __reduce__(self) -> tuple[Any, ...]:
        return Assignment, (self.source, self.model, self.options, self.escalation, self.routing, self.examples)

    @cached_property
    def parts(self) -> Sequence[Assignment]:
        """Returns the assignments of the schemas that a document may go to: one for each, without a routing."""
        if self.routing is None:
            return (self,)
        return [replace(self, source=source, routing=None) for source in self.routing.sources]

    def check_parts(self) -> None:
        """Raises the errors of schemas that allow no record, once instead of in every document."""
        for part in self.parts:
            _ = part.compiled_schema.form, part.validator, part.checks

    @cached_property
    def compiled_schema(self) -> CompiledSchema:
        """Returns the compiled schema. Raises the errors of `compile_schema`."""
        schema, day_first, pages = self.source.schema, self.options.day_first, self.options.pages
        if isinstance(schema, dict):
            schema = schema | ({} if day_first is None else {DAY_FIRST: day_first == "yes"})
            schema |= {} if pages is None else {PAGES: pages}
        return compile_schema(schema)

    @cached_property
    def validator(self) -> Validator:
        """Returns the validator of records. Raises SchemaError if the schema is invalid."""
        return Validator(self.source)

    @cached_property
    def checks(self) -> Checks:
        """Returns the checks of the schema. Raises UnsupportedSchema for one that cannot be used."""
        return Checks(self.source, self.compiled_schema)

    @property
    def fingerprint(self) -> str:
        """Returns the key part that names models and options; parser workers and device do not change it."""
        return self.options.fingerprint(self._model_names, *map(filler_part, self.sources))

    @property
    def shared_name(self) -> str:
        """Returns the name of all that machines of one run must share: models, options and the choice of schemas."""
        return self.fingerprint if self.routing is None else f"{self.fingerprint} {self.routing.fingerprint}"

    @property
    def _model_names(self) -> str:
        """Returns the models' part of a record's key, with the examples that they are shown."""
        named = self.model.fingerprint
        if self.escalation is not None:
            named = f"{named} {self.escalation.source.fingerprint} {self.escalation.threshold}"
        return shown_with(named, None if self.examples is None else self.examples.fingerprint)

    def _shown(self, source: Source) -> Source:
        return source if self.examples is None else self.examples.shown_to(source)

    def memory_notes(self) -> list[str]:
        """Returns a warning for each language model whose longest request this machine cannot hold.

        Raises UsageError if it cannot hold one of the context that the options ask for.
        """
        notes = [one.memory_note(self.options.context) for one in self.sources if isinstance(one, LanguageSource)]
        return [note for note in notes if note is not None]

    def load(self) -> tuple[Filler, Tier | None]:
        """Returns the model, loaded, and the stronger one; of two calibrated ones that is loaded at the first doubt."""
        effort, tier = self.options.effort, None
        if self.escalation is not None:
            upper = self._shown(self.escalation.source)
            tier = self.escalation.tier(effort, lambda: upper.filler(effort, None))
        return self._shown(self.model).filler(effort, self.options.steps), tier

    def job(self, loaded: tuple[Filler, Tier | None] | None = None) -> Job:
        """Returns the job with its models, which are loaded if they are not given.

        Raises UsageError if a model has no room for the schema.
        """
        # Cold start: Torch takes a second.
        from cinnabar.extraction.filling.pipeline import Job

        options = self.options
        engine, tier = loaded or self.load()
        for filler in [engine, *([tier.filler] if tier and not tier.prefer_confident else [])]:
            for part in self.parts:
                filler.context_beside(part.compiled_schema.form)
        job = Job(
            self.compiled_schema,
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
            options.on_list_incomplete,
        )
        if self.routing is None:
            return job
        # Cold start: Torch takes a second.
        from cinnabar.extraction.filling.routing.router import Router

        jobs = {
            part.source.name: replace(job, compiled=part.compiled_schema, validator=part.validator, checks=part.checks)
            for part in self.parts
        }
        return replace(job, routing=RoutedJobs(Router(self.routing).route, jobs, self.routing.done))
