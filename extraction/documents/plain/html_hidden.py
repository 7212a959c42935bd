"""Text of HTML that no reader sees, or that is struck out: not displayed, invisible, smaller than half a point.

The `style` and `hidden` of elements count. Style sheets are not applied, because scripts and widths of screens change
them. `aria-hidden` hides from screen readers only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import html as lxml_html  # type: ignore[import-untyped]

_DECLARATION = re.compile(r"([a-z-]+)\s*:\s*([^;]*)")
_LENGTH = re.compile(r"(\d*\.?\d+)\s*([a-z%]*)")
_FONT_SIZE = re.compile(r"(?:^|\s)(\d*\.?\d+(?:[a-z]+|%)?)\s*(?:/|\s)")
#: Points of absolute units, and units that scale an outer size.
_POINTS = {"px": 0.75, "pt": 1.0, "pc": 12.0, "in": 72.0, "cm": 28.35, "mm": 2.835, "q": 0.709, "": 0.75}
_RELATIVE = frozenset(("em", "%", "ex", "ch"))
#: The least size of letters, in points; that of PDFs.
_LEAST = 0.5
_SILENT = frozenset(("script", "style", "template", "head", "title"))
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
            flags |= {"hidden_text" if gone else "struck_text"} if _has_letters(element) else set()
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
        tiny = points(size) < _LEAST
    return _Look(visible, tiny)


def _display(element: lxml_html.HtmlElement) -> None:
    """Takes the marks off an element that keep it from being displayed."""
    element.attrib.pop("hidden", None)
    style = element.attrib.pop("style", "")
    kept = [one for one in style.split(";") if one.partition(":")[0].strip().lower() != "display"]
    element.set("style", ";".join(kept))


def _has_letters(element: lxml_html.HtmlElement) -> bool:
    """Returns whether an element has letters or figures outside scripts and style sheets."""
    stack = [element]
    while stack:
        one = stack.pop()
        if isinstance(one.tag, str) and one.tag not in _SILENT:
            texts = (one.text, *(child.tail for child in one))
            if any(any(map(str.isalnum, text or "")) for text in texts):
                return True
            stack += list(one)
    return False
