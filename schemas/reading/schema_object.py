"""One schema object: its place, its keywords as in draft 2020-12, and its annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cinnabar.schemas.automata.canonical import json_text
from cinnabar.schemas.decimals import DECIMALS
from cinnabar.schemas.judging.dialects import Entry
from cinnabar.schemas.judging.resources import Place
from cinnabar.schemas.lookups import lookup_of
from cinnabar.schemas.page_ranges import PAGES, page_ranges_of
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.reading.shape import Binding, Notes
from cinnabar.schemas.refusals import Refusal, refused

#: The keywords for each JSON type; a schema without `type` is read as of the types of its keywords.
ABOUT = {
    "string": ("pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", DECIMALS),
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
    ),
    "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems", "unevaluatedItems"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SchemaObject:
    """One schema object: its place, and its keywords by their names in 2020-12."""

    place: Place
    entries: dict[str, Entry]

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.entries

    def get(self, keyword: str, default: Any = None) -> Any:
        """The value under a keyword."""
        return self.entries[keyword][1] if keyword in self.entries else default

    def below(self, keyword: str, *tokens: str) -> Place:
        """The place of a schema under this keyword."""
        found = self.place.child(self.entries[keyword][0])
        for token in tokens:
            found = found.child(token)
        return found

    def pointer(self, keyword: str = "") -> str:
        """The pointer of this schema, or of a keyword of it."""
        own = self.place.pointer
        if keyword not in self.entries:
            return own
        return f"{own}/{escape(self.entries[keyword][0])}"

    @property
    def values(self) -> dict[str, Any]:
        """All values by keyword."""
        return {keyword: value for keyword, (_, value) in self.entries.items()}


#: The keyword that binds a value to a fact (`schemas/compiling/bindings.py`).
BINDING = "x-cinnabar-from"
#: The keyword that gives other words for options: {"cancellation": ["Kündigung", "hiermit kündige ich"]}.
WORDS = "x-cinnabar-options"
#: The keyword that gives the former names of a property, whose values and corrections it takes over.
WAS = "x-cinnabar-was"
#: The keyword that says whether documents write the day before the month; at the root for all fields.
DAY_FIRST = "x-cinnabar-day-first"

#: The keyword that says that a person would word a text anew, as a summary.
WRITTEN = "x-cinnabar-written"


def schema_notes(schema: Mapping[str, Any], pointer: str) -> Notes:
    """The notes that the annotations of the schema at this pointer give."""
    fact = schema.get(BINDING)
    examples = schema.get("examples", [schema["example"]] if "example" in schema else [])
    texts = [annotation(example) for example in examples] if isinstance(examples, list) else []
    day_first = schema.get(DAY_FIRST)
    if not isinstance(day_first, bool | None):
        raise refused(Refusal.DAY_FIRST, f"{pointer}/{DAY_FIRST}", got=day_first)
    written = schema.get(WRITTEN, False)
    if not isinstance(written, bool):
        raise refused(Refusal.WRITTEN, f"{pointer}/{WRITTEN}", got=written)
    return Notes(
        _words(schema.get("title")),
        _words(schema.get("description")),
        tuple(text for text in texts if text is not None),
        annotation(schema["default"]) if "default" in schema else None,
        Binding(fact, f"{pointer}/{BINDING}") if isinstance(fact, str) else None,
        _words_of_options(schema, pointer) if WORDS in schema else (),
        day_first,
        _former_names(schema[WAS], f"{pointer}/{WAS}") if WAS in schema else (),
        written,
        lookup_of(schema, pointer),
        page_ranges_of(schema[PAGES], pointer) if PAGES in schema else None,
    )


def _former_names(found: object, pointer: str) -> tuple[str, ...]:
    """The names of `x-cinnabar-was`. Raises UnsupportedSchema for another form."""
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise refused(Refusal.FORMER_NAME, pointer)
    return tuple(names)


def _words_of_options(schema: Mapping[str, Any], pointer: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The options of `x-cinnabar-options` with their words. Raises UnsupportedSchema for another form."""
    found = schema[WORDS]
    lists = {
        option: [words] if isinstance(words, str) else words
        for option, words in (found.items() if isinstance(found, dict) else ())
    }
    good = isinstance(found, dict) and all(
        isinstance(words, list) and all(isinstance(word, str) and word.strip() for word in words)
        for words in lists.values()
    )
    if not good:
        raise refused(Refusal.OPTION_WORDS, f"{pointer}/{WORDS}")
    known = [_option(option) for option in schema.get("enum", ())]
    unknown = next((option for option in lists if option not in known), None) if known else None
    if unknown is not None:
        place, choices = f"{pointer}/{WORDS}/{escape(unknown)}", ", ".join(sorted(known))
        raise refused(Refusal.OPTION_UNKNOWN, place, option=unknown, choices=choices)
    return tuple((option, tuple(word.strip() for word in words)) for option, words in lists.items())


def _option(value: Any) -> str:
    return value if isinstance(value, str) else annotation(value) or ""


def _words(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def annotation(value: Any) -> str | None:
    """A value as canonical text; None if it has none. An annotation constrains nothing, so this is no error."""
    try:
        return json_text(value)
    except ValueError:
        return None
