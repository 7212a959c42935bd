"""The buttons of the review page for packets, in a real browser: join, split, turn, and another schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.review_server import review_of
from tests.support.split_packet import split_folder

from cinnabar.extraction.maintenance.packets import packet_around


@pytest.mark.slow
def test_a_person_turns_names_splits_and_joins_on_the_page(chromium: Any, tmp_path: Path) -> None:
    out = split_folder(tmp_path)

    def parts() -> list[str]:
        return [str(part).removeprefix("pages=") for part, _ in packet_around(out, "packet.pdf").parts()]

    with review_of(out) as served:
        page = chromium.new_context(viewport={"width": 1500, "height": 950}).new_page()
        page.set_default_timeout(8000)
        problems: list[str] = []
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(served.address)
        page.locator(".row", has_text="pages=3-5").click()
        bar = page.locator(".packet")

        def click(name: str, *expected: str) -> None:
            bar.get_by_role("button", name=name).click()
            for _ in range(50):
                if parts() == [*expected]:
                    break
                page.wait_for_timeout(100)
            assert parts() == [*expected]

        bar.get_by_text("Pages 3 to 5 of a packet of 6").wait_for()
        bar.get_by_role("combobox", name="Page").select_option("4")
        click("Turn to the right", "1-2", "3-5&turn=4:90", "6-6")
        bar.get_by_text("last corrected by Grace").wait_for()
        click("Turn to the right", "1-2", "3-5&turn=4:180", "6-6")
        bar.get_by_label("Schema").fill("minutes")
        click("Read with this schema", "1-2", "3-5&turn=4:180&kind=minutes", "6-6")
        click("Split here", "1-2", "3-3&kind=minutes", "4-5&turn=4:180", "6-6")
        bar.get_by_text("Pages 3 to 3").wait_for()
        click("Join with the next", "1-2", "3-5&turn=4:180&kind=minutes", "6-6")
        bar.get_by_text("Pages 3 to 5").wait_for()
        click("Join with the one before", "1-5&turn=4:180", "6-6")
        bar.get_by_text("Pages 1 to 5").wait_for()
        assert problems == []
