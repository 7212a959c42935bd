"""The columns of a list in the review page: another one is chosen once for all rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.review_server import review_of

from cinnabar.apps.cli.main import run


@pytest.mark.slow
def test_another_column_is_chosen_for_all_rows(chromium: Any, tmp_path: Path) -> None:
    fields = {"part": {"type": "string"}, "quantity": {"type": ["integer", "null"]}}
    item = {"type": "object", "properties": fields, "required": [*fields]}
    schema = {"title": "Stock", "type": "object", "properties": {"stock": {"type": "array", "items": item}}}
    (tmp_path / "stock.json").write_text(json.dumps(schema))
    rows = "".join(f"A-{100 + at:<10}{5 + at:>6}{40 + 3 * at:>12}\n" for at in range(12))
    (tmp_path / "stock.txt").write_text(f"Stock list\n\n{'Part':12}{'Quantity':>8}{'Shelf':>10}\n{rows}")
    out = tmp_path / "out"
    asked = [str(tmp_path / "stock.txt"), "--schema", str(tmp_path / "stock.json"), "--out", str(out)]
    assert run(["extract", *asked]) == 0
    with review_of(out) as served:
        page = chromium.new_page()
        page.set_default_timeout(60000)
        page.goto(served.address)
        select = page.get_by_label("Column of quantity in all rows")
        select.focus()
        page.wait_for_selector('option[value=\'column "Shelf"\']', state="attached")
        select.select_option('column "Shelf"')
        page.wait_for_selector('[data-cell="/stock/3/quantity"]:has-text("49")')
        page.close()
