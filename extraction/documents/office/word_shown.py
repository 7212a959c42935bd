"""What Word shows of a document: the values of its content controls, the headers of its pages, and struck styles."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice, product
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from cinnabar.extraction.documents.content.limits import MAX_BINDINGS, MAX_BOUND_MEMBERS, MAX_WORD_STYLES
from cinnabar.extraction.documents.office.package import Package, child, is_on, is_struck, local, value_at, value_of

_STEP = re.compile(r"/(?:([\w.-]+):)?([\w.-]+)(?:\[([1-9]\d{0,5})\])?")
_PREFIX = re.compile(r"xmlns:([\w.-]+)\s*=\s*[\"']([^\"'{}]*)[\"']")
# Characters of a line, and lines of a page, with which a text that is longer than it seems still fits on one page.
_LINE, _PAGE = 90, 40


class Controls:
    """Content controls: one that shows its prompt is empty, one bound to data of the package has their value."""

    def __init__(self, package: Package, main: str) -> None:
        self._package, self._main, self._left = package, main, MAX_BINDINGS

    def show(self, root: Any) -> None:
        """Puts the values of the controls below an element into them."""
        for control in list(root.iter("{*}sdt")):
            properties, content = child(control, "sdtPr"), child(control, "sdtContent")
            if properties is None or content is None:
                continue
            value = self._bound(properties)
            if value is not None or is_on(child(properties, "showingPlcHdr")):
                _write(content, value or "")

    def _bound(self, properties: Any) -> str | None:
        """Returns the value of a control that is bound to data, None if it is not, or the data are not there."""
        binding = child(properties, "dataBinding")
        if binding is None or not self._left or child(properties, "picture") is not None:
            return None
        self._left -= 1
        prefixes = dict(_PREFIX.findall(value_of(binding, "prefixMappings") or ""))
        wanted, path = (value_of(binding, "storeItemID") or "").upper(), (value_of(binding, "xpath") or "")[:1000]
        values = (_value_at(root, path, prefixes) for name, root in self._data if wanted in ("", name))
        value = next((one for one in values if one is not None), None)
        return None if value is None else _as_shown(properties, value)

    @cached_property
    def _data(self) -> list[tuple[str, Any]]:
        """The data of the package that controls may be bound to, each with its id."""
        names: list[tuple[str, str]] = []
        for member in self._package.related_members(self._main, "customXml")[:MAX_BOUND_MEMBERS]:
            for described in map(self._package.tree, self._package.related_members(member, "customXmlProps")[:1]):
                names.append(("" if described is None else (value_of(described, "itemID") or "").upper(), member))
        trees = ((name, self._package.tree(member)) for name, member in names)
        return [(name, root) for name, root in trees if root is not None]


def _value_at(root: Any, path: str, prefixes: dict[str, str]) -> str | None:
    """Returns the text at a path of child elements (`/a:b[1]/a:c[2]`), None if none is there, or it holds elements."""
    path = path.removesuffix("/text()")
    found, end = None, 0
    for step in _STEP.finditer(path):
        prefix, name, number = step.groups()
        if step.start() != end or (prefix and prefix not in prefixes):
            return None
        end, tag = step.end(), f"{{{prefixes[prefix]}}}{name}" if prefix else name
        among = iter([root] * (root.tag == tag)) if found is None else found.iterchildren(tag)
        found = next(islice(among, int(number or 1) - 1, None), None)
        if found is None:
            return None
    return None if found is None or end != len(path) or len(found) else (found.text or "").strip()


def _as_shown(properties: Any, value: str) -> str:
    """Returns the value of bound data as its control shows it: a box, an entry of a list, a day."""
    if child(properties, "checkbox") is not None:
        return "☒" if value.lower() in ("1", "true") else "☐"
    for entry in properties.iter("{*}listItem"):
        if value_of(entry, "value") == value:
            return value_of(entry, "displayText") or value
    return value.partition("T")[0] if child(properties, "date") is not None else value


def _write(content: Any, value: str) -> None:
    """Puts a value in the place of the text of a control, in the looks of its first run."""
    runs = list(content.iter("{*}r"))
    for run in runs:
        for one in list(run):
            if local(one) != "rPr":
                run.remove(one)
    if value:
        home = runs[0] if runs else next(content.iter("{*}p"), content)
        etree.SubElement(home, "t").text = value


def shown_members(package: Package, main: str, root: Any) -> dict[str, list[str]]:
    """Returns the members of the headers and footers (`header`, `footer`) that a page of the document shows.

    A damaged document without sections has all.
    """
    sections = [one for one in root.iter("{*}sectPr") if local(one.getparent()) != "sectPrChange"]
    if not sections:
        return {kind: package.related_members(main, kind) for kind in ("header", "footer")}
    trees = map(package.tree, package.related_members(main, "settings")[:1])
    even = any(is_on(child(tree, "evenAndOddHeaders")) for tree in trees if tree is not None)
    differ = even or any(is_on(child(one, "titlePg")) for one in sections)
    alone = differ and _is_one_page(root, sections)
    relations = package.relations(main)
    held: dict[tuple[str, str], str] = {}
    shown: dict[str, dict[str, None]] = {"header": {}, "footer": {}}
    for section in sections[:1] if alone else sections:
        # A section without a header of its own has that of the section before.
        for one in section:
            if local(one) in ("headerReference", "footerReference"):
                held[local(one)[:6], value_of(one, "type") or "default"] = value_of(one, "id") or ""
        places = ["first"] * is_on(child(section, "titlePg")) + ["default"] + ["even"] * even
        for kind, place in product(shown, places[:1] if alone else places):
            relation = relations.get(held.get((kind, place), ""))
            if relation is not None and not relation.outside:
                shown[kind][relation.target] = None
    return {kind: list(members) for kind, members in shown.items()}


def _is_one_page(root: Any, sections: list[Any]) -> bool:
    """Returns whether a document surely has one page: nothing in it begins another one, and its lines are few."""
    breaks = root.iter("{*}lastRenderedPageBreak", "{*}pageBreakBefore", "{*}br")
    if any(local(one) != "br" or value_of(one, "type") == "page" for one in breaks):
        return False
    if any(value_at(one, "type") != "continuous" for one in sections[1:]):
        return False
    lines = 0
    for one in root.iter("{*}p", "{*}tr"):
        if next(one.iterancestors("{*}tr"), None) is None:
            lines += 1 + len("".join(one.itertext())) // _LINE
        if lines > _PAGE:
            return False
    return True


def struck_styles(styles: Any) -> set[str]:
    """Returns the styles whose text a line goes through, by themselves or by a style that they are based on."""
    told: dict[str, bool] = {}
    based: dict[str, str] = {}
    for one in () if styles is None else styles.iter("{*}style"):
        name = value_of(one, "styleId") or ""
        based[name] = value_at(one, "basedOn")
        if (struck := is_struck(child(one, "rPr"))) is not None:
            told[name] = struck
    for _ in range(MAX_WORD_STYLES):
        told |= {name: told[above] for name, above in based.items() if name not in told and above in told}
    return {name for name, struck in told.items() if struck}
