"""The layout of HTML before its text is written: values of forms, raised text, text that is hidden or struck.

The `style` and `hidden` of elements count. Style sheets are not applied, because scripts and widths of screens change
them. `aria-hidden` hides from screen readers only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from inscriptis.css_profiles import STRICT_CSS_PROFILE
from inscriptis.html_properties import Display
from inscriptis.model.html_element import HtmlElement
from lxml import etree  # type: ignore[import-untyped]
from lxml import html as lxml_html
from lxml.html.defs import table_tags  # type: ignore[import-untyped]

from cinnabar.extraction.documents.content.limits import MAX_DATA_DEPTH
from cinnabar.extraction.documents.content.marked_text import BEFORE, raised_text

# Elements that begin a line of their own, beside those that the renderer knows as such.
_BLOCKS = (
    "center", "dd", "details", "dialog", "dir", "dl", "dt", "fieldset", "form", "hr", "legend", "menu", "optgroup",
    "option", "search", "section", "summary",
)  # fmt: skip
#: What the renderer knows of elements: which begin a line of their own, and which are not shown.
CSS: dict[str, HtmlElement] = {
    **STRICT_CSS_PROFILE,
    **{name: HtmlElement(display=Display.block) for name in _BLOCKS},
    **{name: HtmlElement(display=Display.none) for name in ("template", "datalist")},
}
_OWN_LINES = table_tags | {"br", *(name for name, look in CSS.items() if look.display is Display.block)}
_FIELDS = frozenset(("input", "select", "textarea", "button", "output"))
# Kinds of inputs that show no value, or a secret.
_NO_VALUES = frozenset(("hidden", "password", "submit", "reset", "button", "image", "file", "range", "color"))
# A narrower space, in points, is one between letters; the least size of letters is that of PDFs.
_LEAST_GAP, _LEAST_HEIGHT = 3.0, 0.5
# Elements of more than a mark or a letter, and the characters of a label, which is repeated.
_FEW_ELEMENTS, _LONGEST_LABEL = 9, 200
_INLINE = ("none", "inline", "contents", "table-cell", "initial", "inherit", "unset", "revert")


class HtmlLayout:
    """Puts blanks, values and raised digits into a tree, in the order of its text; the tree is changed in place."""

    def __init__(self) -> None:
        self._line = ""

    def arrange(self, element: lxml_html.HtmlElement, apart: bool = False) -> None:
        """Arranges an element and its children; `apart`: it stands beside its siblings as a box."""
        style = style_of(element)
        display = style.get("display", "")
        if display == "table-cell" and (parent := element.getparent()) is not None and parent.tag == "table":
            element.tag = "td"
        if element.tag in _FIELDS:
            _fill(element)
            apart = True
        elif (state := element.get("aria-checked")) in ("true", "false"):
            element.text = f"{'☒' if state == 'true' else '☐'} {element.text or ''}"
        inline = display in _INLINE or display.startswith("inline-")
        if own_line := element.tag in table_tags or (not inline and (bool(display) or element.tag in _OWN_LINES)):
            self._line = ""
            if element.tag not in table_tags:
                _begin_line(element, bool(display))
        elif style or apart or element.tag in ("sup", "sub"):
            self._set_apart(element, style, apart)
        self._line = (self._line + (element.text or ""))[-BEFORE:]
        for child in element:
            self.arrange(child, "flex" in display or "grid" in display)
            self._line = (self._line + (child.tail or ""))[-BEFORE:]
        if own_line:
            self._line = ""

    def _set_apart(self, element: lxml_html.HtmlElement, style: dict[str, str], apart: bool) -> None:
        """Puts blanks around an inline element that a browser sets apart, else reads it as raised if it is."""
        display = style.get("display", "")
        apart |= display.startswith("inline-") or display == "table-cell"
        apart |= style.get("float") in ("left", "right") or style.get("position") in ("absolute", "fixed")
        before, after = (True, True) if apart else _gaps(style)
        if before and not _is_one_letter(element.getprevious(), element):
            element.text = f" {element.text or ''}"
        if after and not _is_one_letter(element, element.getnext()):
            element.tail = f" {element.tail or ''}"
        if before or after or not (rise := _rise(element.tag, style)) or not (text := _text_of(element)):
            return
        following, parent = element.getnext(), element.getparent()
        behind = element.tail or (following.text if following is not None else parent is not None and parent.tail) or ""
        read = raised_text(self._line, text, behind, lowered=rise < 0)
        if read == f" {text}":
            element.text = f" {element.text or ''}"
        elif read != text:
            element.clear(keep_tail=True)
            element.text = read


def _begin_line(element: lxml_html.HtmlElement, displayed: bool) -> None:
    """Tells the renderer that an element is a block; if all its children are cells, it is a table of one row."""
    if len(element) > 1 and all(style_of(child).get("display") == "table-cell" for child in element):
        element.tag = "table"
    elif displayed:
        element.set("style", f"{element.get('style')};display:block")


def _gaps(style: dict[str, str]) -> tuple[bool, bool]:
    """Returns whether padding or margins set an inline element apart, on its left and on its right."""
    left = right = False
    for name in ("padding", "margin"):
        sides = style.get(name, "0").split() or ["0"]
        left |= points(style.get(f"{name}-left", sides[3 if len(sides) > 3 else len(sides) > 1])) >= _LEAST_GAP
        right |= points(style.get(f"{name}-right", sides[len(sides) > 1])) >= _LEAST_GAP
    return left, right


def _is_one_letter(one: lxml_html.HtmlElement | None, other: lxml_html.HtmlElement | None) -> bool:
    """Returns whether neighbours are letters of one word: boxes of a letter each, or an initial before its word."""
    if one is None or len(_text_of(one).strip()) != 1:
        return False
    return (one.tail or "")[:1].islower() or (not one.tail and other is not None and len(_text_of(other).strip()) == 1)


def _text_of(element: lxml_html.HtmlElement) -> str:
    """Returns the beginning of the text in an element; empty for one of many elements, which is no mark or letter."""
    few = sum(1 for _ in islice(element.iter(), _FEW_ELEMENTS)) < _FEW_ELEMENTS
    return "".join(element.itertext())[:BEFORE] if few else ""


def _rise(tag: str, style: dict[str, str]) -> int:
    """Returns 1 for raised text, -1 for lowered text, else 0."""
    moved = style.get("vertical-align", "")
    if tag == "sub" or moved.startswith(("sub", "-")):
        return -1
    high = tag == "sup" or moved == "super" or points(moved) > 0
    return int(high or (moved in ("top", "text-top") and "font-size" in style))


def _fill(element: lxml_html.HtmlElement) -> None:
    """Puts the value of a field, as a browser shows it, in its text."""
    kind = element.get("type", "").lower()
    if element.tag == "input":
        if kind in ("checkbox", "radio"):
            # An empty box without a label beside it, alone in a cell, selects rows of a page.
            beside = [element.getparent(), element.getnext()]
            labelled = (element.tail or "").strip() or any(one is not None and one.tag == "label" for one in beside)
            element.text = "☒" if element.get("checked") is not None else "☐" if labelled else None
        elif kind not in _NO_VALUES:
            element.text = element.get("value")
    elif element.tag == "select":
        options = list(element.iter("option"))
        chosen = [one for one in options if one.get("selected") is not None]
        if element.get("multiple") is None:
            chosen = chosen[-1:] or (options[:1] if element.get("size", "1") == "1" else [])
        element.text = ", ".join(" ".join("".join(one.itertext()).split()) for one in chosen)
        del element[:]


def data_of(tree: lxml_html.HtmlElement) -> str:
    """Returns the data that a page holds for programs (JSON-LD, microdata), a line for each value."""
    lines: list[str] = []
    for element in tree.iter():
        if element.tag == "script" and "ld+json" in element.get("type", "").lower():
            with suppress(ValueError, RecursionError):
                lines += _values(json.loads(element.text or "", parse_float=str, parse_int=str), "", 0)
        elif name := element.get("itemprop"):
            value = next(filter(None, map(element.get, ("content", "datetime", "href"))), "")
            lines += [f"{name}: {value}"] if value else []
    return "\n".join(lines)


def _values(value: Any, label: str, depth: int) -> Iterator[str]:
    """Yields `label: value` for each scalar below a value of JSON; names with @ are for programs."""
    if depth > MAX_DATA_DEPTH:
        return
    if isinstance(value, dict):
        for name, one in value.items():
            if not name.startswith("@"):
                yield from _values(one, f"{label} {name}".lstrip()[:_LONGEST_LABEL], depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from _values(one, label, depth + 1)
    elif value is not None:
        yield f"{label}: {value}"


_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*([^;]*)")
_LENGTH = re.compile(r"(\d*\.?\d+)\s*([a-z%]*)")
_FONT_SIZE = re.compile(r"(?:^|\s)(\d*\.?\d+(?:[a-z]+|%)?)\s*(?:/|\s)")
#: Points of absolute units, and units that scale an outer size.
_POINTS = {"px": 0.75, "pt": 1.0, "pc": 12.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "q": 0.709, "": 0.75}
_RELATIVE = frozenset(("em", "%", "ex", "ch"))
_SILENT = frozenset(("script", "style", "template", "head", "title"))
# The texts in an element outside scripts and style sheets.
_TEXTS = etree.XPath(
    f"descendant::text()[not({' or '.join(f'ancestor::{name}' for name in sorted(_SILENT))})]", smart_strings=False
)
#: Marks that a page without a tree may hide text.
HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|<[^<>]{0,200}\shidden\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Look:
    """How the text of an element is shown, as far as its children inherit it."""

    visible: bool = True
    tiny: bool = False


def hide(tree: lxml_html.HtmlElement, show: bool) -> set[str]:
    """Returns the flags of a page's hidden and struck text, which is taken out of the tree or, with `show`, shown."""
    flags: set[str] = set()
    stack: list[tuple[lxml_html.HtmlElement, _Look]] = [(tree, _Look())]
    while stack:
        element, outer = stack.pop()
        if not isinstance(element.tag, str) or element.tag in _SILENT:
            continue
        style = style_of(element)
        gone = _is_gone(element, style)
        if gone or _is_struck(element, style):
            if any(any(map(str.isalnum, text)) for text in _TEXTS(element)):
                flags.add("hidden_text" if gone else "struck_text")
            if show:
                _display(element)
            else:
                element.clear(keep_tail=True)
                element.set("style", "display:none")
                continue
        elif "none" in element.get("style", ""):
            # The renderer obeys a `display: none` that a later `display` replaces.
            _display(element)
        look = _look(style, outer)
        unseen = look.tiny or not look.visible
        children = list(element)
        if unseen:
            if any(any(map(str.isalnum, text or "")) for text in (element.text, *(c.tail for c in children))):
                flags.add("hidden_text")
            if not show:
                element.text = None
                for child in children:
                    child.tail = None
        stack += [(child, look) for child in children]
    return flags


