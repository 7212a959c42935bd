"""A headless Chromium, and a page that reviews an output folder in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.review_server import Served, review_of
from tests.support.reviewed_folder import write_folder

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; tests that need it are skipped where there is none.

    It ends with its module: while Playwright works in a thread, no event loop can run there.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


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
