"""A headless Chromium, and a review of an output folder in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from reviewed_folder import write_folder

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


@dataclass
class Served:
    """A running review: its folder, the address that it printed, and what a page reported as wrong."""

    out: Path
    address: str
    problems: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A review of a fresh folder."""
    out = write_folder(tmp_path_factory.mktemp("reviewed"))
    command = [sys.executable, "-m", "cinnabar.flows.cli.main", "review", "--out", str(out), "--who", "Grace"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        address = process.stdout.readline().rpartition(" ")[2].strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield Served(out, address)
        process.terminate()
        process.wait(20)


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