def style_of(element: lxml_html.HtmlElement) -> dict[str, str]:
    """Returns the declarations of a `style`; a later one replaces an earlier one, unless that is important."""
    style: dict[str, str] = {}
    for name, value in _DECLARATION.findall(element.get("style", "").lower()):
        if "!important" in value or "!important" not in style.get(name, ""):
            style[name] = value.strip()
    return {name: value.replace("!important", "").strip() for name, value in style.items()}


def points(length: str) -> float:
    """Returns the points of a length, 0 for what is none or negative."""
    match = _LENGTH.fullmatch(length)
    return float(match[1]) * _POINTS.get(match[2], 12.0) if match else 0.0


def _is_struck(element: lxml_html.HtmlElement, style: dict[str, str]) -> bool:
    """Returns whether a line goes through the text of an element, such as an old price."""
    drawn = style.get("text-decoration-line", style.get("text-decoration", ""))
    return "line-through" in drawn or (element.tag in ("s", "strike", "del") and not drawn)


def _is_gone(element: lxml_html.HtmlElement, style: dict[str, str]) -> bool:
    """Returns whether an element is hidden with all that is in it."""
    closed = element.get("hidden") is not None or (element.tag == "dialog" and element.get("open") is None)
    if style.get("display", "none" if closed else "") == "none":
        return True
    clipped = style.get("overflow") == "hidden" and any(
        _is_zero(style.get(name, "")) for name in ("height", "max-height", "width", "max-width")
    )
    return clipped or _is_zero(style.get("opacity", ""))


def _is_zero(value: str) -> bool:
    match = _LENGTH.fullmatch(value)
    return match is not None and float(match[1]) == 0


def _look(style: dict[str, str], outer: _Look) -> _Look:
    """Returns how the text of an element with a style is shown."""
    visibility = style.get("visibility", "")
    visible = outer.visible if visibility in ("", "inherit") else visibility not in ("hidden", "collapse")
    size = style.get("font-size", "")
    if not size and (short := _FONT_SIZE.search(style.get("font", ""))) is not None:
        size = short[1]
    match = _LENGTH.fullmatch(size)
    if match is None:
        # Of the words for sizes, only these depend on the outer one.
        tiny = outer.tiny and size in ("", "inherit", "larger", "smaller")
    elif match[2] in _RELATIVE:
        tiny = outer.tiny or float(match[1]) == 0
    else:
        tiny = points(size) < _LEAST_HEIGHT
    return _Look(visible, tiny)


def _display(element: lxml_html.HtmlElement) -> None:
    """Takes the marks off an element that keep it from being displayed."""
    element.attrib.pop("hidden", None)
    style = element.attrib.pop("style", "")
    kept = [one for one in style.split(";") if one.partition(":")[0].strip().lower() != "display"]
    element.set("style", ";".join(kept))
