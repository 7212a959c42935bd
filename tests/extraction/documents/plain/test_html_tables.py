"""Tables of HTML that are laid out without a `table`."""

from __future__ import annotations

import pytest

from cinnabar.extraction.documents.plain.html import html_to_text

ROWS = [["Article", "Quantity", "Price"], ["Honey, jar", "4", "7.50"], ["Shipping", "", "5.95"]]
LINES = ["Article     Quantity  Price", "Honey, jar  4         7.50", "Shipping              5.95"]


def rows(row: str, cell: str) -> str:
    """Returns the rows as elements with these attributes."""
    return "".join(f"<div {row}>{''.join(f'<div {cell}>{one}</div>' for one in own)}</div>" for own in ROWS)


CELLS = "".join(f"<div>{one}</div>" for own in ROWS for one in own)
#: Pages of the same three rows.
PAGES = {
    "rows that flex": rows('style="display:flex"', ""),
    "cells that float": rows('style="overflow:auto"', 'style="float:left;width:30%"'),
    "a grid of named widths": f'<div style="display:grid;grid-template-columns:2fr minmax(1em, 3em) 1fr">{CELLS}</div>',
    "a grid of repeated widths": f'<div style="display:grid; grid-template-columns: repeat(3, 1fr)">{CELLS}</div>',
    "classes of a style sheet": (
        "<style>@media print{.r{display:block}} .r{display:flex;gap:1em} .c{flex:1}</style>"
        + rows('class="r"', 'class="c"')
    ),
    "roles": f'<div role="table">{rows("role=row", "role=cell")}</div>',
    "tables by their display": (
        f'<div style="display:table">{rows("style=display:table-row", "style=display:table-cell")}</div>'
    ),
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_columns_by_style_or_role_are_rows_of_cells(page: str) -> None:
    text, _ = html_to_text(f"<html><body><p>Order 1</p>{PAGES[page]}<p>Thanks</p></body></html>")
    assert text.strip().split("\n")[2:5] == LINES


@pytest.mark.parametrize(
    "page",
    [
        '<div style="display:flex"><div>One</div><div>Two</div></div>',
        '<div style="display:flex;flex-direction:column"><p>One</p><p>Two</p></div>' * 2,
        f'<div style="display:grid;grid-template-columns:1fr 1fr"><div>{"word " * 60}</div><div>b</div></div>' * 2,
        '<div style="display:grid;grid-template-columns:repeat(auto-fill,3em)">' + "<div>a</div>" * 6 + "</div>",
    ],
)
def test_other_boxes_beside_each_other_are_no_rows(page: str) -> None:
    assert "  " not in html_to_text(f"<html><body>{page}</body></html>")[0].strip()
