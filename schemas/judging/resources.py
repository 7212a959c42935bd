"""Places of schemas and targets of references: URIs, JSON pointers, anchors, meta-schemas.

URIs follow RFC 3986, JSON pointers RFC 6901. Nothing is ever fetched: the meta-schemas of the drafts come with a
package, and a reference to any other document outside of the schema is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from cinnabar.errors import SchemaError, UnsupportedSchema
from cinnabar.schemas.judging.dialects import DEFAULT, Dialect, dialect_named
from cinnabar.schemas.keywords import MAPS
from cinnabar.schemas.pointers import escape, unescape
from cinnabar.schemas.refusals import Refusal, refused

# Keywords that hold one schema, a list of schemas, or schemas by name. An older draft knows fewer; a keyword that
# only a later draft knows then holds schemas that nobody refers to.
ONE = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
RECURSIVE = ""
"""The name of `$recursiveAnchor` of 2019-09 among the dynamic anchors; theirs are longer."""


class Resource:
    """A schema with a URI of its own, and the anchors within it; `dialect` is the draft of the schema."""

    __slots__ = ("anchors", "dialect", "dynamic", "root", "uri")

    def __init__(self, uri: str, dialect: Dialect) -> None:
        self.uri, self.dialect = uri, dialect
        self.root: Place
        self.anchors: dict[str, Place] = {}
        self.dynamic: dict[str, Place] = {}


class Place:
    """A value within a schema document, and its resource; each place has one object."""

    __slots__ = ("children", "document", "indexed", "parent", "resource", "token", "value")

    def __init__(
        self, value: Any, parent: Place | None, token: str, resource: Resource, document: str
    ) -> None:
        self.value, self.parent, self.token, self.resource = value, parent, token, resource
        self.document, self.indexed = document, False
        self.children: dict[str, Place] = {}

    @property
    def pointer(self) -> str:
        """The JSON pointer from the root of the schema; in a meta-schema, its URI stands before the pointer."""
        tokens: list[str] = []
        here: Place | None = self
        while here is not None and here.parent is not None:
            tokens.append(escape(here.token))
            here = here.parent
        path = "".join(f"/{token}" for token in reversed(tokens))
        return f"{self.document}#{path}" if self.document else path

    def child(self, token: str) -> Place:
        """The place below this one; raises KeyError if there is none."""
        place = self.children.get(token)
        if place is None:
            if isinstance(self.value, dict):
                value = self.value[token]
            elif isinstance(self.value, list) and token.isdecimal() and int(token) < len(self.value):
                value = self.value[int(token)]
            else:
                raise KeyError(token)
            place = self.children[token] = Place(value, self, token, self.resource, self.document)
        return place


class Documents:
    """The schema and the meta-schemas that it refers to, with every resource and anchor within them."""

    def __init__(self, schema: Any) -> None:
        self.resources: dict[str, Resource] = {}
        self._ambiguous: set[str] = set()
        self.root = self._add(schema, "", "")

    def _add(self, schema: Any, uri: str, document: str) -> Place:
        resource = Resource(uri, DEFAULT)
        root = resource.root = Place(schema, None, "", resource, document)
        if isinstance(schema, dict) and "$schema" in schema:
            resource.dialect = _dialect_of(root)
        self.resources[uri] = resource
        self._index(root)
        return root

    def _index(self, start: Place) -> None:
        """Records the names of this schema and of those below it; not recursive, since schemas may be deep."""
        pending = [start]
        while pending:
            place = pending.pop()
            if place.indexed or not isinstance(place.value, dict):
                continue
            place.indexed = True
            self._name(place)
            pending.extend(_subschemas(place))

    def _name(self, place: Place) -> None:
        schema, dialect = place.value, place.resource.dialect
        if "$schema" in schema and place.parent is not None:
            # An embedded schema of another draft is recognised by that draft's own keyword.
            dialect = dialect_named(str(schema["$schema"])) or dialect
        name = schema.get(dialect.id_keyword)
        if isinstance(name, str) and not (dialect.ref_stands_alone and isinstance(schema.get("$ref"), str)):
            head, _, fragment = name.partition("#")
            if head:
                self._open(place, resolve_uri(place.resource.uri, head, place))
            if fragment and dialect <= Dialect.DRAFT_7:
                place.resource.anchors.setdefault(fragment, place)
        if dialect >= Dialect.DRAFT_2019_09:
            self._anchor(place, place.resource)

    def _open(self, place: Place, uri: str) -> None:
        """Begins a resource with this URI at this place."""
        resource = place.resource
        if resource.root is not place:
            resource = Resource(uri, resource.dialect)
            resource.root = place
            place.resource = resource
            if "$schema" in place.value:
                resource.dialect = _dialect_of(place)
        resource.uri = uri
        if self.resources.setdefault(uri, resource) is not resource:
            self._ambiguous.add(uri)

    def _anchor(self, place: Place, resource: Resource) -> None:
        schema = place.value
        if isinstance(schema.get("$anchor"), str):
            resource.anchors.setdefault(schema["$anchor"], place)
        if resource.dialect is Dialect.DRAFT_2019_09:
            if schema.get("$recursiveAnchor") is True and resource.root is place:
                resource.dynamic[RECURSIVE] = place
        elif isinstance(schema.get("$dynamicAnchor"), str):
            resource.anchors.setdefault(schema["$dynamicAnchor"], place)
            resource.dynamic.setdefault(schema["$dynamicAnchor"], place)

    def resolve(self, reference: Any, place: Place, keyword: str) -> tuple[Place, str]:
        """The schema that a reference at `place` leads to, and its fragment.

        Raises UnsupportedSchema with the pointer of `keyword` if it leads nowhere or out of the schema.
        """
        where = f"{place.pointer}/{keyword}"
        if not isinstance(reference, str):
            raise SchemaError(f"{where}: expected a URI reference, got {type(reference).__name__}")
        base, fragment = place.resource.uri, reference.partition("#")[2]
        uri = resolve_uri(base, reference, place).partition("#")[0]
        resource = place.resource if uri == base else self._resource(uri, where, keyword, reference)
        fragment = unquote(fragment)
        target = self._within(resource, fragment)
        if target is None:
            raise refused(Refusal.REFERENCE_NOWHERE, where, keyword, reference=reference)
        if not isinstance(target.value, (dict, bool)):
            kind = type(target.value).__name__
            raise refused(Refusal.REFERENCE_TO_NO_SCHEMA, where, keyword, reference=reference, got=kind)
        self._index(target)
        return target, fragment

    def first_unresolved(self) -> UnsupportedSchema | None:
        """The error of the first reference that leads nowhere, in any part; None if all references resolve."""
        for place in self.subschemas():
            for keyword in REFERENCES:
                if isinstance(place.value.get(keyword), str):
                    try:
                        self.resolve(place.value[keyword], place, keyword)
                    except UnsupportedSchema as problem:
                        return problem
        return None

    def subschemas(self) -> Iterator[Place]:
        """Yields the places of all schema objects within this schema, unused ones too, in its order."""
        pending = [self.root]
        while pending:
            place = pending.pop()
            if isinstance(place.value, dict):
                yield place
                pending += reversed(list(_subschemas(place)))

    def _resource(self, uri: str, where: str, keyword: str, reference: str) -> Resource:
        if uri in self._ambiguous:
            raise refused(Refusal.REFERENCE_AMBIGUOUS, where, keyword, uri=uri)
        if uri not in self.resources:
            text = _meta_schemas().get(uri)
            if text is None:
                raise refused(Refusal.REFERENCE_ELSEWHERE, where, keyword, reference=reference)
            self._add(text, uri, uri)
        return self.resources[uri]

    def _within(self, resource: Resource, fragment: str) -> Place | None:
        if not fragment:
            return resource.root
        if not fragment.startswith("/"):
            return resource.anchors.get(fragment)
        place = resource.root
        try:
            for token in fragment.split("/")[1:]:
                # A part that no known keyword leads to is not indexed yet; a name on the way changes the base.
                place = place.child(unescape(token))
        except KeyError:
            return None
        return place


def resolve_uri(base: str, reference: str, place: Place) -> str:
    """This URI reference resolved against a base; a base that is not hierarchical takes fragments only."""
    try:
        scheme = urlsplit(base).scheme
        if reference.startswith("#") or not reference:
            return base.partition("#")[0] + reference
        if scheme in ("http", "https", "file", "") or "://" not in base or urlsplit(reference).scheme:
            return urljoin(base, reference)
        # urljoin knows few schemes by name; its rules for http are right for every hierarchical one.
        return scheme + urljoin("http" + base[len(scheme) :], reference)[len("http") :]
    except ValueError as problem:
        where = place.pointer or "/"
        raise SchemaError(f"{where}: expected a URI, got {reference!r:.80}: {problem}") from None


def _dialect_of(root: Place) -> Dialect:
    name, where = root.value["$schema"], f"{root.pointer}/$schema"
    if not isinstance(name, str):
        raise SchemaError(f"{where}: expected a URI, got {type(name).__name__}")
    dialect = dialect_named(name)
    if dialect is None:
        raise refused(Refusal.DRAFT, where, got=name)
    return dialect


def _subschemas(place: Place) -> Iterator[Place]:
    schema = place.value
    for keyword in schema.keys() & {*ONE, *LISTS, *MAPS}:
        value, below = schema[keyword], place.child(keyword)
        if isinstance(value, dict) and keyword in MAPS:
            yield from (below.child(name) for name in value)
        elif isinstance(value, dict) and keyword in ONE:
            yield below
        elif isinstance(value, list) and keyword in LISTS:
            yield from (below.child(str(i)) for i in range(len(value)))


@cache
def _meta_schemas() -> dict[str, Any]:
    """The meta-schemas of all drafts and their vocabularies, by URI without a fragment."""
    # Cold start: it reads its files in 36 ms, and few schemas refer to a meta-schema.
    from jsonschema_specifications import REGISTRY

    return {uri.rstrip("#"): REGISTRY.contents(uri) for uri in REGISTRY}
