"""Three people in browsers of their own behind a reverse proxy: claims, roles, history, and the second reader."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.review_proxy import proxied
from tests.support.reviewed_folder import written

from cinnabar.extraction.corrections import corrections
from cinnabar.extraction.store.reading import query

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=window.hacked=1>"
ROLES = f'[names]\nAda = "owner"\n{json.dumps(HOSTILE)} = "reviewer"\nGil = "reader"\n'


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A team's review in a process of its own: its folder and the address for the proxy."""
    root = tmp_path_factory.mktemp("team")
    out = written(root, 4, held=1, audit="100%")
    (root / "team.toml").write_text(ROLES)
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "review", "--out", str(out), "--json"]
    command += ["--team", str(root / "team.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
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


def test_a_team_at_work(chromium: Any, team: tuple[Path, str]) -> None:
    out, address = team
    with browsing(chromium, address, "Ada") as ada, browsing(chromium, address, HOSTILE) as other:
        open_row(ada, 1)
        ada.wait_for_load_state("networkidle")  # her claim has arrived
        open_row(other, 1)
        assert "Ada has this document open" in other.locator(".notice.claimed").inner_text()
        other.wait_for_selector("#row-1 .holder")
        assert ada.locator(".person").inner_text() == "Ada, owner"
        assert other.get_by_role("button", name="Learn").count() == 0

        # The next document of the other person is one that nobody has.
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


def test_a_reader_looks_and_changes_nothing(chromium: Any, team: tuple[Path, str]) -> None:
    out, address = team
    before = query(out, "SELECT count(*) FROM outcomes").rows
    with browsing(chromium, address, "Gil") as page:
        assert page.locator("footer").count() == 0
        page.keyboard.press("A")
        assert "not change it" in page.locator(".toast").inner_text()
        # What the page does not offer is refused by the server, too.
        at = page.evaluate("fetch('/api/list').then((one) => one.json())")
        assert at["total"] == 4
    assert query(out, "SELECT count(*) FROM outcomes").rows == before


def test_the_second_reader_judges_and_sees_the_figure(chromium: Any, team: tuple[Path, str]) -> None:
    out, address = team
    with browsing(chromium, address, "Ada") as page:
        page.get_by_role("button", name="Audit", exact=True).click()
        page.locator(".verdict").first.wait_for()
        assert page.locator("dialog .conf").count() == 0, "blind"
        row = page.locator('.verdict[data-pointer="/parcels"]')
        row.get_by_role("button", name="Wrong").click()
        row.locator("input").fill("13")
        page.get_by_role("button", name="The others are right").click()
        page.get_by_role("button", name="Store, next").click()
        page.get_by_text("Stored. Thank you.").wait_for()
        page.keyboard.press("Escape")
    audited = [(one.who, json.loads(one.after or "")["right"]) for one in corrections(out) if one.action == "audit"]
    assert audited == [("Ada", 8)]
