"""The texts by which a schema says which kind of document it is for."""

from __future__ import annotations

from dataclasses import dataclass

from cinnabar.schemas import SchemaSource, compile_schema
from cinnabar.schemas.errors import SchemaError

# The most fields of a schema that are compared, in the order of the form.
_FIELDS = 24


@dataclass(frozen=True, slots=True)
class Kind:
    """The title of a schema, title and description together (`heading`), and the names of its fields."""

    name: str
    heading: str
    labels: tuple[str, ...]
    title: str


def check_described(source: SchemaSource) -> str:
    """Returns the description of a schema. Raises SchemaError if it has none."""
    description = source.schema.get("description") if isinstance(source.schema, dict) else None
    if not isinstance(description, str) or not description.strip():
        raise SchemaError(
            f"{source.name}: expected the description of a kind of document at /description, by which documents are"
            " sorted, got none; add one in a sentence, as in \"A shop's receipt: what was bought, when, for how much.\""
        )
    return description.strip()


def kind_of(source: SchemaSource) -> Kind:
    """Returns the kind of document that this schema describes. Raises SchemaError if it has no description."""
    # Cold start: it imports torch.
    from cinnabar.engine.models.reader.inputs.questions import form_questions

    description = check_described(source)
    form = compile_schema(source.schema).form
    asked = form_questions(form)
    # A choice of a whole record's form has no name.
    named = [q for slot, q in zip(form.slots, asked.slots, strict=True) if slot.path]
    questions = [q for q in (*named, *asked.arrays) if q.label]
    labels = list(dict.fromkeys(question.label for question in questions))
    title = (isinstance(source.schema, dict) and source.schema.get("title")) or source.name
    return Kind(source.name, f"{title}: {description}", tuple(labels[:_FIELDS]), title)
