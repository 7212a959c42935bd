"""A review of an output folder in a process of its own, and a headless Chromium to look at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from playwright.sync_api import Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def serving(out: Path, who: str = "scripted") -> tuple[subprocess.Popen[str], str]:
    """Starts a review of this folder and returns its process and address."""
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "review", "--out", str(out), "--who", who]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    address = process.stdout.readline().rpartition(" ")[2].strip()
    if not address:
        raise SystemExit(f"expected the address of a review of {out}, got none")
    return process, address


@contextmanager
def served(out: Path, who: str = "scripted") -> Iterator[str]:
    """Yields the address of a review of this folder, which ends with the block."""
    process, address = serving(out, who)
    with process:
        try:
            yield address
        finally:
            process.terminate()


@contextmanager
def browser_page(address: str) -> Iterator[Page]:
    """Yields the page at this address in a headless Chromium of this machine."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        raise SystemExit(f"expected one of {', '.join(_NAMES)} on this machine, got none")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=_FLAGS)
        page = browser.new_context(viewport={"width": 1500, "height": 950}).new_page()
        page.set_default_timeout(60_000)
        page.goto(address)
        page.wait_for_selector(".row .name")
        yield page
        browser.close()


def asked(page: Page, path: str, **said: object) -> Any:
    """Returns the server's answer to a request that the page makes with its key."""
    script = (
        "(path) => fetch(path, { headers: { 'x-cinnabar-key': sessionStorage.getItem('key') } }).then((o) => o.json())"
    )
    return page.evaluate(script, f"{path}?{urlencode(said)}")
