"""Labelled sets as examples in the prompts of language models (`--examples`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.few_shot import Example, Examples
from cinnabar.errors import NotAccepted, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.model_sources import LanguageSource, RemoteSource, Source
from cinnabar.extraction.filling.records.validation import Validator
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.schemas import SchemaSource, compile_schema, load_schema

# Scores need SciPy, which takes a fifth of a second to import; most runs show no examples.
if TYPE_CHECKING:
    from cinnabar.extraction.run.work.labelled_sets import LabelledSet

#: The sources of models with a prompt.
_PROMPTED = (LanguageSource, RemoteSource)
#: The most documents of a set that are read: examples are chosen among them.
DRAWN = 200


class PromptExamples:
    """The examples of a run, whose documents are parsed when they are needed first, or when they are pickled.

    `fingerprint` names the sets before that, by the bytes of the documents and by their records.
    """

    def __init__(self, fingerprint: str, read: Callable[[], Mapping[str, Sequence[Example]]]) -> None:
        self.fingerprint, self._read = fingerprint, read

    @cached_property
    def examples(self) -> Examples:
        """Returns the examples. Raises UsageError if no document of a set can be read."""
        return Examples(self.fingerprint, dict(self._read()))

    def shown_to(self, source: Source) -> Source:
        """Returns the source of a model that is shown the examples, or the source itself if its model has no prompt."""
        return replace(source, examples=self.examples) if isinstance(source, _PROMPTED) else source

    def __reduce__(self) -> tuple[Any, ...]:
        return _carry, (self.examples,)


def _carry(examples: Examples) -> PromptExamples:
    return PromptExamples(examples.fingerprint, lambda: examples.by_form)


def prompt_examples(
    options: RunOptions, schemas: Sequence[SchemaSource], models: Sequence[Source]
) -> PromptExamples | None:
    """Returns the examples that the options name for one of the models, None if they name none.

    Every record is checked against the schema of the run. Raises UsageError if no model has a prompt, if the folder
    holds no set of these schemas, or if a record breaks its schema.
    """
    if options.examples is None:
        return None
    if not any(isinstance(source, _PROMPTED) for source in models):
        raise UsageError(
            f"--examples {options.examples}: expected a language model or a server in --model or --escalate-to; the"
            " reader has no prompt, so train it on the set: cinnabar improve --set SET --out FOLDER"
        )
    return _check(Path(options.examples), schemas, options)


def _check(folder: Path, schemas: Sequence[SchemaSource], options: RunOptions) -> PromptExamples:
    # Cold start: Torch takes a second.
    from cinnabar.extraction.run.work.labelled_sets import find_sets

    sets = [one for one in find_sets(folder) if one.truths]
    drawn: dict[str, list[_Drawn]] = {}
    for schema in schemas:
        own = sets if len(sets) == len(schemas) == 1 else [one for one in sets if _is_of(one, schema)]
        if own:
            drawn[compile_schema(schema.schema).form.fingerprint] = [_drawn(one, schema) for one in own]
    if not drawn:
        raise UsageError(
            f"--examples {folder}: expected a set of {' or '.join(schema.name for schema in schemas)}, found"
            f" {', '.join(one.name for one in sets) or 'no labelled document'}; a set has the schema.json of its schema"
        )
    named = [[form, [one.digests_and_records for one in own]] for form, own in sorted(drawn.items())]
    fingerprint = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]
    return PromptExamples(fingerprint, lambda: _read(folder, drawn, options))


def _is_of(one: LabelledSet, schema: SchemaSource) -> bool:
    own = load_schema(one.folder / "schema.json")
    return own.fingerprint == schema.fingerprint or own.name == schema.name


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The documents of a set that may be examples: their canonical records by file, and the digests of their bytes."""

    labelled: LabelledSet
    records: Mapping[str, str]
    digests: Mapping[str, str]

    @property
    def digests_and_records(self) -> list[list[str]]:
        return sorted([self.digests[file], record] for file, record in self.records.items())


def _drawn(one: LabelledSet, schema: SchemaSource) -> _Drawn:
    """Returns a draw of a set's documents by their names, the same in every run.

    Raises UsageError for a record that breaks the schema.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.run.work.labelled_sets import mark_of

    validator, compiled = Validator(schema), compile_schema(schema.schema)
    records: dict[str, str] = {}
    for line in one.truths:
        violations = validator.check(json.dumps(line["truth"]))
        if violations:
            raise _refusal(one, line["file"], schema, violations[0].pointer, violations[0].message)
        try:
            records[line["file"]] = compiled.canonical(line["truth"])
        except NotAccepted as error:
            raise _refusal(one, line["file"], schema, error.pointer, str(error)) from error
    files = sorted(records, key=mark_of)[:DRAWN]
    try:
        digests = {file: hashlib.sha256((one.folder / file).read_bytes()).hexdigest() for file in files}
    except OSError as error:
        raise UsageError(f"--examples {one.folder}: {error.filename} cannot be read: {error.strerror}") from error
    return _Drawn(one.select(files), {file: records[file] for file in files}, digests)


def _refusal(one: LabelledSet, file: str, schema: SchemaSource, pointer: str, message: str) -> UsageError:
    return UsageError(
        f"--examples {one.folder}: the record of {file} breaks the schema {schema.name} at {pointer or '/'}: {message};"
        f" correct it in {one.folder / 'truth.jsonl'}"
    )


def _read(folder: Path, drawn: Mapping[str, Sequence[_Drawn]], options: RunOptions) -> dict[str, list[Example]]:
    # Cold start: Torch takes a second.
    from cinnabar.extraction.run.work.labelled_sets import read_set

    examples: dict[str, list[Example]] = {}
    problem = ""
    with ParserPool(options.workers, max_tokens=options.max_tokens, settings=parser_settings(options)) as pool:
        for form, own in drawn.items():
            examples[form] = []
            for one in own:
                for read in read_set(one.labelled, pool):
                    if not isinstance(read.found, Document):
                        problem = problem or f"; {read.path}: {read.found}"
                    elif read.found.text.strip():
                        examples[form].append(Example(read.found.text, one.records[read.path]))
            # Where two are equally like a document, the content decides, and no name.
            examples[form].sort(key=lambda example: (example.text, example.record))
    if not any(examples.values()):
        raise UsageError(f"--examples {folder}: expected documents with text, found none{problem}")
    return examples
