"""A schema for documents of a kind that the library lacks: a fetched language model points at what a document labels.

The labels are the document's own words, as all that the model copies. A person checks the draft.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.request import Failed, Request
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.reading.planning import passage_of
from cinnabar.schemas import compile_schema

#: The characters of the document that are shown, the most fields of a draft, and of letters of a name.
SHOWN, MOST_FIELDS, _NAME = 3000, 20, 30
_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "number": {"type": ["number", "null"]},
    "date": {"type": ["string", "null"], "format": "date"},
    "yes or no": {"type": ["boolean", "null"]},
}
#: What the model is asked for.
QUESTION: dict[str, Any] = {
    "title": "form",
    "type": "object",
    "properties": {
        "labels": {
            "type": "array",
            "description": "the labels of the form: the words that are printed before each value",
            "items": {
                "type": "object",
                "properties": {
                    "label": {"type": "string", "description": "the words of the label"},
                    "kind": {"enum": [*_TYPES], "description": "the kind of value behind the label"},
                },
            },
        }
    },
}


def drafted_schema(document: Document, model: LanguageModel) -> dict[str, Any] | None:
    """Returns a schema with a field for each label of a document; None if the model points at fewer than two."""
    passage = passage_of(document, 0, min(len(document.text), SHOWN))
    (answer,) = language_engine(model).fill([Request("draft", compile_schema(QUESTION).form, passage)])
    properties: dict[str, Any] = {}
    for found in [] if isinstance(answer, Failed) else json.loads(answer.record)["labels"]:
        label = str(found.get("label") or "").strip(" :")
        name = re.sub(r"\W+", "_", label.lower()).strip("_")[:_NAME]
        if name and name not in properties and len(properties) < MOST_FIELDS:
            properties[name] = _TYPES[found.get("kind") or "text"] | {"title": label, "description": label}
    if len(properties) < 2:
        return None
    return {"title": "document", "type": "object", "properties": properties, "required": [*properties]}
