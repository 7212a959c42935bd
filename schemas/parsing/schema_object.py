"""One schema object (its place, keywords as in draft 2020-12, annotations and types), and the state of its reading.

The state holds the limits, the parts left out, and the reason for a stop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cinnabar.errors import UnsupportedSchema
from cinnabar.schemas.automata.strings import json_text
from cinnabar.schemas.judging.dialects import Entry, modern
from cinnabar.schemas.judging.resources import Documents, Place
from cinnabar.schemas.keywords import DECIMALS, PAGES, page_ranges_of
from cinnabar.schemas.parsing.algebra import TYPES, types_of
from cinnabar.schemas.parsing.shape import Binding, Notes, Shape
from cinnabar.schemas.pointers import escape
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


#: The keyword that binds a value to a fact (`schemas/compiling/fact_fields.py`).
BINDING = "x-cinnabar-from"
#: The keyword that gives other words for options: {"cancellation": ["Kündigung", "hiermit kündige ich"]}.
WORDS = "x-cinnabar-options"
#: The keyword that gives the former names of a property, whose values and corrections it takes over.
WAS = "x-cinnabar-was"
#: The keyword that says whether documents write the day before the month; at the root for all fields.
DAY_FIRST = "x-cinnabar-day-first"

#: The keyword that says that a person would word a text anew, as a summary.
WRITTEN = "x-cinnabar-written"
#: The keyword that, if false, says that the form told in a description is none.
TOLD = "x-cinnabar-told"


def schema_notes(schema: Mapping[str, Any], pointer: str) -> Notes:
    """The notes that the annotations of the schema at this pointer give."""
    fact = schema.get(BINDING)
    examples = schema.get("examples", [schema["example"]] if "example" in schema else [])
    texts = [annotation(example) for example in examples] if isinstance(examples, list) else []
    day_first = schema.get(DAY_FIRST)
    if not isinstance(day_first, bool | None):
        raise refused(Refusal.TRUE_OR_FALSE, f"{pointer}/{DAY_FIRST}", DAY_FIRST, got=day_first)
    written = schema.get(WRITTEN, False)
    if not isinstance(written, bool):
        raise refused(Refusal.TRUE_OR_FALSE, f"{pointer}/{WRITTEN}", WRITTEN, got=written)
    told = schema.get(TOLD, True)
    if not isinstance(told, bool):
        raise refused(Refusal.TRUE_OR_FALSE, f"{pointer}/{TOLD}", TOLD, got=told)
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
        page_ranges_of(schema[PAGES], pointer) if PAGES in schema else None,
        told,
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


#: The most shapes of a form; references are inlined, so schemas may grow without bound. The second number applies if
#: even the optional values of the root are too many; the rest is for required values.
MAX_SHAPES, MAX_DEMANDED = 2_000, 4_000
CUT = "left out, because the form has reached its largest size"


class TooMany(Exception):
    """A schema has more values than a form may have; `pointer` is the place at which the reading stopped."""

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer
        super().__init__(pointer)


@dataclass(slots=True)
class ReadingState(ABC):
    """One reading of one schema; the keywords ask it for the shapes of the places below them."""

    documents: Documents
    levels: int
    unrolled: int
    denying: bool = False
    #: Whether optional values are left out once the form is too large, instead of refusing the schema.
    sparing: bool = False
    left_out: list[tuple[str, str]] = field(default_factory=list)
    shapes: int = 0
    #: The pointer of the last value that was read.
    reached: str = ""
    problem: UnsupportedSchema | None = None

    @abstractmethod
    def read(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of the schema at a place, `level` containers deep; None if no value can be written.

        `types` are the JSON types that the surrounding keywords leave.
        """

    @property
    def full(self) -> bool:
        """Whether optional values are no longer read."""
        return self.sparing and self.shapes >= MAX_SHAPES

    def go_on_without(self, stopped: TooMany, needed: bool) -> None:
        """Leaves room for required values beside a part that is too large; raises again if the part is needed."""
        if needed or not self.sparing:
            raise stopped
        self.shapes = MAX_SHAPES

    def count(self, pointer: str) -> None:
        """Counts one more value, at this place of the schema; raises TooMany past the limit."""
        self.shapes += 1
        self.reached = pointer
        if self.shapes > (MAX_DEMANDED if self.sparing else MAX_SHAPES):
            raise TooMany(pointer)

    def note_no_value(self, problem: UnsupportedSchema) -> None:
        """Records the reason why no value can be written here; the first reason is reported."""
        self.problem = self.problem or problem

    def optional(self, place: Place, types: frozenset[str], level: int) -> Shape | None:
        """The shape of a place; a failure there is not recorded as a problem."""
        before = self.problem
        found = self.read(place, types, level)
        self.problem = before
        return found


#: The types of a value if no keyword names one.
ANY_TYPE = frozenset(TYPES)


@dataclass(frozen=True, slots=True)
class NamedTypes:
    """Finds the types that the schemas of some documents name; results are kept."""

    documents: Documents
    _types_of: dict[Place, frozenset[str]] = field(default_factory=dict, init=False, repr=False)

    def of(self, place: Place) -> frozenset[str]:
        """The types that a schema, or one it leads to at the same value, names; all types if none does."""
        types = self._types_of.get(place)
        if types is None:
            # A schema that leads back to itself names no further type.
            types = self._types_of[place] = ANY_TYPE
            if isinstance(place.value, Mapping):
                schema = SchemaObject(place, modern(place.value, place.resource.dialect))
                for part in self._type_names(schema):
                    if not part | {"integer"} >= ANY_TYPE:
                        types = common(types, part)
            self._types_of[place] = types
        return types

    def _type_names(self, schema: SchemaObject) -> Iterator[frozenset[str]]:
        named = schema.get("type")
        if named is not None:
            yield frozenset(named if isinstance(named, list) else [named])
        values = [*schema.get("enum", ()), *([schema.get("const")] if "const" in schema else ())]
        if values:
            yield frozenset(_type_of(value) for value in values)
        if "$ref" in schema:
            yield self.of(self.documents.resolve(schema.get("$ref"), schema.place, "$ref")[0])
        for at in range(len(schema.get("allOf", ()))):
            yield self.of(schema.below("allOf", str(at)))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                parts = [self.of(schema.below(keyword, str(at))) for at in range(len(schema.get(keyword)))]
                yield frozenset[str]().union(*parts)


def _type_of(value: Any) -> str:
    """The JSON type of a value; `number` for all numbers."""
    others = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return others.get(type(value), "number")


def common(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    """The types that both sets allow; integers count as numbers."""
    both = set(first & second)
    if ("number" in first and "integer" in second) or ("integer" in first and "number" in second):
        both.add("integer")
    if "number" in both:
        both.discard("integer")
    return frozenset(both)


def left(types: frozenset[str], part: Shape | None) -> frozenset[str]:
    """The types that `part` leaves; None leaves them all."""
    return types if part is None else common(types, types_of(part))
