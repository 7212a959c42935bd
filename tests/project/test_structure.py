"""docs/structure.md names what is there."""

from __future__ import annotations

import re

from tests.support import ROOT
from tests.support.cases import each

PAGE = ROOT / "docs" / "structure.md"
TEXT = PAGE.read_text("utf-8")


def test_the_cells_of_the_page_are_short() -> None:
    cells = [cell for line in TEXT.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert [cell for cell in cells if len(cell.split()) > 25] == []


@each("room", sorted({path.parent.name for path in (ROOT / "extraction").glob("*/__init__.py")}))
def test_each_room_of_extraction_is_named(room: str) -> None:
    assert f"`{room}/`" in TEXT


def test_each_named_module_is_somewhere() -> None:
    folders = ("src", "apps", "flows", "extraction", "engine", "kernels", "schemas", "training", "bench")
    names = {path.stem for folder in folders for path in (ROOT / folder).rglob("*.py")}
    code = {member for member in re.findall(r"`([a-z][a-z_]+)`", TEXT) if "_" in member}
    assert sorted(code - names - {"run_batch", "other_kind"}) == []
