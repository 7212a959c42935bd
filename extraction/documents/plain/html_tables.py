"""Tables of HTML that are no `table`: columns by styles, classes and roles become rows and cells.

Of style sheets only the columns of a class count: flex, grid, floats and tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, islice

from lxml import html as lxml_html  # type: ignore[import-untyped]

from cinnabar.extraction.documents.plain.html_layout import style_of

#: The fewest rows and cells of a table, the most elements in a cell, and its most characters.
_ROWS, _CELLS, _FEW_ELEMENTS, _LONGEST_CELL = 2, 2, 6, 200
_ROLES = {"table": "table", "grid": "table", "rowgroup": "tbody", "row": "tr"} | dict.fromkeys(
    ("cell", "gridcell", "columnheader", "rowheader"), "td"
)
_DISPLAYS = {"table": "table", "table-row-group": "tbody", "table-header-group": "tbody", "table-row": "tr"} | {
    "table-footer-group": "tbody", "table-cell": "td"
}  # fmt: skip
_RULE = re.compile(r"\.([\w-]+)\s*\{([^{}]*)\}")
_CONDITION = re.compile(r"@[a-z-]+[^{};@]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_REPEATED = re.compile(r"repeat\(\s*(\d{1,2})\s*,([^()]*(?:\([^()]*\)[^()]*)*)\)")
_BRACKET = re.compile(r"\([^()]*\)")
_SIDE_BY_SIDE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*(?:inline-)?(?:flex|grid|table)|float|grid-template-columns)")


def lay_tables(tree: lxml_html.HtmlElement) -> None:
    """Makes tables of elements that are shown as rows of cells; the tree is changed in place."""
    _apply_classes(tree)
    for element in list(tree.iter()):
        if not isinstance(element.tag, str) or element.tag in ("table", "tr", "td", "th"):
            continue
        style = style_of(element)
        tag = _ROLES.get(element.get("role", ""), _DISPLAYS.get(style.get("display", ""), ""))
        children = list(element)
        if tag == "table" and not any(_tag(one) in ("tr", "tbody") for one in children):
            tag = ""
        if tag in ("tr", "td") and element.getparent() is not None and element.getparent().tag not in _PARENTS[tag]:
            tag = ""
        if tag:
            _become(element, tag)
        elif "grid" in style.get("display", "") and (columns := _columns(style.get("grid-template-columns", ""))):
            cells = children if len(children) % columns == 0 and all(map(_is_cell, children)) else []
            if len(cells) >= _ROWS * columns:
                _become(element, "table")
                _put_rows(element, [cells[at : at + columns] for at in range(0, len(cells), columns)])
        else:
            _join_rows(element)


_PARENTS = {"tr": ("table", "tbody", "thead", "tfoot"), "td": ("tr",)}


def _tag(element: lxml_html.HtmlElement) -> str:
    return _ROLES.get(element.get("role", ""), _DISPLAYS.get(style_of(element).get("display", ""), ""))


def _apply_classes(tree: lxml_html.HtmlElement) -> None:
    """Adds to the `style` of elements what style sheets say of the columns of their classes."""
    sheets = " ".join(one.text or "" for one in tree.iter("style"))
    looks: dict[str, str] = {}
    for name, look in _RULE.findall(_CONDITION.sub("", sheets)):
        if _SIDE_BY_SIDE.search(look):
            looks[name] = f"{looks.get(name, '')}{look};"
    for element in tree.iter() if looks else ():
        own = "".join(looks.get(name, "") for name in element.get("class", "").split())
        if own:
            element.set("style", f"{own}{element.get('style', '')}")


def _columns(template: str) -> int:
    """Returns the number of columns of a grid, 0 for one or an unknown number."""
    once = _REPEATED.sub(lambda match: f" {match[2]}" * int(match[1]), template)
    found = len(_BRACKET.sub("", once).split())
    return found if found >= _CELLS and "repeat" not in once else 0


def _is_cell(element: lxml_html.HtmlElement) -> bool:
    """Returns whether an element is small enough for a cell."""
    few = sum(1 for _ in islice(element.iter(), _FEW_ELEMENTS + 1)) <= _FEW_ELEMENTS
    return isinstance(element.tag, str) and few and len(element.text_content()) <= _LONGEST_CELL


def _is_row(element: lxml_html.HtmlElement) -> bool:
    """Returns whether an element shows its children beside each other, each of them small."""
    cells = list(element) if isinstance(element.tag, str) and not (element.text or "").strip() else []
    if len(cells) < _CELLS or not all(map(_is_cell, cells)):
        return False
    style = style_of(element)
    flex = style.get("display", "").endswith("flex") and "column" not in style.get("flex-direction", "")
    looks = [style_of(cell) for cell in cells]
    return flex or all("float" in look or look.get("display") in ("inline-block", "table-cell") for look in looks)


def _join_rows(element: lxml_html.HtmlElement) -> None:
    """Makes tables of the runs of children that are rows with the same number of cells."""
    for count, run in groupby(list(element), key=lambda child: len(child) if _is_row(child) else 0):
        rows = list(run)
        if count and len(rows) >= _ROWS and not any((row.tail or "").strip() for row in rows[:-1]):
            table = lxml_html.Element("table")
            element.insert(element.index(rows[0]), table)
            table.tail, rows[-1].tail = rows[-1].tail, None
            for row in rows:
                _become(row, "tr")
                for cell in row:
                    _become(cell, "td")
                table.append(row)


def _put_rows(table: lxml_html.HtmlElement, rows: Sequence[Sequence[lxml_html.HtmlElement]]) -> None:
    for cells in rows:
        row = lxml_html.Element("tr")
        for cell in cells:
            _become(cell, "td")
            row.append(cell)
        table.append(row)


def _become(element: lxml_html.HtmlElement, tag: str) -> None:
    element.tag = tag
    element.attrib.pop("style", None)
