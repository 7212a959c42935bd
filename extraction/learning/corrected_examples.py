"""The corrected documents of an output folder as examples in the prompts of a language model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from cinnabar.engine.examples import Example, Examples
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.learning.corrected_set import corrected_set
from cinnabar.extraction.store.stored_records import names
from cinnabar.schemas import compile_schema
from cinnabar.schemas.errors import NotAccepted


def corrected_examples(out: Path) -> Examples:
    """Returns the documents of this folder that a person has looked at from end to end, by the forms of their schemas.

    Documents that are no longer found are left out, and records that their schema's form does not hold.
    """
    by_form: dict[str, list[Example]] = {}
    for name in names(out):
        corrected = corrected_set(out, name)
        compiled = compile_schema(corrected.source.schema)
        own = []
        for line in corrected.labelled.truths:
            read = corrected.reads[line["file"]].found
            try:
                record = compiled.canonical(line["truth"])
            except NotAccepted:
                continue
            if isinstance(read, Document) and read.text.strip():
                own.append(Example(read.text, record))
        if own:
            by_form[compiled.form.fingerprint] = sorted(own, key=lambda one: (one.text, one.record))
    content = {form: [[one.text, one.record] for one in own] for form, own in sorted(by_form.items())}
    return Examples(hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16], by_form)
