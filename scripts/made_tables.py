"""Writes the tables of docs/ that the code knows, each between two comments of its page."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from keyword_table import keyword_rows

from cinnabar.extraction.documents.content.formats import INPUT_FORMATS
from cinnabar.schemas.facts import FACTS

DOCS = Path(__file__).parents[1] / "docs"
#: The section of formats.md for each folder of readers.
SECTIONS = {"pdf": "PDF", "mail": "Mail", "plain": "Web and data", "web": "Web and data", "office": "Office",
            "archives": "Archives", "ocr": "Scans and images"}  # fmt: skip


def table(*rows: tuple[str, ...]) -> str:
    """Returns a table, whose first row has the heads."""
    head, *lines = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join((head, re.sub(r"[^|]+", "---", head), *lines))


def formats() -> str:
    """Returns the formats by the section that tells of them."""
    found = defaultdict[str, list[str]](list)
    for one in INPUT_FORMATS:
        suffixes = ", ".join(f"`{suffix}`" for suffix in one.suffixes)
        found[SECTIONS[one.dotted.partition(".")[0]]].append(f"{one.name} {suffixes}".strip())
    links = {name: f"[{name}](#{name.lower().replace(' ', '-')})" for name in found}
    return table(("read as", "formats"), *((links[name], "; ".join(each)) for name, each in found.items()))


#: By its name in the first comment: the page of a table, and its text.
TABLES = {
    "formats": ("formats.md", formats),
    "facts": ("schemas.md", lambda: "\n".join(f"- `{name}` ({one.kind}): {one.about}" for name, one in FACTS.items())),
    "keywords": ("schemas.md", lambda: table(("keywords", "drafts", "held"), *keyword_rows())),
}


def made(name: str, page: str) -> str:
    """Returns a page with this table as the code has it."""
    text = TABLES[name][1]()
    return re.sub(rf"(?s)(<!-- {name}: [^\n]*-->\n).*?(?=<!-- end -->)", lambda begun: f"{begun[1]}\n{text}\n\n", page)


if __name__ == "__main__":
    for name, (file, _) in TABLES.items():
        (DOCS / file).write_text(made(name, (DOCS / file).read_text("utf-8")), "utf-8")
