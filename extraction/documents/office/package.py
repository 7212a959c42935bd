"""The ZIP package of an office file: its members, their XML, the relations between them, and the files within."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import add_content
from cinnabar.extraction.documents.content.limits import MAX_ATTRIBUTES, MAX_PACKAGE_FILES, MAX_RELATIONS, MAX_TREE
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.content.zipped import open_zip, plain_name, read_member


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a member: its kind without the address before it, and the member or the outer address."""

    kind: str
    target: str
    outside: bool


class Package:
    """The members of an office file. Every unpacked byte counts within the bounds of the reading."""

    def __init__(self, reading: ParseContext, data: bytes) -> None:
        self._reading = reading
        self._archive = open_zip(data)
        # The last of equal names is the one that office programs read.
        self._entries = {plain_name(entry.filename): entry for entry in self._archive.infolist()}

    def __contains__(self, name: str) -> bool:
        return plain_name(name) in self._entries

    def read(self, name: str) -> bytes:
        """Returns a member. Raises DocumentError: broken (also if there is no such member), password, unpacked."""
        entry = self._entries.get(plain_name(name))
        if entry is None:
            raise DocumentError("broken", "a part of the office file is missing")
        return read_member(self._archive, entry, self._reading.count)

    def tree(self, name: str) -> Any | None:
        """Returns the root element of a member; None if there is no such member, or nothing in it can be read."""
        if name not in self:
            return None
        try:
            data = self.read(name)
        except DocumentError as error:
            if error.code != "broken":
                raise
            self._reading.builder.flags.add("repaired")
            return None
        if len(data) > MAX_TREE:
            raise DocumentError("unpacked", f"an XML part of {len(data)} bytes, at most {MAX_TREE} are read")
        root, damaged = xml_tree(data)
        if root is not None and next(root.iter(etree.Entity), None) is not None:
            # An entity would hide the text behind it, which belongs to its node.
            etree.strip_elements(root, etree.Entity, with_tail=False)
            damaged = True
        if damaged:
            self._reading.builder.flags.add("repaired")
        return root

    def relations(self, name: str) -> dict[str, Relation]:
        """Returns the relations of a member by their ids; `name` "" stands for the package."""
        folder, base = posixpath.split(name)
        root = self.tree(posixpath.join(folder, "_rels", f"{base}.rels"))
        relations: dict[str, Relation] = {}
        for element in () if root is None else root:
            target = element.get("Target") or ""
            outside = element.get("TargetMode") == "External"
            if not outside:
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            kind = (element.get("Type") or "").rpartition("/")[2]
            relations[element.get("Id") or ""] = Relation(kind, target, outside)
            if len(relations) >= MAX_RELATIONS:
                self._reading.builder.flags.add("truncated")
                break
        return relations

    def related_members(self, name: str, kind: str) -> list[str]:
        """Returns the members that this one is related to in this way, each once."""
        relations = self.relations(name).values()
        return list(dict.fromkeys(one.target for one in relations if one.kind == kind and not one.outside))

    def main(self, otherwise: str, missing: str) -> tuple[str, Any]:
        """Returns the name and the root element of the document's own member, and adds the document's properties.

        Raises DocumentError("broken", missing) without such a member.
        """
        self.add_properties()
        names = self.related_members("", "officeDocument")
        name = names[0] if names and names[0] in self else otherwise
        root = self.tree(name)
        if root is None:
            raise DocumentError("broken", missing)
        return name, root

    def add_properties(self, member: str = "docProps/core.xml") -> None:
        """Adds the properties of the whole document, such as its title and author."""
        if not self._reading.is_top or (root := self.tree(member)) is None:
            return
        for element in root.iter():
            key = {"initial-creator": "creator", "creation-date": "created", "date": "modified"}.get(
                local(element), local(element)
            )
            if key in ("title", "subject", "creator", "keywords", "created", "modified") and element.text:
                self._reading.builder.metadata[key] = element.text.strip()[:1000]


