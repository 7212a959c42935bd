"""Labelled sets as examples in the prompts of language models (`--examples`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinnabar.engine.asking.few_shot import Example, Examples
from cinnabar.errors import NotAccepted, UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.checks.validation import RecordViolation, Validator
from cinnabar.extraction.filling.model_sources import LanguageSource, RemoteSource, Source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.schemas import SchemaSource, compile_schema, load_schema

# Scores need SciPy, which takes a fifth of a second to import; most runs show no examples.
if TYPE_CHECKING:
    from cinnabar.extraction.run.batch.labelled_sets import LabelledSet

#: The sources of models with a prompt.
_PROMPTED = (LanguageSource, RemoteSource)
#: The most documents of a set that are read: examples are chosen among them.
DRAWN = 200


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A document of a set that may be an example: its file, the digest of its bytes, and its canonical record."""

    file: Path
    digest: str
    record: str


class PromptExamples:
    """The examples of a run, whose documents are parsed when they are needed first, or when they are pickled.

    `drawn` has the documents of each set of a schema by its form. `fingerprint` names them by their bytes and records
    before they are parsed.
    """

    def __init__(self, drawn: Mapping[str, Sequence[Sequence[_Drawn]]], options: RunOptions) -> None:
        self._drawn, self._options = drawn, options
        named = [
            [form, [sorted([one.digest, one.record] for one in own) for own in sets]]
            for form, sets in sorted(drawn.items())
        ]
        self.fingerprint = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]

    def __getstate__(self) -> dict[str, Any]:
        """Returns the parsed examples: another machine does not have the documents."""
        return {"fingerprint": self.fingerprint, "examples": self.examples}

    @cached_property
    def examples(self) -> Examples:
        """Returns the examples. Raises UsageError if no document of a set can be read."""
        options, problem = self._options, ""
        examples: dict[str, list[Example]] = {}
        with ParserPool(options.workers, max_tokens=options.max_tokens, settings=parser_settings(options)) as pool:
            for form, sets in self._drawn.items():
                records = {one.file: one.record for own in sets for one in own}
                examples[form] = []
                for file, read in pool.parse_many(records):
                    if not isinstance(read, Document):
                        problem = problem or f"; {file}: {read}"
                    elif read.text.strip():
                        examples[form].append(Example(read.text, records[file]))
                # Where two are equally like a document, the content decides, and no name.
                examples[form].sort(key=lambda example: (example.text, example.record))
        if not any(examples.values()):
            raise UsageError(f"--examples {options.examples}: expected documents with text, found none{problem}")
        return Examples(self.fingerprint, examples)

    def shown_to(self, source: Source) -> Source:
        """Returns the source of a model that is shown the examples, or the source itself if its model has no prompt."""
        return replace(source, examples=self.examples) if isinstance(source, _PROMPTED) else source


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
    # Cold start: Torch takes a second.
    from cinnabar.extraction.run.batch.labelled_sets import find_sets

    sets = [one for one in find_sets(Path(options.examples)) if one.truths]
    drawn: dict[str, list[list[_Drawn]]] = {}
    for schema in schemas:
        own = sets if len(sets) == len(schemas) == 1 else [one for one in sets if _is_of(one, schema)]
        if own:
            drawn[compile_schema(schema.schema).form.fingerprint] = [_drawn(one, schema) for one in own]
    if not drawn:
        raise UsageError(
            f"--examples {options.examples}: expected a set of {' or '.join(schema.name for schema in schemas)}, found"
            f" {', '.join(one.name for one in sets) or 'no labelled document'}; a set has the schema.json of its schema"
        )
    return PromptExamples(drawn, options)


def _is_of(one: LabelledSet, schema: SchemaSource) -> bool:
    own = load_schema(one.folder / "schema.json")
    return own.fingerprint == schema.fingerprint or own.name == schema.name


def _drawn(one: LabelledSet, schema: SchemaSource) -> list[_Drawn]:
    """Returns a draw of a set's documents by their names, the same in every run.

    Raises UsageError for a record that breaks the schema.
    """
    # Cold start: Torch takes a second.
    from cinnabar.extraction.run.batch.labelled_sets import mark_of

    validator, compiled = Validator(schema), compile_schema(schema.schema)
    records: dict[str, str] = {}
    for line in one.truths:
        broken = validator.check(json.dumps(line["truth"]))
        try:
            records[line["file"]] = compiled.canonical(line["truth"])
        except NotAccepted as error:
            broken.append(RecordViolation(error.pointer, str(error)))
        if broken:
            raise UsageError(
                f"--examples {one.folder}: the record of {line['file']} breaks the schema {schema.name} at"
                f" {broken[0].pointer or '/'}: {broken[0].message}; correct it in {one.folder / 'truth.jsonl'}"
            )
    names = sorted(records, key=mark_of)[:DRAWN]
    try:
        digests = {name: hashlib.sha256((one.folder / name).read_bytes()).hexdigest() for name in names}
    except OSError as error:
        raise UsageError(f"--examples {one.folder}: {error.filename} cannot be read: {error.strerror}") from error
    return [_Drawn(one.folder / name, digest, records[name]) for name, digest in digests.items()]
