"""The tables of the documentation that the code knows are those of the code."""

from __future__ import annotations

import sys

from tests.support import ROOT
from tests.support.cases import each

sys.path.insert(0, str(ROOT / "scripts"))
import made_tables

from cinnabar.schemas.compiling.misspelt_keywords import known_keywords


@each("name", made_tables.TABLES)
def test_a_table_that_the_code_knows_is_that_of_the_code(name: str) -> None:
    page = (made_tables.DOCS / made_tables.TABLES[name][0]).read_text("utf-8")
    assert f"<!-- {name}: " in page
    assert made_tables.made(name, page) == page, "`python scripts/made_tables.py` writes it anew"


def test_the_page_on_schemas_names_each_keyword_of_ours() -> None:
    page = (made_tables.DOCS / "schemas.md").read_text("utf-8")
    assert [one for one in known_keywords() if one.startswith("x-") and f"| `{one}`" not in page] == []
