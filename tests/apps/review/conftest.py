"""A page that reviews an output folder in headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.page_in_chromium import chromium
from tests.support.review_server import Served, review_of
from tests.support.reviewed_folder import write_folder

__all__ = ["chromium"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A review of a fresh folder."""
    with review_of(write_folder(tmp_path_factory.mktemp("reviewed"))) as found:
        yield found


@pytest.fixture
def page(chromium: Any, served: Served) -> Iterator[Any]:
    """The review page in a window of its own; at the end nothing may have gone wrong in it."""
    context = chromium.new_context(viewport={"width": 1500, "height": 950})
    context.set_default_timeout(8000)
    found = context.new_page()
    problems: list[str] = []
    found.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
    found.on("pageerror", lambda error: problems.append(str(error)))
    host = served.address.split("/")[2]
    found.on("request", lambda asked: asked.url.split("/")[2] != host and problems.append(f"asked {asked.url}"))
    found.goto(served.address)
    found.wait_for_selector(".field")
    yield found
    context.close()
    assert problems == []
