"""The closed table of refusals: why a schema that meets the standard is not accepted, and what helps.

Each is raised as `refused(Refusal.…, pointer, …)`; a test holds that no other `UnsupportedSchema` exists. The limits in
the sentences stand where they are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from cinnabar.errors import NoValue, UnsupportedSchema

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_CHOICES = ("enum", "const")
_CHECKS = ("x-cinnabar-checks",)


@dataclass(frozen=True, slots=True)
class RefusalText:
    """A refusal's keywords, and its reason and way out as templates.

    keywords: none if it may concern any. no_value: a schema that nothing meets, which an alternative may do without.
    """

    keywords: tuple[str, ...]
    reason: str
    advice: str
    no_value: bool = False


@unique
class Refusal(Enum):
    """Everything that is refused, by name."""

    # References and drafts.
    REFERENCE_NOWHERE = RefusalText(_REFERENCES, "{reference} leads nowhere", "add its target under $defs")
    REFERENCE_TO_NO_SCHEMA = RefusalText(
        _REFERENCES, "expected a schema at {reference}, got {got}", "refer to a schema"
    )
    REFERENCE_AMBIGUOUS = RefusalText(_REFERENCES, "two schemas call themselves {uri}", "give each a name of its own")
    REFERENCE_ELSEWHERE = RefusalText(
        _REFERENCES, "{reference} is not within this schema, and nothing is fetched", "copy its target under $defs"
    )
    DRAFT = RefusalText(
        ("$schema",),
        "expected a draft of JSON Schema from 4 to 2020-12, got {got:.80}",
        "name one of them, or none for 2020-12",
    )
    CIRCLE = RefusalText(
        (), "it leads back to itself without going into the value", "write the intended schema in its place"
    )
    CONTAINS_ITSELF = RefusalText((), "it contains itself without an end", "write the wanted levels one by one")

    # Depth and size of the whole.
    NESTED_AT_ONE_VALUE = RefusalText(
        (), "expected at most {most} schemas nested at one value, got {got}", "nest fewer"
    )
    NESTED_CONTAINERS = RefusalText(
        (),
        "more than {most} objects and lists within one another",
        "nest fewer, or put inner schemas under $defs and refer to them",
    )
    NESTED_SHAPES = RefusalText((), "it is nested within too many others", "flatten the schema")
    DEMANDS = RefusalText(
        (), "there are more than {most:,} parts up to here that cannot be left out", "demand fewer values at once"
    )
    WAYS = RefusalText(
        (),
        "more than {most:,} ways lead through it at one value, or at one and its parts",
        "describe the parts once, without alternatives that lead to the same ones",
    )

    # Numbers, texts and lists.
    DIGITS = RefusalText(
        (), "a number of more than {most:,} digits, written without an exponent", "leave it out, or write a shorter one"
    )
    SURROGATE = RefusalText(
        (), "expected valid Unicode, got a lone surrogate in {text}", "no text in UTF-8 has one; leave it out"
    )
    NUMBER = RefusalText((), "{problem}", "correct the number")
    PATTERN = RefusalText((), "{problem}", "write a pattern that is regular, or leave it out")
    PATTERN_OF_NAMES = RefusalText(
        ("pattern", "patternProperties", "format"), "{pattern!r:.80}: {problem}", "write a simpler pattern"
    )
    PATTERNS = RefusalText((), "{problem}", "write fewer patterns, or simpler ones")
    BOUND = RefusalText((), "{problem}", "loosen the bound")
    CHOICES = RefusalText(
        _CHOICES, "{problem}", "name fewer or shorter values, or describe them by a pattern or bounds"
    )
    LEAST = RefusalText((), "expected at most {most}, got {got}", "lower the bound")
    MIN_PROPERTIES = RefusalText(
        ("minProperties",), "expected at most {most} if fewer are declared, got {got}", "lower the bound"
    )

    # Schemas that nothing meets.
    NOTHING = RefusalText(
        (), "no value was found that meets this and the keywords beside it", "loosen one of them", no_value=True
    )
    FALSE = RefusalText(("false",), "no value is allowed here", "allow one, or leave this part out", no_value=True)
    NO_SIZE = RefusalText(
        (), "none has both {low} {parts} or more and {high} or fewer", "loosen one of them", no_value=True
    )
    NO_RECORD = RefusalText(
        (), "no record was found that meets it and all other keywords", "loosen its demands", no_value=True
    )
    NO_RECORD_OF_FORM = RefusalText(
        ("schema",), "no record of it was found that a form can hold", "loosen its demands", no_value=True
    )

    # Keywords of our own.
    TRUE_OR_FALSE = RefusalText((), "expected true or false, got {got!r:.40}", "write one of them")
    FORMER_NAME = RefusalText(
        ("x-cinnabar-was",),
        "expected the former name of the property, or a list of its former names",
        'write "x-cinnabar-was": "OLD_NAME"',
    )
    OPTION_WORDS = RefusalText(
        ("x-cinnabar-options",),
        "expected an object that gives each option a text or a list of texts",
        'write {{"OPTION": ["other word", …]}}',
    )
    OPTION_UNKNOWN = RefusalText(
        ("x-cinnabar-options",), "{option!r} is none of the choices {choices}", "name one of the choices"
    )
    DECIMALS = RefusalText(
        ("x-cinnabar-decimals",),
        "expected a whole number from 0 to {most}, got {got!r:.40}",
        "name the most decimal places",
    )
    PAGES = RefusalText(
        ("x-cinnabar-pages",),
        "expected pages from 1 as a text, got {got!r:.40}",
        'write "x-cinnabar-pages": "1-3,last"',
    )
    PAGES_OF_FIELD = RefusalText(
        ("x-cinnabar-pages",),
        "pages are those of a document, and not of a field",
        "write it beside the properties of the record",
    )
    FACT_PLACE = RefusalText(
        ("x-cinnabar-from",), "{problem}", "bind a field of the document, or a list of plain values"
    )
    KEYWORD_MISSPELT = RefusalText((), "this keyword is unknown and would have no effect", 'did you mean "{near}"?')
    KEYWORD_GONE = RefusalText((), "{keyword} is gone", "{instead}")
    CHECKS_BELOW_ROOT = RefusalText(
        _CHECKS,
        "expected at the root of the schema, where all columns of the record are known",
        "write it beside the properties of the record",
    )
    CHECKS = RefusalText(
        _CHECKS,
        'expected an object such as {{"adds_up": "net + tax = gross"}}, got {got}',
        "name each check and write its expression",
    )
    CHECKS_TOO_MANY = RefusalText(_CHECKS, "expected at most {most} checks, got {got}", "join some by and")
    CHECK_NAME = RefusalText(
        _CHECKS, "expected a name of 1 to {most} letters, digits, _, - and ., got {got!r}", "give it such a name"
    )
    CHECK_LENGTH = RefusalText(
        _CHECKS,
        "expected an expression in SQL of 1 to {most:,} characters, got {got}",
        "write a text such as net + tax = gross",
    )
    CHECK_SYNTAX = RefusalText(
        _CHECKS, "expected an expression that DuckDB accepts, got {problem}", "write a text such as net + tax = gross"
    )
    CHECK_EXPRESSION = RefusalText(_CHECKS, "{problem}", "{advice}")
    CHECK_TYPE = RefusalText(
        _CHECKS,
        "expected an expression that is true or false, got one of the type {got}",
        "compare it with something: =, <=, between, in",
    )


def refused(refusal: Refusal, pointer: str, keyword: str = "", /, **told: object) -> UnsupportedSchema:
    """Returns the error of a refusal at this pointer; `told` fills its templates.

    `keyword` is needed where the refusal may concern several.
    """
    text = refusal.value
    error = NoValue if text.no_value else UnsupportedSchema
    # A schema as a whole, at the pointer "", has no keyword.
    named = keyword or next(iter(text.keywords), "")
    return error(pointer, named, text.reason.format(**told), text.advice.format(**told))