_LONG_TAG, _ATTRIBUTE = re.compile(rb"<[^<>]{50000,}"), re.compile(rb"=\s*[\"']")


def xml_tree(data: bytes) -> tuple[Any | None, bool]:
    """Returns the root element of XML, None if nothing can be read, and true if it is damaged.

    Nothing outside is fetched and no entity is expanded; damaged XML is read as far as it goes. An element with too
    many attributes is not read.
    """
    for tag in _LONG_TAG.finditer(data):
        if len(_ATTRIBUTE.findall(tag[0])) > MAX_ATTRIBUTES:
            return None, True
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True,
        remove_pis=True, recover=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError):
        return None, True
    return root, any(entry.level_name in ("ERROR", "FATAL") for entry in parser.error_log)


def local(element: Any) -> str:
    """Returns an element's name without its namespace; empty for anything but an element.

    Office files come with the namespaces of two standards.
    """
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value_of(element: Any, name: str = "val") -> str | None:
    """Returns an attribute by its name without a namespace, None if it is missing."""
    found = element.get(name)
    if found is None:
        found = next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None)
    return None if found is None else str(found)


def value_at(element: Any, *path: str, name: str = "val") -> str:
    """Returns an attribute of the first descendant along a path of names, "" if either is missing."""
    found = child(element, *path)
    return "" if found is None else value_of(found, name) or ""


def is_on(element: Any | None) -> bool:
    """Returns True if a switch of an office file is there and on: without a value it is."""
    return element is not None and value_of(element) not in ("0", "false", "off", "none")


def is_struck(look: Any | None) -> bool | None:
    """Returns whether properties of text draw a line through it, None if they do not tell."""
    lines = [is_on(one) for one in (() if look is None else look) if local(one) in ("strike", "dstrike")]
    return any(lines) if lines else None


def level_of(run: Any) -> int:
    """Returns 1 for a raised run of text, -1 for a lowered one, else 0."""
    return {"superscript": 1, "subscript": -1}.get(value_at(run, "rPr", "vertAlign"), 0)


def child(element: Any, *path: str) -> Any | None:
    """Returns the first descendant along a path of names, None if there is none."""
    for name in path:
        element = next((one for one in element if local(one) == name), None)
        if element is None:
            return None
    return element


def below(element: Any, *names: str) -> Iterator[Any]:
    """Yields the descendants of these names, in order."""
    return (one for one in element.iter() if local(one) in names)


def chosen(alternatives: Any) -> Any:
    """Returns the first of alternative contents, which is the newest, in the order of the file."""
    return next(iter(alternatives), alternatives)


class InnerFiles:
    """The files that a document refers to, each once, in the order of their first mention."""

    def __init__(self, reading: ParseContext, package: Package) -> None:
        self._reading, self._package = reading, package
        self._names: dict[str, None] = {}

    def mention(self, relation: Relation | None) -> None:
        """Takes a relation into account; one to an address outside is flagged and not followed."""
        if relation is None:
            return
        if relation.outside:
            self._reading.builder.flags.add("active_content")
        else:
            self.name(relation.target)

    def name(self, member: str) -> None:
        """Notes a member that the text mentions, for `add`; a name without a member is ignored."""
        if member in self._package:
            self._names.setdefault(member)

    def add(self) -> None:
        """Appends the files that `name` noted as parts, in the order in which the text mentions them."""
        builder = self._reading.builder
        for number, member in enumerate(self._names):
            if number >= MAX_PACKAGE_FILES or builder.full:
                builder.flags.add("truncated")
                break
            name = posixpath.basename(member)
            try:
                data = self._package.read(member)
            except DocumentError as error:
                builder.flags.add(f"attachment_{error.code}")
                continue
            builder.open("attachment", name)
            add_content(self._reading, data, name)
            builder.close()
