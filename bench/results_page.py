"""Writes docs/results.md from the results in `bench/results/`: one page of today's headline figures.

python -m bench.results_page
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from bench.recording import RESULTS, Result, recorded

PAGE = RESULTS.parents[1] / "docs" / "results.md"
#: The sections of the page, and the results of each in their order, by the names of their files.
SECTIONS: dict[str, tuple[str, ...]] = {
    "The house": ("house", "tests", "tests_slow", "wheel", "mutants", "schemas"),
    "What is read right": (
        "samples", "sets", "reading", "trusted", "targets", "calibration", "unseen", "routing", "improve", "ablation",
        "demanded",
    ),
    "Files": ("hostile_files", "mutations", "ocr", "parsing"),
    "Speed and size": ("rate", "volume", "cold_start", "long_texts", "long_file", "stored", "ray"),
    "Language models": (
        "engine", "released", "models_beside", "beside_llama", "second_schema", "prose_lists", "batches", "streams",
        "diffusion_gemma", "holes", "gpu",
    ),
    "The server and servers": ("server", "clients", "hostile_requests", "remote"),
    "Owners, people and broken runs": (
        "owners", "neighbours", "review", "two_people", "hostile_folders", "faults", "readers"),
}  # fmt: skip

_HEAD = """\
# Results

`make results` writes this page from `bench/results/`. A figure in **bold** misses what was wanted. Older figures are in
the history of these files, and trials that led nowhere in the [decisions](decisions.md).
"""


def measured(result: Result) -> str:
    """Where the figures of a result are from, in one cell."""
    day = date.fromisoformat(result.date)
    parts = [f"`{result.command}`", f"{day.day} {day:%B %Y}", result.machine, result.precision, result.commit]
    return "; ".join(part for part in parts if part) + (f". {result.note}" if result.note else "")


def page(results: Mapping[str, Result]) -> str:
    """The page in Markdown; each result has to stand in one section, and each name there has a result."""
    placed = [name for names in SECTIONS.values() for name in names]
    if sorted(placed) != sorted(results):
        apart = sorted(set(placed) ^ set(results))
        raise ValueError(f"expected one place in SECTIONS for each file in bench/results/, got apart: {apart}")
    return _HEAD + "".join(line + "\n" for title, names in SECTIONS.items() for line in _section(title, names, results))


def _section(title: str, names: tuple[str, ...], results: Mapping[str, Result]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| what | wanted | got | measured |", "|---|---|---|---|")
    for name in names:
        for place, row in enumerate(results[name].rows):
            what = row.what if place else f"*{results[name].title}*: {row.what}"
            got = f"**{row.got}**" if row.missed else row.got
            yield f"| {what} | {row.wanted} | {got} | {'' if place else measured(results[name])} |"


def main(path: Path = PAGE) -> None:
    """Writes the page."""
    path.write_text(page(recorded()), "utf-8")


if __name__ == "__main__":
    main()
