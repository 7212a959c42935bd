"""Measures the review page over many documents: the first page, the next document, a search, a correction.

    python -m bench review_report --documents 10000

The outcomes are those of `bench/stored_volume.py`, each with a text file of its own. The clock is that of the browser:
from the request of the page until the list and a record show, and from a key until the next record shows.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.reporting import table
from bench.review_server import browser_page, served
from bench.stored_volume import write_files

if TYPE_CHECKING:
    from playwright.sync_api import Page

_BATCH = 64
# Waits within the page, so that no round trip to the browser counts.
_NEXT = """async () => {
    const title = () => document.querySelector('.paper .title').textContent;
    const find = (selector) => document.querySelector(selector);
    const shown = () => find('.sheet-of .field') && find('.viewer:not([aria-busy])');
    const before = title();
    const begun = performance.now();
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', bubbles: true }));
    while (title() === before || !shown()) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""
_ACCEPT = """async () => {
    const begun = performance.now();
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
    await new Promise(requestAnimationFrame);
    const saving = () => document.querySelector('.app').dataset.saving !== '0';
    while (saving() || !document.querySelector('.conf.human')) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""


def measure(page: Page, address: str, count: int) -> list[Sequence[str]]:
    """Returns the rows of the report."""
    rows: list[Sequence[str]] = []

    def row(what: str, milliseconds: Sequence[float], wanted: str) -> None:
        ordered = sorted(milliseconds)
        ninth = ordered[int(len(ordered) * 0.9)] if len(ordered) > 1 else ordered[0]
        rows.append((what, f"{statistics.median(ordered):.0f}", f"{ninth:.0f}", f"{ordered[-1]:.0f}", wanted))

    first = []
    for _ in range(5):
        begun = time.perf_counter()
        page.goto(address.partition("#")[0])
        page.wait_for_selector(".row .name")
        page.wait_for_selector(".sheet-of .field")
        first.append((time.perf_counter() - begun) * 1000)
    row("first page: list and record", first, "1000")
    page.wait_for_timeout(1500)
    row("next document, a person reads for a second", [_after(page, 1000, _NEXT) for _ in range(30)], "150")
    row("next document, key after key", [page.evaluate(_NEXT) for _ in range(30)], "150")
    row("accept a value, until it is stored", [_after(page, 300, _ACCEPT, _NEXT) for _ in range(10)], "")
    row("search", [_search(page, f"{number:05}") for number in range(count // 1000)], "")
    return rows


def _after(page: Page, pause: int, script: str, then: str = "") -> float:
    page.wait_for_timeout(pause)
    took = float(page.evaluate(script))
    if then:
        page.evaluate(then)
    return took


def _search(page: Page, text: str) -> float:
    begun = time.perf_counter()
    page.fill(".search", f"mails/{text}")
    found: Callable[..., object] = page.wait_for_function
    found("(text) => document.querySelector('.row')?.title.includes(text)", arg=f"mails/{text}")
    return (time.perf_counter() - begun) * 1000


def report(count: int, root: Path) -> None:
    """Fills a folder, looks at it in a browser, and prints the figures."""
    out = root / "out"
    fill = [sys.executable, "-m", "bench.stored_volume", "fill", str(out), str(count), str(_BATCH)]
    subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
    write_files(root, count)
    begun = time.perf_counter()
    with served(out) as address:
        started = time.perf_counter() - begun
        with browser_page(address) as page:
            rows = measure(page, address, count)
    print(f"{count:,} documents; the command answers after {started:.1f} s\n")
    print(table(("milliseconds", "median", "90%", "most", "at most"), rows))


def main() -> None:
    """Measures as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=10_000)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report(said.documents, Path(folder))


if __name__ == "__main__":
    main()
