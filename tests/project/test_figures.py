"""Each figure of README.md and docs/index.md is one of docs/results.md, or of the file that says it first."""

from __future__ import annotations

import re

from bench.recording import recorded
from tests.support import ROOT

PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md")
#: The result in bench/results/ and the beginning of its row, for each figure.
FIGURES = {
    ".449": ("models_beside", "F1, 12 sets left out: reader"),
    ".683": ("models_beside", "F1, 12 sets left out: `auto`"),
    "26%": ("models_beside", "the same, reader"), "14%": ("models_beside", "absent fields of the 12"),
    ".325": ("models_beside", "F1, five new kinds: reader"), ".583": ("models_beside", "F1, five new kinds: `auto`"),
    ".3": ("models_beside", "seconds a document, reader"), "15.0": ("models_beside", "seconds a document, `auto`"),
    ".454": ("improve", "F1 of other"),
    ".857": ("improve", "F1 of other"), ".506": ("improve", "F1, five sets"), ".777": ("improve", "F1, five sets"),
    "301": ("improve", "machine time"), "519": ("owners", "519 faults"), "0": ("owners", "519 faults"),
    "600 of 600": ("schemas", "real schemas"), "76": ("house", "packages"), "0 of 56": ("demanded", "choices that"),
    "9 of 27": ("demanded", "the same in"),
    "8%": ("lists", "rows exact, without"), "28%": ("lists", "rows exact, with 1.5B"),
}  # fmt: skip
#: What is no result stands in another file as well.
ELSEWHERE = {"3.11": "pyproject.toml", "1.1": "docs/models.md", "300": "docs/how-it-works.md"}


def figures(page: str) -> set[str]:
    """The figures of a page's prose and tables, without those of names, days, code and links."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)", "", page, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(r"(?<![\w./-])(?:\d+ of \d+|\d*\.?\d+%?)(?![\w-]|\.\d)", prose))


def test_each_figure_of_the_first_pages_is_one_of_the_results() -> None:
    found = set().union(*(figures(page.read_text("utf-8")) for page in PAGES))
    assert found == FIGURES.keys() | ELSEWHERE.keys()
    assert [figure for figure, place in FIGURES.items() if not _is_told(figure, *place)] == []
    assert [figure for figure, file in ELSEWHERE.items() if figure not in (ROOT / file).read_text("utf-8")] == []


def _is_told(figure: str, result: str, begins: str) -> bool:
    """Whether a row of results has the figure, or a share that is rounded to it."""
    row = next(row for row in recorded()[result].rows if row.what.startswith(begins))
    shares = {f"{100 * float(one):.0f}%" for one in re.findall(r"(?<!\d)\.\d+", row.got)}
    return figure in re.findall(r"\d+ of \d+|\d*\.?\d+%?", f"{row.what} {row.got}") or figure in shares
