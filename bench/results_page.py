"""Writes docs/results.md, and docs/model/results-history.md beside it, from the results in `bench/results/`.

    python -m bench.results_page

A row is one figure. The first page has the figures that stand for the product today, the second one those of single
rules, sets and trials, and those that a later measurement replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.recording import RESULTS, Result, recorded

PAGE = RESULTS.parents[1] / "docs" / "results.md"
OLDER = PAGE.parent / "model" / "results-history.md"
#: The sections of the page, and the results of each in their order, by the names of their files.
SECTIONS: dict[str, tuple[str, ...]] = {
    "The house": ("house", "tests", "tests_slow", "wheel", "mutants", "schemas"),
    "What is read right": ("samples", "reading", "lists", "improve", "calibration", "routing", "demanded"),
    "Language models": ("models_beside", "beside_llama", "gpu"),
    "Files": ("hostile_files", "mutations", "ocr", "parsing", "table_cells", "packets", "marks"),
    "Speed and size": ("rate", "volume", "cold_start", "stored"),
    "The server": ("server", "hostile_requests"),
    "Owners, people and broken runs": (
        "owners", "promises", "neighbours", "two_people", "hostile_folders", "faults",
    ),
}  # fmt: skip
#: The same of the page of older figures.
OLDER_SECTIONS: dict[str, tuple[str, ...]] = {
    "What is read right": (
        "sets", "reading_f1", "targets", "unseen", "improve_sets", "lists_more", "complete", "trusted", "date_order",
        "columns", "ablation",
    ),
    "Language models": (
        "models_deciding", "class_mails", "grounding", "second_schema", "released", "engine", "prose_lists", "batches",
        "streams", "diffusion_gemma", "holes", "gpu_ready",
    ),
    "Speed": ("parsing_sets", "long_texts", "long_file", "ray"),
    "Servers, owners and people": (
        "clients", "remote", "notifications", "lookup", "marks_drawn", "audit", "team", "review", "readers",
    ),
}  # fmt: skip
#: The machine of most results, which the pages name once.
USUAL = "AMD EPYC with AVX512-BF16, 2 cores beside other work"

_HEAD = f"""\
# Results

`make results` writes this page from `bench/results/`. A figure in **bold** misses what was wanted. Below each
table are the commands and the machines; where none is named, it was an {USUAL}.
[Further and older figures](model/results-history.md) have their own page, trials that led nowhere are in the
[decisions](decisions.md).
"""
_OLDER_HEAD = f"""\
# Further and older results

`make results` writes this page: figures of single rules, sets and trials, and those that later ones replaced.
[Results](../results.md) has today's, and the history of `bench/results/` the rest. A figure in **bold** misses what was
wanted. Where no machine is named, it was an {USUAL}.
"""


def source(result: Result) -> str:
    """The command and the machine of a result, as an item of a list."""
    machine = "" if result.machine == USUAL else result.machine
    parts = [f"`{result.command}`", machine, result.precision]
    return f"- *{result.title}*: {'; '.join(filter(None, parts))}" + (f". {result.note}" if result.note else "")


def pages(results: Mapping[str, Result]) -> tuple[str, str]:
    """Both pages in Markdown; each result has to stand in one section, and each name there has a result."""
    placed = [name for sections in (SECTIONS, OLDER_SECTIONS) for names in sections.values() for name in names]
    if sorted(placed) != sorted(results):
        apart = sorted(set(placed) ^ set(results))
        raise ValueError(f"expected one place in SECTIONS for each file in bench/results/, got apart: {apart}")
    return _page(_HEAD, SECTIONS, results), _page(_OLDER_HEAD, OLDER_SECTIONS, results)


def _page(head: str, sections: Mapping[str, tuple[str, ...]], results: Mapping[str, Result]) -> str:
    return head + "".join(line + "\n" for title, names in sections.items() for line in _section(title, names, results))


def _section(title: str, names: tuple[str, ...], results: Mapping[str, Result]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| what | wanted | got | when |", "|---|---|---|---|")
    for result in map(results.__getitem__, names):
        for place, row in enumerate(result.rows):
            what = row.what if place else f"*{result.title}*: {row.what}"
            got = f"**{row.got}**" if row.missed else row.got
            when = ", ".join(filter(None, (result.date, row.commit or result.commit)))
            yield f"| {what} | {row.wanted} | {got} | {when} |"
    yield from ("", *(source(results[name]) for name in names))


def main(page: Path = PAGE, older: Path = OLDER) -> None:
    """Writes both pages."""
    for path, text in zip((page, older), pages(recorded()), strict=True):
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
