"""A second judge for tests: python-jsonschema, with exact numbers and the formats and patterns of Cinnabar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import jsonschema

from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.formats.formats import FORMATS, is_format
from cinnabar.schemas.keywords import DECIMALS
from cinnabar.schemas.parsing.texts import schema_text
from cinnabar.schemas.regex.patterns import pattern_matches

_CHECKER = jsonschema.FormatChecker(())
for _name in FORMATS:
    _CHECKER.checks(_name)(lambda text, name=_name: not isinstance(text, str) or is_format(name, text))


Judge = Callable[[str], bool]


def independent(schema: Any) -> Judge | None:
    """Another validator's verdict on texts; None for schemas that it reads in another way.

    It searches names by Python's patterns, and knows no `nullable`.
    """
    text = schema_text(schema, ensure_ascii=False)
    if "nullable" in text or re.search(r"patternProperties.*\\[pPcu]", text):
        return None
    schema = parse(text)
    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    validator = _exactly(draft)(schema, format_checker=_CHECKER)

    def judge(record: str) -> bool:
        try:
            return bool(validator.is_valid(parse(record)))
        except ValueError:  # no JSON, or a repeated key
            return False

    return judge


@cache
def _exactly(draft: Any) -> Any:
    keywords = {"multipleOf": _multiple, DECIMALS: _decimals, "pattern": _pattern}
    types = draft.TYPE_CHECKER.redefine("integer", _is_integer(draft))
    return jsonschema.validators.extend(draft, keywords, type_checker=types)


def _is_integer(draft: Any) -> Callable[[Any, Any], bool]:
    # In draft 4 a number with a point is no integer.
    four = draft.META_SCHEMA.get("id", "").startswith("http://json-schema.org/draft-04")

    def is_integer(_checker: Any, value: Any) -> bool:
        if isinstance(value, Decimal):
            return value.as_tuple().exponent == 0 if four else Fraction(value).denominator == 1
        return isinstance(value, int) and not isinstance(value, bool)

    return is_integer


def _exact(value: Any) -> Fraction | None:
    known = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return Fraction(str(value)) if known else None


def _multiple(_validator: Any, step: Any, value: Any, _schema: Any) -> Iterator[jsonschema.ValidationError]:
    number = _exact(value)
    if number is not None and (number / Fraction(str(step))).denominator != 1:
        yield jsonschema.ValidationError(f"{value} is no multiple of {step}")


def _decimals(validator: Any, places: Any, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    yield from _multiple(validator, Decimal(1).scaleb(-int(places)), value, schema)


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, str) and not pattern_matches(pattern, value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")
