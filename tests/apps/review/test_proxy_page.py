"""Two people in browsers of their own behind a reverse proxy: each correction carries the name that the proxy tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.review_proxy import KEY, proxied
from tests.support.reviewed_folder import written

from cinnabar.extraction.corrections import corrections

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A review behind a proxy in a process of its own: its folder and the address for the proxy."""
    out = written(tmp_path_factory.mktemp("shared"), 4, held=1)
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "review", "--out", str(out), "--json"]
    command += ["--name-header", "X-Forwarded-User"]
    environment = {**os.environ, "CINNABAR_REVIEW_KEY": KEY}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        yield out, json.loads(process.stdout.readline())["url"]
        process.terminate()


@contextmanager
def browsing(chromium: Any, address: str, name: str) -> Iterator[Any]:
    """A window of this person; at the end nothing may have gone wrong in it."""
    with proxied(address, name) as own:
        context = chromium.new_context(viewport={"width": 1500, "height": 950})
        context.set_default_timeout(15_000)
        page = context.new_page()
        problems: list[str] = []
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(own)
        page.wait_for_selector(".field")
        yield page
        assert page.evaluate("window.hacked") is None
        context.close()
        assert problems == []


def open_row(page: Any, number: int) -> None:
    page.locator(f"#row-{number}").click()
    page.wait_for_selector(f"#row-{number}.chosen")


def test_two_people_share_a_review(chromium: Any, shared: tuple[Path, str]) -> None:
    out, address = shared
    with browsing(chromium, address, "Ada") as ada, browsing(chromium, address, HOSTILE) as other:
        assert ada.locator(".person").inner_text() == "Ada"
        open_row(other, 0)
        assert "Held back: The document lacks a value" in other.locator(".notice.why").inner_text()
        other.locator('[data-pointer="/note"]').click()
        other.keyboard.press("Enter")
        other.locator(".editor textarea, .editor input").fill("Leave at the door")
        other.keyboard.press("Enter")
        other.wait_for_selector('[data-saving="0"]')
        other.keyboard.press("n")

        open_row(ada, 0)
        ada.get_by_role("button", name="History").click()
        told = ada.locator("section.history", has_text="note")
        told.wait_for()
        assert HOSTILE in told.inner_text() and "Leave at the door" in told.inner_text()
        ada.keyboard.press("Escape")

    assert {one.who for one in corrections(out)} == {HOSTILE}
