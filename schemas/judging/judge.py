"""The judge of a schema, compiled once by jsonschema-rs: whether a value is allowed, and which rules it breaks.

The place of a violation is as deep as it is certain: if only one alternative of an `anyOf` or `oneOf` is for values of
this type, its violation is the one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from cinnabar.errors import SchemaError
from cinnabar.schemas.judging.resources import LISTS, ONE, REFERENCES, Documents, resolve_uri
from cinnabar.schemas.judging.translation import looks_around, options_of, rewritten, translate
from cinnabar.schemas.judging.ways import check_routes
from cinnabar.schemas.keywords import DATA, MAPS, schemas_in
from cinnabar.schemas.pointers import MISSING, pointer_of, unescape, value_at

_Kind = jsonschema_rs.ValidationErrorKind
_NONE_FITS = (_Kind.AnyOf, _Kind.OneOfNotValid)
#: A message tells at most so many alternatives.
_REASONS = 3
#: The deepest value of which places are told where errors of alternatives cannot be hidden: they double by level.
_DEEPEST_SHOWN = 8
#: The validators of alternatives that are kept.
_SEEKERS = 8
#: The base of the schema's URIs within jsonschema-rs.
_BASE = "cinnabar:///"


@dataclass(frozen=True, slots=True)
class Violation:
    """The reason why a value does not meet its schema.

    `pointer` is the place in the value, `schema_pointer` the place of the keyword in the schema, both RFC 6901; in a
    meta-schema its URI stands before the pointer. `str()` gives the whole sentence.
    """

    pointer: str
    schema_pointer: str
    keyword: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.message}"


_UNPLACED = Violation("", "", "", "the schema does not allow it")


class Judge:
    """A schema that is ready to judge; threads may share it.

    It never fetches a reference outside of the schema. Raises UnsupportedSchema, with the pointer, for what
    `check_routes` refuses and for a reference to elsewhere, also in an unused part. Raises SchemaError if the schema
    cannot be used for another reason.
    """

    def __init__(self, schema: dict[str, Any] | bool) -> None:
        self._documents = Documents(schema)
        check_routes(self._documents)
        looks = looks_around(schema)
        self._schema, self._patterns = translate(schema, looks)
        self._draft = jsonschema_rs.validator_cls_for(self._schema)
        self._options = options_of(self._draft.__name__, looks)
        self._seekers: dict[str, jsonschema_rs.Validator] = {}
        try:
            self._validator = self._ready(self._schema)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            # jsonschema-rs reads unused parts as well, and does not tell the places of references.
            raise self._documents.first_unresolved() or SchemaError(f"jsonschema-rs refuses it: {error}") from error

    def accepts(self, value: Any) -> bool:
        """Whether this parsed JSON value meets the schema; numbers may be int, Decimal or float."""
        try:
            return self._validator.is_valid(value)
        except ValueError:  # nested too deeply
            return False

    def violation(self, value: Any) -> Violation | None:
        """The first rule that the value breaks, None if it meets the schema."""
        return None if self.accepts(value) else self._first(_BASE, value)

    def violations(self, value: Any) -> list[Violation]:
        """All rules that the value breaks."""
        if self.accepts(value):
            return []
        if self._is_too_deep(value):
            return [_UNPLACED]
        try:
            return [self._violation(error, value) for error in self._seeker(_BASE).iter_errors(value)]
        except ValueError as error:
            return [_unjudged(error)]

    def _ready(self, schema: Any) -> jsonschema_rs.Validator:
        meta = self._meta_schemas()
        registry = jsonschema_rs.Registry(meta) if meta else None
        return self._draft(schema, base_uri=_BASE, registry=registry, **self._options)

    def _meta_schemas(self) -> list[tuple[str, Any]]:
        places = {uri: resource.root for uri, resource in self._documents.resources.items()}
        return [(uri, place.value) for uri, place in places.items() if place.document and place.parent is None]

    @cached_property
    def _sought(self) -> Any:
        """The schema in which the places of violations are sought.

        jsonschema-rs lists the errors of all alternatives, and of all alternatives within them: their number grows
        with the power of the depth. So those that apply schemas are negated twice, which hides their errors, and are
        asked by themselves. The parts that they evaluate are hidden too.
        """
        unevaluated = {"unevaluatedProperties", "unevaluatedItems"}
        if not any(unevaluated & part.keys() for _, part in schemas_in(self._schema)):
            hidden = rewritten(self._schema, _hide, DATA | {"not"})
            with suppress(ValueError, jsonschema_rs.ReferencingError):  # A reference leads through an alternative.
                self._ready(hidden)
                return hidden
        return self._schema

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        root = self._documents.root
        own = resolve_uri(_BASE, root.resource.uri, root)
        return jsonschema_rs.Registry([(own, self._sought), *self._meta_schemas()])

    def _seeker(self, uri: str) -> jsonschema_rs.Validator:
        """The validator that tells the places of violations of the schema at this URI."""
        found = self._seekers.pop(uri, None)
        if found is None and uri == _BASE:
            found = self._ready(self._sought)
        elif found is None:
            found = self._draft({"$ref": uri}, registry=self._registry, **self._options)
        self._seekers[uri] = found
        for oldest in list(self._seekers)[:-_SEEKERS]:
            self._seekers.pop(oldest, None)
        return found

    def _first(self, uri: str, value: Any, deep: bool = True) -> Violation:
        if self._is_too_deep(value):
            return _UNPLACED
        try:
            self._seeker(uri).validate(value)
        except jsonschema_rs.ValidationError as error:
            return self._violation(error, value, deep)
        except ValueError as error:
            return _unjudged(error)
        # A dynamic reference that leads elsewhere from here.
        return _UNPLACED

    def _is_too_deep(self, value: Any) -> bool:
        return self._sought is self._schema and _depth(value) > _DEEPEST_SHOWN

    def _violation(self, error: jsonschema_rs.ValidationError, value: Any, deep: bool = True) -> Violation:
        """The violation of this error; `deep` says that alternatives below the value itself are asked, too."""
        pointer, kind = pointer_of(error.instance_path), error.kind
        if isinstance(kind, _NONE_FITS) and (deep or not pointer):
            part = value_at(value, pointer)
            asked = [self._alternative(error, at, way[0], part) for at, way in enumerate(kind.context)]
            return self._none_fits(self._place(error), pointer, asked, part if deep else MISSING)
        if isinstance(kind, (_Kind.AdditionalProperties, _Kind.UnevaluatedProperties)):
            pointer += pointer_of(kind.unexpected[:1])
        elif isinstance(kind, _Kind.AdditionalItems):
            pointer += f"/{kind.limit}"
        place = self._place(error)
        false = isinstance(kind, _Kind.FalseSchema)
        if not false:  # Behind `dependentRequired` it has a number.
            place = place.rstrip("0123456789").rstrip("/")
        keyword = "false" if false else place.rpartition("/")[2]
        pattern = getattr(kind, "pattern", None)
        message = error.message.replace(pattern, self._patterns.get(pattern, pattern)) if pattern else error.message
        if isinstance(kind, _NONE_FITS):
            message = f"fits none of {len(kind.context)} alternatives"
        return Violation(pointer, place, keyword, message)

    def _place(self, error: jsonschema_rs.ValidationError) -> str:
        """The place of the keyword in the schema, as it was written."""
        uri, _, fragment = (error.absolute_keyword_location or "").partition("#")
        known = self._documents.resources
        resource = known.get(uri.removeprefix(_BASE), known.get(uri.removeprefix(_BASE[:-1])))
        steps = (unescape(step) for step in _HIDDEN.sub(r"\1", unquote(fragment)).split("/")[1:])
        place = pointer_of(self._patterns.get(step, step) for step in steps)
        return place if resource is None else resource.root.pointer + place

    def _alternative(
        self, error: jsonschema_rs.ValidationError, at: int, first: jsonschema_rs.ValidationError, part: Any
    ) -> tuple[Violation, str]:
        """The first violation of an alternative, and the URI of the alternative if its errors are hidden."""
        if first.schema_path[-3:] == [error.schema_path[-1], at, "not"]:
            uri = f"{error.absolute_keyword_location}/{at}/not/not"
            return self._first(uri, part, deep=False), uri
        way = self._violation(first, part, deep=False)
        return replace(way, pointer=way.pointer.removeprefix(pointer_of(error.instance_path))), ""

    def _none_fits(self, place: str, pointer: str, asked: list[tuple[Violation, str]], part: Any) -> Violation:
        """The violation of an `anyOf` or `oneOf` of which nothing fits this part; MISSING if none is asked again."""
        # An alternative of another type tells nothing, if one of the right type is nearly right.
        near = [(way, uri) for way, uri in asked if way.keyword != "type" or way.pointer]
        if len(near) == 1:
            ((way, uri),) = near
            way = self._first(uri, part) if uri and part is not MISSING else way
            return replace(way, pointer=pointer + way.pointer)
        reasons = list(dict.fromkeys(str(way) if way.pointer else way.message for way, _ in near or asked))
        rest = f"; and {len(reasons) - _REASONS} more" if len(reasons) > _REASONS else ""
        message = f"fits none of {len(asked)} alternatives: {'; '.join(reasons[:_REASONS])}{rest}"
        return Violation(pointer, place, place.rpartition("/")[2] if near else "type", message)


def judge_of(schema: dict[str, Any] | bool) -> Judge:
    """The judge of a schema; each draft from 4 to 2020-12 has its own rules. Raises the exceptions of `Judge`."""
    return Judge(schema)


def _unjudged(error: ValueError) -> Violation:
    # Nested too deeply, or a string that is not valid Unicode.
    return Violation("", "", "", f"jsonschema-rs refuses the record: {error}")


def _depth(value: Any) -> int:
    """How many lists and objects lie within each other at most."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        depth += 1
        level = [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
    return depth


_HIDDEN = re.compile(r"(/(?:anyOf|oneOf)/[0-9]+)/not/not(?=/|$)")


def _hide(part: dict[str, Any]) -> None:
    for keyword in ("anyOf", "oneOf"):
        if isinstance(part.get(keyword), list):
            part[keyword] = [
                {"not": {"not": one}} if isinstance(one, dict) and one.keys() & _APPLYING else one
                for one in part[keyword]
            ]


_APPLYING = {*ONE, *LISTS, *MAPS, *REFERENCES}
