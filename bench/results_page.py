"""Writes docs/results.md from the results in `bench/results/`.

    python -m bench.results_page

A row is one figure that stands for the product today. Figures of single rules, sets and trials, and those that a later
measurement replaced, stand in training/results-history.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.recording import RESULTS, Result, recorded

PAGE = RESULTS.parents[1] / "docs" / "results.md"
#: The sections of the page, and the results of each in their order, by the names of their files.
SECTIONS: dict[str, tuple[str, ...]] = {
    "The house": ("house", "tests", "tests_slow", "wheel", "schemas"),
    "What is read right": (
        "samples", "reading", "lists", "improve", "calibration", "routing", "demanded",
        "surroundings", "everyday_invoices",
    ),
    "Language models": ("models_beside", "beside_llama", "gpu"),
    "Files": ("hostile_files", "mutations", "ocr", "parsing", "table_cells", "packets", "marks"),
    "Running it": (
        "rate", "volume", "stored", "server", "owners", "two_people", "hostile_folders", "faults",
    ),
}  # fmt: skip
#: The machine of most results, which the pages name once.
USUAL = "AMD EPYC with AVX512-BF16, 2 cores beside other work"

_HEAD = f"""\
# Results

```sh
make results
```

This writes the page from `bench/results/`. A figure in **bold** misses what was wanted. Below each table stand day,
commit, command and machine of its figures; a commit in brackets is that of one figure. Where no machine is named, it
was an {USUAL}; all had 2 cores. Of the sets that trained no
weights 12 are *left out*, only to be measured, and 14 *decide* between changes. Older figures:
`training/results-history.md`.
"""


def source(result: Result) -> str:
    """The day, the commit, the command and the machine of a result, as an item of a list."""
    when = ", ".join(filter(None, (result.date, result.commit)))
    machine = "" if result.machine == USUAL else result.machine.replace(", 2 cores", "")
    parts = [f"`{result.command}`", machine, result.precision]
    return f"- *{result.title}*, {when}: {'; '.join(filter(None, parts))}" + (f". {result.note}" if result.note else "")


def page_of(results: Mapping[str, Result]) -> str:
    """The page in Markdown; each result has to stand in one section, and each name there has a result."""
    placed = [name for names in SECTIONS.values() for name in names]
    if sorted(placed) != sorted(results):
        apart = sorted(set(placed) ^ set(results))
        raise ValueError(f"expected one place in SECTIONS for each file in bench/results/, got apart: {apart}")
    return _HEAD + "".join(line + "\n" for title, names in SECTIONS.items() for line in _section(title, names, results))


def _section(title: str, names: tuple[str, ...], results: Mapping[str, Result]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| what | wanted | got |", "|---|---|---|")
    for result in map(results.__getitem__, names):
        for place, row in enumerate(result.rows):
            what = row.what if place else f"*{result.title}*: {row.what}"
            got = f"**{row.got}**" if row.missed else row.got
            at = f" ({row.commit})" if row.commit not in ("", result.commit) else ""
            yield f"| {what} | {row.wanted} | {got}{at} |"
    yield from ("", *(source(results[name]) for name in names))


def main(page: Path = PAGE) -> None:
    """Writes the page."""
    page.write_text(page_of(recorded()), "utf-8")


if __name__ == "__main__":
    main()
