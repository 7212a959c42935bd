"""Pages that OCR read are kept by document, within a bound."""

import os
from pathlib import Path

from cinnabar.extraction.documents.ocr.page_store import CarriedPages, PageStore
from cinnabar.extraction.documents.ocr.page_text import PageText, page_text

ONE, OTHER = "1" * 64, "2" * 64


def page(text: str = "word") -> PageText:
    return page_text([(text, "", (0, 0, 1, 1), 0.5)])


def test_a_page_is_found_by_document_picture_and_engine(tmp_path: Path) -> None:
    store = PageStore(tmp_path / "pages")
    store.put(ONE, b"picture", "engine 1", page())
    found = PageStore(tmp_path / "pages").get(ONE, b"picture", "engine 1")
    assert found is not None and found.text == ("word",)
    assert store.get(OTHER, b"picture", "engine 1") is None
    assert store.get(ONE, b"other", "engine 1") is None
    assert store.get(ONE, b"picture", "engine 2") is None


def test_a_broken_file_counts_as_missing_and_is_replaced(tmp_path: Path) -> None:
    store = PageStore(tmp_path)
    store.put(ONE, b"picture", "e", page())
    (file,) = tmp_path.glob("*/*")
    file.write_bytes(file.read_bytes()[:-5])
    assert store.get(ONE, b"picture", "e") is None
    store.put(ONE, b"picture", "e", page())
    assert store.get(ONE, b"picture", "e") is not None
    assert [path.name for path in tmp_path.rglob("*.json")] == [file.name]


def test_the_least_recently_read_pages_go_first(tmp_path: Path) -> None:
    size = len(page().pack())
    store = PageStore(tmp_path, limit=4 * size)
    for number, document in enumerate(("a", "b", "c")):
        store.put(document, b"picture", "e", page())
        (file,) = (tmp_path / document).iterdir()
        os.utime(file, (1000 + number, 1000 + number))
    assert store.get("a", b"picture", "e") is not None  # now the last one
    store.put("d", b"picture", "e", page())
    store.put("e", b"picture", "e", page())
    kept = {path.name for path in tmp_path.iterdir()}
    assert "b" not in kept and {"a", "e"} <= kept
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.json")) <= 4 * size


def test_a_folder_that_cannot_be_written_keeps_nothing_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("a file")
    store = PageStore(tmp_path / "pages")
    store.put(ONE, b"picture", "e", page())
    assert store.get(ONE, b"picture", "e") is None


def test_pages_travel_to_another_machine_and_back(tmp_path: Path) -> None:
    here, there = PageStore(tmp_path / "pages"), CarriedPages()
    here.put(ONE, b"picture", "e", page("kept"))
    there.carry(here.pages_of([ONE, OTHER]))
    known = there.get(ONE, b"picture", "e")
    assert known is not None and known.text == ("kept",)
    assert there.get(ONE, b"picture", "other engine") is None and there.get(OTHER, b"picture", "e") is None
    there.put(OTHER, b"picture", "e", page("there"))
    assert [*there.taken()] == [OTHER]
    here.add(there.taken())
    back = here.get(OTHER, b"picture", "e")
    assert back is not None and back.text == ("there",)
    there.carry({})
    assert there.taken() == {} and there.get(ONE, b"picture", "e") is None


def test_only_names_of_pages_become_files(tmp_path: Path) -> None:
    store = PageStore(tmp_path / "pages")
    store.add({"../out": {ONE: b"{}"}, ONE: {"../../out": b"{}"}})
    assert not [*tmp_path.rglob("*.json")]
