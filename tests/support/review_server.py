"""A review of an output folder in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.review_server import served


@dataclass
class Served:
    """A running review: its folder, and the address that it printed."""

    out: Path
    address: str


@contextmanager
def review_of(out: Path) -> Iterator[Served]:
    """Yields the review of this folder, which ends with the block."""
    with served(out, "Grace") as address:
        assert address.startswith("http://127.0.0.1:"), address
        yield Served(out, address)


def value_of(page: Any, pointer: str) -> str:
    """The value at this place, as the page shows it."""
    return str(page.locator(f'.value[data-pointer="{pointer}"]').inner_text())


def choose(page: Any, pointer: str) -> None:
    """Chooses the field of this place."""
    page.click(f'.value[data-pointer="{pointer}"]')
    page.wait_for_selector(f'.chosen .value[data-pointer="{pointer}"]')


def place_of(page: Any, words: str) -> list[float]:
    """The left, middle and right of these words in the text."""
    page.wait_for_selector(".block pre [data-start]")
    return list(
        page.evaluate(
            """(words) => {
            const walker = document.createTreeWalker(document.querySelector('.viewer'), NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                const at = node.data.indexOf(words);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + words.length);
                const box = range.getBoundingClientRect();
                return [box.left, box.top + box.height / 2, box.right];
            }
        }""",
            words,
        )
    )


def drag(page: Any, words: str) -> None:
    """Drags over these words."""
    left, middle, right = place_of(page, words)
    page.mouse.move(left + 1, middle)
    page.mouse.down()
    page.mouse.move(right - 0.5, middle, steps=5)
    page.mouse.up()
