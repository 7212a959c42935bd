"""A person walks through a folder in the browser: no document jumps away, and no marked words are lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.review_server import Served, choose, drag, place_of, review_of
from tests.support.reviewed_folder import written

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.store.reading import query

pytestmark = pytest.mark.slow
# What the browser itself says of an answer 409.
CONFLICT = "status of 409"


def open_page(chromium: Any, address: str, problems: list[str]) -> Any:
    context = chromium.new_context(viewport={"width": 1500, "height": 950})
    context.set_default_timeout(20000)
    page = context.new_page()
    page.on(
        "console",
        lambda one: one.type in ("error", "warning") and CONFLICT not in one.text and problems.append(one.text),
    )
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(address)
    page.wait_for_selector(".field.chosen")
    return page


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Served]:
    with review_of(written(tmp_path, 6)) as found:
        yield found


@pytest.fixture
def page(chromium: Any, small: Served) -> Iterator[Any]:
    problems: list[str] = []
    found = open_page(chromium, small.address, problems)
    yield found
    found.context.close()
    assert problems == []


def title(page: Any) -> str:
    return str(page.locator(".paper .title").inner_text()).rpartition("/")[2]


def names(page: Any) -> list[str]:
    return list(page.evaluate("() => [...document.querySelectorAll('.row .name')].map((one) => one.textContent)"))


def settled(page: Any) -> None:
    page.wait_for_selector('.app[data-saving="0"]')


def correct(served: Served, name: str, pointer: str, text: str) -> None:
    """Somebody else corrects a value by the command line."""
    (document,) = query(served.out, f"SELECT document FROM parcel WHERE path LIKE '%/{name}'").rows[0]
    Corrector(served.out).correct(document, "parcel", [Change(Action.VALUE, pointer, text)], "Ada")


def test_a_drag_within_a_marked_word_picks_it_for_the_chosen_field(page: Any) -> None:
    page.fill(".search", "doc-2.txt")
    page.wait_for_function("() => document.querySelectorAll('.row').length === 1")
    page.click(".row")
    page.wait_for_function("() => document.querySelector('.paper .title').textContent.endsWith('doc-2.txt')")
    choose(page, "/note")
    drag(page, "Freight")
    page.wait_for_selector(".editor input")
    assert page.locator(".field.chosen .label").inner_text().startswith("Note")
    assert page.locator(".editor input").input_value() == "Freight"
    assert page.locator(".editor .chip:visible").count() == 0, "one reading of plain words"
    page.click(".editor summary")
    assert page.locator(".editor .chip:visible").count() > 1
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    # A double click picks a word for the field that was chosen before its first click.
    choose(page, "/note")
    left, middle, right = place_of(page, "Freight")
    page.mouse.dblclick((left + right) / 2, middle)
    page.wait_for_selector(".editor input")
    assert page.locator(".field.chosen .label").inner_text().startswith("Note")
    assert page.locator(".editor input").input_value() == "Freight"
    page.keyboard.press("Escape")
    # A drag that ends outside of the text picks as well, and a click opens the field.
    left, middle, right = place_of(page, "Oak table")
    choose(page, "/note")
    page.mouse.click(left + 4, middle)
    page.wait_for_selector('.field.chosen:has-text("Item"), td.chosen')


def test_the_order_stands_while_others_work_and_is_sorted_on_request(page: Any, small: Served) -> None:
    before, shown = names(page), title(page)
    written(small.out.parent, 2, "late")
    correct(small, before[2], "/note", '"theirs"')
    page.wait_for_selector(".total button", timeout=30000)
    assert page.locator(".total button").inner_text() == "2 new: sort again"
    assert (names(page), title(page)) == (before, shown)
    page.click(".total button")
    page.wait_for_function("() => document.querySelectorAll('.row .name').length === 8")
    assert title(page) == shown
    assert page.locator(".row.chosen .name").inner_text() == shown


def test_the_next_document_is_the_next_unreviewed_one_wherever_it_stands(page: Any) -> None:
    order = names(page)
    page.locator(".row").nth(4).click()
    page.wait_for_function("(name) => document.querySelector('.paper .title').textContent.endsWith(name)", arg=order[4])
    for expected in (order[5], order[0]):
        page.wait_for_selector(".field.chosen")
        page.keyboard.press("Shift+A")
        page.wait_for_function(
            "(name) => document.querySelector('.paper .title').textContent.endsWith(name)", arg=expected
        )
    assert names(page) == order


def test_accepting_all_leaves_what_was_guessed_and_says_so(chromium: Any, tmp_path: Path) -> None:
    problems: list[str] = []
    with review_of(written(tmp_path, 2, held=1)) as served:
        page = open_page(chromium, served.address, problems)
        held = title(page)
        assert held == "doc-0.txt", "a record that can be mended comes before files that cannot be read"
        assert "no value found for Carrier" in page.locator(".notice.held").inner_text()
        # Nothing is stored of how sure the values in quarantine are, so no percentage is told.
        assert "0%" not in page.locator(".sheet-of").inner_text()
        page.keyboard.press("Shift+A")
        page.wait_for_function("() => document.querySelector('.toast.on')?.textContent.includes('guessed: Carrier')")
        assert title(page) == held
        assert page.locator(".field.chosen .label").inner_text().startswith("Carrier")
        assert page.locator('.field:has([data-pointer="/parcels"]) .conf.human').count() == 1
        assert page.locator('.field:has([data-pointer="/carrier"]) .conf.human').count() == 0
        page.keyboard.press("Enter")
        page.keyboard.type("Buzzard")
        page.keyboard.press("Enter")
        settled(page)
        page.keyboard.press("Shift+A")
        page.wait_for_function(
            "(held) => !document.querySelector('.paper .title').textContent.endsWith(held)", arg=held
        )
        assert query(served.out, "SELECT count(*) FROM quarantine WHERE code = 'missing'").rows == [(0,)]
        page.wait_for_selector(".field.chosen")
        page.keyboard.press("Shift+A")
        page.wait_for_function(
            "() => document.querySelector('.toast').textContent === 'Every record of this list is reviewed.'"
        )
        page.wait_for_function("() => document.querySelector('.progress').textContent.startsWith('2 of 2')")
        page.context.close()
    assert problems == []


def test_both_values_of_a_conflict_are_shown_and_the_person_takes_either(page: Any, small: Served) -> None:
    name = title(page)
    for number, (button, kept) in enumerate((("Keep 41", "41"), ("Take 9", "9"))):
        choose(page, "/parcels")
        page.keyboard.press("Enter")
        page.wait_for_selector(".editor input")
        correct(small, name, "/parcels", "41" if number == 0 else "55")
        # The page learns of it while the person types, and what they saw is still what they saw.
        page.wait_for_timeout(4000)
        page.fill(".editor input", "9")
        page.keyboard.press("Enter")
        page.wait_for_selector(".overtaken")
        said = page.locator(".overtaken").inner_text()
        assert "Ada has changed Parcels" in said and "you said 9" in said
        theirs = "41" if number == 0 else "55"
        page.wait_for_function(
            "(said) => document.querySelector(`.value[data-pointer='/parcels']`)?.textContent === said", arg=theirs
        )
        page.get_by_role("button", name=button).click()
        page.wait_for_selector(".overtaken", state="detached")
        settled(page)
        page.wait_for_function(
            "(kept) => document.querySelector(`.value[data-pointer='/parcels']`).textContent === kept", arg=kept
        )


def test_rows_that_two_pages_add_at_once_are_both_kept(page: Any, small: Served, chromium: Any) -> None:
    problems: list[str] = []
    other = open_page(chromium, small.address, problems)
    for one in (page, other):
        one.locator(".list-of", has_text="Labels").get_by_role("button", name="Add").click()
        one.wait_for_selector("dialog[open]")
    for one, said in ((page, "first"), (other, "second")):
        one.fill("dialog input", said)
        one.click("dialog .primary")
        settled(one)
    other.wait_for_selector(".overtaken")
    other.keyboard.press("Escape")
    other.get_by_role("button", name="Add my row, too").click()
    other.wait_for_selector(".overtaken", state="detached")
    settled(other)
    found = json.loads(query(small.out, f"SELECT record_json FROM parcel WHERE path LIKE '%{title(page)}'").rows[0][0])
    assert sorted(found["labels"]) == ["first", "second", "urgent"]
    other.context.close()
    assert problems == []


def test_the_key_stays_in_the_tab_and_no_cookie_is_set(page: Any, small: Served, chromium: Any) -> None:
    assert "#" not in page.url and page.context.cookies() == []
    page.reload()
    page.wait_for_selector(".field.chosen")
    stranger = chromium.new_context().new_page()
    stranger.goto(small.address.partition("#")[0])
    stranger.wait_for_function("() => document.querySelector('.starting')?.textContent.includes('cinnabar review')")
    stranger.context.close()
