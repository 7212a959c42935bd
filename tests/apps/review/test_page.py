"""The review page in a real browser: keys, words, rows, messages, and a hostile document.

One walk through it is quick, since a browser and a server take seconds; what the server answers has quick tests.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.review_server import choose, drag, review_of, value_of
from tests.support.reviewed_folder import HOSTILE_NAME, SCHEMA, SCRIPT

from cinnabar.extraction.run.stored_run import Run
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import compile_schema, load_schema

SERIOUS = ("serious", "critical")


def look_at(page: Any, name: str) -> None:
    """Opens the document whose path has this text."""
    page.fill(".search", name)
    page.wait_for_function(
        "(name) => [...document.querySelectorAll('.row')].every((row) => row.title.includes(name))"
        " && document.querySelectorAll('.row').length === 1",
        arg=name,
    )
    page.click(".row")
    page.wait_for_function("(name) => document.querySelector('.bar .title').textContent.includes(name)", arg=name)
    page.wait_for_selector(".block pre span, .page .mark, .viewer .notice")
    page.wait_for_selector(".field.chosen, .list-of.chosen")


def wait_for_value(page: Any, pointer: str, text: str) -> None:
    page.wait_for_function(
        "([pointer, text]) => document.querySelector(`.value[data-pointer='${pointer}']`)?.textContent === text"
        " && !document.querySelector('.pending')",
        arg=[pointer, text],
    )


def active(page: Any) -> str:
    return str(page.evaluate("document.activeElement?.dataset?.pointer ?? ''"))


def type_into(page: Any, pointer: str, text: str) -> None:
    choose(page, pointer)
    page.keyboard.press("Enter")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def wait_until_active(page: Any, pointer: str) -> None:
    page.wait_for_function("(pointer) => document.activeElement?.dataset?.pointer === pointer", arg=pointer)


def test_keys_go_through_the_fields_accept_type_and_take_back(page: Any) -> None:
    look_at(page, "letter.txt")
    choose(page, "/carrier")
    page.keyboard.press("j")
    wait_until_active(page, "/parcels")
    page.keyboard.press("a")
    wait_until_active(page, "/day")
    assert page.locator('.field:has([data-pointer="/parcels"]) .conf.human').count() == 1
    page.keyboard.press("k")
    wait_until_active(page, "/parcels")
    page.keyboard.press("Enter")
    page.keyboard.type("13")
    page.keyboard.press("Enter")
    wait_for_value(page, "/parcels", "13")
    page.keyboard.press("u")
    wait_for_value(page, "/parcels", "12")


@pytest.mark.slow
def test_each_type_has_its_input(page: Any) -> None:
    look_at(page, "letter.txt")
    for pointer, selector, said, shown in (
        ("/day", 'input[type="text"]', "2026-04-01", "2026-04-01"),
        ("/status", "select", '"lost"', "lost"),
        ("/insured", "select", "true", "yes"),
        ("/note", 'input[type="text"]', "Ring twice", "Ring twice"),
    ):
        choose(page, pointer)
        page.keyboard.press("Enter")
        box = page.locator(f".editor {selector}")
        box.select_option(said) if selector == "select" else box.fill(said)
        page.click(".editor .primary")
        wait_for_value(page, pointer, shown)
    choose(page, "/note")
    page.keyboard.press("x")
    wait_for_value(page, "/note", "not in the document")


@pytest.mark.slow
def test_dragging_over_words_of_a_page_gives_their_value_and_their_place(page: Any) -> None:
    look_at(page, "page.pdf")
    choose(page, "/parcels")
    frame = page.locator(".page").bounding_box()
    scale = frame["width"] / 595.28
    # The first line, "Carrier: Kestrel Freight", is 82 points below the top.
    y = frame["y"] + (841.89 - 760 - 4) * scale
    choose(page, "/carrier")
    page.mouse.move(frame["x"] + 119 * scale, y - 8 * scale)
    page.mouse.down()
    page.mouse.move(frame["x"] + 154 * scale, y + 4 * scale, steps=4)
    assert page.locator(".touched").count() == 1
    page.mouse.up()
    page.wait_for_selector(".editor input")
    assert page.locator(".editor input").input_value() == "Kestrel"
    page.keyboard.press("Enter")
    wait_for_value(page, "/carrier", "Kestrel")
    box = page.locator(".mark.box.human").first.bounding_box()
    assert abs(box["x"] - (frame["x"] + 117 * scale)) < 6


@pytest.mark.slow
def test_selected_text_of_a_mail_gives_a_date_in_the_schema_s_form(page: Any) -> None:
    look_at(page, "parcels.eml")
    choose(page, "/day")
    # Two characters beyond the first plane stand before the words: offsets count characters.
    drag(page, "16 March 2026")
    page.wait_for_selector(".editor input")
    assert page.locator(".editor input").input_value() == "2026-03-16"
    page.keyboard.press("Enter")
    wait_for_value(page, "/day", "2026-03-16")
    assert page.locator("mark.human").inner_text() == "16 March 2026"


@pytest.mark.slow
def test_rows_are_removed_and_added_and_a_scalar_row_is_typed(page: Any, served: Any) -> None:
    look_at(page, "third.txt")
    page.get_by_label("Remove row 2 of Lines").click()
    wait_for_value(page, "/lines", "1 row")
    page.locator(".list-of", has_text="Lines").get_by_role("button", name="Add").click()
    page.fill('dialog input[name="item"]', "Elm bench")
    page.fill('dialog input[name="count"]', "7")
    page.click("dialog .primary")
    wait_for_value(page, "/lines", "2 rows")
    assert page.locator('[data-cell="/lines/1/item"]').inner_text().endswith("Elm bench")
    rows = query(served.out, "SELECT to_json(lines)::VARCHAR FROM parcel WHERE path LIKE '%third.txt'").rows
    assert "Elm bench" in rows[0][0] and "Pine" not in rows[0][0]


@pytest.mark.slow
def test_what_does_not_reach_the_server_waits_for_it(served: Any, chromium: Any) -> None:
    page = chromium.new_context(viewport={"width": 1500, "height": 950}).new_page()
    page.goto(served.address)
    page.wait_for_selector(".field")
    look_at(page, "second.txt")
    choose(page, "/note")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    page.keyboard.type("typed without a server")
    page.keyboard.press("Enter")
    page.wait_for_selector(".notice.warn")
    assert value_of(page, "/note") == "typed without a server"
    assert "does not answer" in page.locator(".notice.warn").inner_text()
    page.context.set_offline(False)
    wait_for_value(page, "/note", "typed without a server")
    page.reload()
    page.wait_for_selector(".field")
    look_at(page, "second.txt")
    assert value_of(page, "/note") == "typed without a server"
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "stored"), [("1.234,50", "1234.5"), ("1,234.50", "1234.5"), ("12,5", "12.5"), ("1,234", None)]
)
def test_a_number_is_typed_as_documents_have_it_unless_it_may_be_two(page: Any, said: str, stored: str | None) -> None:
    # Nothing tells the conventions of a document that is gone.
    look_at(page, "gone.txt" if stored is None else "third.txt")
    choose(page, "/weight")
    page.keyboard.press("Enter")
    page.fill(".editor input", said)
    page.keyboard.press("Enter")
    if stored is not None:
        wait_for_value(page, "/weight", stored)
    else:
        page.locator(".editor .error", has_text="1.234 or 1234").wait_for()
        page.locator(".editor .chip", has_text="1.234").click()
        wait_for_value(page, "/weight", "1.234")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "words", "stored"),
    [
        ("4.5.2026", "4 May 2026", "2026-05-04"),
        ("June 5, 2026", "5 June 2026", "2026-06-05"),
        ("04/05/2026", "4 May 2026", "2026-05-04"),
    ],
)
def test_a_date_is_shown_in_words_before_it_is_kept(page: Any, said: str, words: str, stored: str) -> None:
    look_at(page, "second.txt")
    choose(page, "/day")
    page.keyboard.press("Enter")
    page.fill(".editor input", said)
    page.keyboard.press("Enter")
    # Escape takes it back while it stands there.
    page.locator(".will", has_text=words).wait_for()
    page.keyboard.press("Escape")
    assert value_of(page, "/day") != stored
    page.keyboard.press("Enter")
    page.fill(".editor input", said)
    page.keyboard.press("Enter")
    wait_for_value(page, "/day", stored)
    page.keyboard.press("u")
    page.wait_for_selector('.app[data-saving="0"]')


@pytest.mark.slow
def test_a_date_that_may_be_two_is_chosen_by_its_words(page: Any) -> None:
    look_at(page, "gone.txt")
    choose(page, "/day")
    page.keyboard.press("Enter")
    page.fill(".editor input", "04/05/2026")
    page.keyboard.press("Enter")
    page.locator(".editor .error", has_text="can be 4 May 2026 or 5 April 2026").wait_for()
    page.locator(".editor .chip", has_text="5 April 2026").click()
    wait_for_value(page, "/day", "2026-04-05")


@pytest.mark.slow
def test_a_click_anywhere_on_the_line_of_a_field_chooses_it(page: Any) -> None:
    look_at(page, "letter.txt")
    choose(page, "/carrier")
    for pointer, spot in (("/note", ".label"), ("/day", ".conf"), ("/parcels", ".label")):
        page.locator(f'.field:has([data-pointer="{pointer}"]) {spot}').click()
        wait_until_active(page, pointer)
    page.locator('[data-pointer="/parcels"]').evaluate("one => one.closest('.field').click()")
    page.locator(".list-of h3", has_text="Labels").click()
    wait_until_active(page, "/labels")
    page.locator('td:has([data-cell="/lines/0/count"])').click(position={"x": 2, "y": 2})
    page.locator('.field.chosen:has([data-pointer="/lines/0/count"])').wait_for()


@pytest.mark.slow
def test_the_share_of_sure_values_and_titles_stand_where_people_look(page: Any) -> None:
    look_at(page, "held.txt")
    chip = page.locator(".notice.held .chip")
    assert chip.inner_text() == "Carrier" and chip.get_attribute("title") == "/carrier"
    look_at(page, "letter.txt")
    assert re.fullmatch(r"\d+ of \d+ values are sure", page.locator(".sum .conf").inner_text())
    assert page.locator(".row.chosen .badge").get_attribute("title").endswith("values are sure")


@pytest.mark.slow
def test_half_a_date_and_a_year_of_five_digits_are_refused_and_hold_no_other_change_back(page: Any) -> None:
    look_at(page, "third.txt")
    before = value_of(page, "/day")
    choose(page, "/day")
    page.keyboard.press("Enter")
    page.fill(".editor input", "2026-03-")
    page.keyboard.press("Enter")
    page.locator(".editor .error", has_text="Expected a date such as").wait_for()
    page.keyboard.press("Escape")
    assert value_of(page, "/day") == before
    choose(page, "/day")
    page.keyboard.press("Enter")
    page.fill(".editor input", "51020-10-20")
    page.keyboard.press("Enter")
    page.locator(".editor .error", has_text="Expected a date such as").wait_for()
    page.keyboard.press("Escape")
    # What the server refuses stays open, and the next change is stored all the same. Its late answer takes nobody away
    # from the field that was chosen meanwhile.
    waiting: list[Any] = []
    page.route("**/api/correct", lambda route: waiting.append(route))
    type_into(page, "/parcels", "-3")
    choose(page, "/carrier")
    page.wait_for_timeout(50)
    waiting[0].continue_()
    page.unroute("**/api/correct")
    page.locator('.field:has([data-pointer="/parcels"]) .error').wait_for()
    assert "1 change is not saved yet" in page.locator(".notice.warn").inner_text()
    assert active(page) == "/carrier"
    type_into(page, "/carrier", "Ox & Co")
    page.wait_for_selector('.app[data-saving="0"]')
    page.reload()
    look_at(page, "third.txt")
    wait_for_value(page, "/carrier", "Ox & Co")


@pytest.mark.slow
def test_an_object_that_may_be_missing_is_added_and_taken_away(page: Any) -> None:
    look_at(page, "third.txt")
    choose(page, "/sender")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    wait_for_value(page, "/sender/name", "Ada")
    wait_until_active(page, "/sender")
    page.get_by_role("button", name="Edit as JSON").click()
    page.fill(".editor textarea", '{"name": ""}')
    page.keyboard.press("Enter")
    page.wait_for_selector('.object-of .field.wrong:has([data-pointer="/sender/name"])')
    assert '"" is shorter than 1 character' in page.locator(".object-of .field > .error").inner_text()
    page.keyboard.press("u")
    page.wait_for_selector('.object-of .field:not(.wrong):has([data-pointer="/sender/name"])')
    page.focus('.value[data-pointer="/sender"]')
    page.keyboard.press("x")
    wait_for_value(page, "/sender", "not in the document")


@pytest.mark.slow
def test_the_page_itself_never_scrolls(page: Any) -> None:
    # The record is longer than the window.
    page.set_viewport_size({"width": 1500, "height": 420})
    look_at(page, "third.txt")
    for _ in range(20):
        page.keyboard.press("j")
    assert page.evaluate("() => document.scrollingElement.scrollHeight - window.innerHeight") <= 0


@pytest.mark.slow
def test_a_missing_file_is_told_and_its_record_can_be_corrected(page: Any) -> None:
    look_at(page, "gone.txt")
    assert "cannot be shown" in page.locator(".viewer").inner_text()
    choose(page, "/parcels")
    page.keyboard.press("Enter")
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    wait_for_value(page, "/parcels", "4")


@pytest.mark.slow
def test_a_hostile_document_runs_nothing(page: Any) -> None:
    look_at(page, "javascript")
    assert SCRIPT in page.locator(".viewer").inner_text()
    assert SCRIPT in value_of(page, "/note")
    assert HOSTILE_NAME in page.locator(".bar .title").first.inner_text()
    choose(page, "/carrier")
    page.keyboard.press("Enter")
    page.wait_for_selector(".editor")
    page.keyboard.press("Escape")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#app img[src='x'], #app script").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    page.emulate_media(color_scheme=scheme)
    found = []
    for name in ("held.txt", "page.pdf", "parcels.eml"):
        look_at(page, name)
        found += [(name, one) for one in axe.run(page).response["violations"]]
    choose(page, "/day")
    page.keyboard.press("Enter")
    page.wait_for_selector(".editor")
    found += [("editor", one) for one in axe.run(page).response["violations"]]
    page.keyboard.press("Escape")
    for key, name in (("?", "help"), ("i", "improve")):
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        found += [(name, one) for one in axe.run(page).response["violations"]]
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
    serious = [(where, one) for where, one in found if one["impact"] in SERIOUS]
    assert [(where, one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for where, one in serious] == []


@pytest.mark.slow
def test_a_folder_without_documents_says_so(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with Store.open(tmp_path / "out") as store:
        source = load_schema(SCHEMA)
        Run(store, source, compile_schema(source.schema), "0123456789abcdef", {"model": "by hand"}).finish()
    with review_of(tmp_path / "out") as served:
        page = chromium.new_context().new_page()
        page.goto(served.address)
        page.wait_for_selector(".middle code")
        assert "no documents yet" in page.locator(".middle").inner_text()
        page.keyboard.press("i")
        page.wait_for_selector("dialog[open]")
        assert "no documents to learn from" in page.locator("dialog").inner_text()
        page.context.close()


@pytest.mark.slow
def test_filters_choose_documents(page: Any) -> None:
    page.click(".filters summary")
    page.get_by_label("Show").select_option("quarantined")
    page.wait_for_function("() => /^[01] documents?$/.test(document.querySelector('.total').textContent)")
    page.get_by_label("Show").select_option("")
    page.fill(".search", "no such path")
    page.wait_for_function("() => document.querySelector('.total').textContent === '0 documents'")
    assert re.search("No document|letter|held", page.locator("main").inner_text())
