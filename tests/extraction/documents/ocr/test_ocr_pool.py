"""OCR processes: a picture that kills, hangs or fills its process leaves its page empty, and nothing else."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.worker_modules import importable

from cinnabar.errors import DocumentError, RunError
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import DEFAULT, ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.ocr import pool as pools
from cinnabar.extraction.documents.ocr.engines import OcrEngine
from cinnabar.extraction.documents.ocr.page_store import PageStore
from cinnabar.extraction.documents.ocr.pool import OcrPool

# A reader that follows the instructions in its picture, in a real process.
READER = '''
import os, sys, time
from cinnabar.extraction.documents.ocr.page_text import page_text

class Reader:
    def __init__(self, languages):
        self.served = 0

    def read(self, data):
        self.served += 1
        order, *words = data.decode().split()
        if order == "hang":
            while True:
                time.sleep(1)
        if order == "work":
            end = time.process_time() + 0.25
            while time.process_time() < end:
                pass
        if order == "sleep":
            time.sleep(0.3)
        if order == "nap":
            time.sleep(1.2)
        if order == "abort":
            os.abort()
        if order == "allocate":
            bytearray(8 << 30)
        if order == "cut":
            raise SyntaxError("broken PNG file")
        if order == "raise":
            raise KeyError("text of the document")
        if order == "write":
            os.write(os.open(words[0], os.O_WRONLY | os.O_CREAT), b"x")
        if order == "meet":
            os.close(os.open(words[0], os.O_WRONLY | os.O_CREAT))
            while not os.path.exists(words[1]):
                time.sleep(0.01)
        if order == "garbage":
            return Garbage()
        print("noise on standard output")
        if order == "who":
            words = [str(os.getpid()), str(self.served), str("torch" in sys.modules)]
        return page_text([(word, " " * bool(n), (0, 0, 9, 9), 0.5) for n, word in enumerate(words)], order == "half")

class Garbage:
    def packed(self):
        return b'{"text": ["a b"], "gap": [""], "box": [[0, 0, 1, 1]], "sure": [1], "damaged": false}'
'''
Made = Callable[..., OcrPool]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    importable("mock_picture_reader", READER, tmp_path, monkeypatch)
    return "mock_picture_reader:Reader"


def scan(*orders: str, printed: str = "") -> Document:
    """A document with a picture on each page, and a printed page if there is a text for it."""
    builder = DocumentBuilder()
    if printed:
        builder.open("page", page=1, width=10, height=10)
        builder.write(printed)
        builder.close()
    for order in orders:
        builder.open("page", page=builder.part_count + 1, width=10, height=10)
        builder.show(order.encode(), 2.0)
        builder.close()
    return builder.build(b"x", "a.pdf", "application/pdf")


def filled(pool: OcrPool, *orders: str, printed: str = "") -> Document:
    found = pool.fill(scan(*orders, printed=printed))
    assert isinstance(found, Document), found
    return found


@pytest.fixture
def made(reader: str) -> Made:
    return lambda workers=1, settings=DEFAULT, **options: OcrPool(workers, settings, reader=reader, **options)


@pytest.mark.slow
def test_each_picture_fails_alone_and_the_order_is_kept(made: Made) -> None:
    orders = ["say one", "abort", "say two", "hang", "allocate", "say three", "raise", "garbage", "say four"]
    pool = made(2, time_limit=3.0)
    found = filled(pool, *orders)
    pool.close()
    assert found.text == "one\n\ntwo\n\nthree\n\nfour"
    assert [found.text[part.start : part.end] for part in found.parts] == [
        "one", "", "two", "", "", "three", "", "", "four",
    ]  # fmt: skip
    assert found.flags == ("no_text_pages", "ocr", "ocr_failed")


def test_words_get_points_and_probabilities(made: Made) -> None:
    pool = made()
    found = filled(pool, "say one", printed="printed text")
    pool.close()
    assert found.text == "printed text\n\none" and found.flags == ("ocr",)
    assert found.words.sure is not None and found.words.sure.tolist() == [1.0, 1.0, 0.5]
    assert found.words.box[2].tolist() == [0.0, 0.0, 4.5, 4.5] and bool(np.isnan(found.words.box[0]).all())


def test_an_ocr_process_cannot_write_into_files(made: Made, tmp_path: Path) -> None:
    pool = made()
    found = filled(pool, f"write {tmp_path / 'written'}", printed="printed")
    pool.close()
    assert found.flags == ("no_text_pages", "ocr_failed")
    assert (tmp_path / "written").stat().st_size == 0


def test_processes_start_with_the_first_picture_stay_warm_and_are_replaced(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "OCR_PICTURES", 2)
    pool = made()
    document = DocumentBuilder().build(b"", "a", "b")
    assert pool.fill(document) is document and not pool._pool._alive
    words = filled(pool, "who 1", "who 2", "who 3").text.split()
    pool.close()
    assert words[1::3] == ["1", "2", "1"] and words[0] == words[3] != words[6]
    assert set(words[2::3]) == {"False"}


def test_pages_are_read_side_by_side(made: Made, tmp_path: Path) -> None:
    pool = made(2, time_limit=30.0)
    found = filled(pool, f"meet {tmp_path}/a {tmp_path}/b", f"meet {tmp_path}/b {tmp_path}/a")
    pool.close()
    assert "ocr_failed" not in found.flags


def test_a_repeated_picture_is_read_once(made: Made) -> None:
    pool = made(1)
    words = filled(pool, *["who"] * 20, "who else").text.split()
    pool.close()
    assert words[1::3] == ["1"] * 20 + ["2"]


@pytest.mark.slow
def test_a_document_without_a_word_is_refused_and_told_why(made: Made) -> None:
    for orders, reason in (
        (["say", "say"], "OCR found no text in 2 images"),
        (["abort", "say"], "OCR found no text in 2 images: 1 crashed"),
        (["allocate"], "OCR found no text in 1 image: 1 too large for the memory"),
        (["cut", "raise", "hang"], "OCR found no text in 3 images: 1 damaged, 1 too slow, 1 failed for another reason"),
    ):
        pool = made(time_limit=3.0)
        found = pool.fill(scan(*orders))
        pool.close()
        assert isinstance(found, DocumentError) and (found.code, found.detail) == ("image_only", reason)


def test_a_damaged_picture_is_told(made: Made) -> None:
    pool = made()
    assert filled(pool, "half one").flags == ("ocr", "repaired")
    pool.close()


def test_never_leaves_pages_empty(made: Made) -> None:
    pool = made(settings=ParserSettings(ocr="never"))
    found = filled(pool, "say one", printed="printed")
    assert (found.text, found.flags, found.pictures) == ("printed\n\n", ("no_text_pages",), ())
    only = pool.fill(scan("say one"))
    assert isinstance(only, DocumentError) and only.code == "image_only" and "--ocr auto" in only.detail


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extras.find_spec", lambda _: None)
    pool = OcrPool(1, ParserSettings())
    found = pool.fill(scan("say one"))
    assert isinstance(found, DocumentError) and found.code == "image_only"
    assert 'pip install "cinnabar-extract[ocr]"' in found.detail
    assert filled(pool, "say one", printed="printed").flags == ("no_text_pages",)


def test_more_pictures_than_the_limit_are_left_out(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MAX_READ_PICTURES", 2)
    pool = made()
    found = filled(pool, "say one", "say two", "say three")
    assert found.text == "one\n\ntwo" and found.flags == ("no_text_pages", "ocr", "ocr_limit")
    none = pool.fill(scan("say", "say ", "say three"))
    pool.close()
    reason = "OCR found no text in 3 images: 1 beyond the limit of a document"
    assert isinstance(none, DocumentError) and none.detail == reason


@pytest.mark.slow
def test_a_document_has_its_time_and_pages_that_are_kept_take_none(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "DOCUMENT_SECONDS", 0.4)
    monkeypatch.setattr(pools, "PICTURE_SECONDS", 0.0)
    orders = ["work one", "work two", "work three", "say four"]
    pool = made(pages=PageStore(tmp_path / "pages"))
    # The time is that of a processor: one that waits spends little.
    assert filled(pool, "sleep one", "sleep two").text == "one\n\ntwo"
    found = filled(pool, *orders)
    assert found.text == "one\n\ntwo" and found.flags == ("no_text_pages", "ocr", "ocr_limit")
    assert filled(pool, *orders).text == "one\n\ntwo\n\nthree\n\nfour"
    pool.close()


@pytest.mark.slow
def test_a_process_that_lies_about_its_time_and_one_that_hangs_spend_it(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "DOCUMENT_SECONDS", 1.0)
    monkeypatch.setattr(pools, "PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(pools, "PROCESSOR_SECONDS", pools.PAGE_SECONDS)
    pool = made(time_limit=2.0)
    assert filled(pool, "nap one", "say two").text == "one"
    assert filled(pool, "say one", "hang", "say two").flags == ("no_text_pages", "ocr", "ocr_failed", "ocr_limit")
    pool.close()


@pytest.mark.slow
def test_a_document_of_many_pictures_leaves_others_their_turn(made: Made) -> None:
    import threading

    pool = made()
    many = threading.Thread(target=lambda: filled(pool, *(f"nap {number}" for number in range(4))))
    begun = time.monotonic()
    many.start()
    time.sleep(0.5)
    assert filled(pool, "say one").text == "one"
    waited = time.monotonic() - begun
    many.join()
    pool.close()
    assert waited < 0.8 * (time.monotonic() - begun)


def test_a_page_that_was_read_is_not_read_again(made: Made, tmp_path: Path) -> None:
    store = PageStore(tmp_path / "pages")
    pool = made(pages=store)
    first = filled(pool, "who", "raise")
    pool.close()
    pool = made(pages=store)
    assert filled(pool, "who", "raise").text == first.text
    pool.close()
    # What failed is tried again, perhaps on a quieter machine.
    assert len([*(tmp_path / "pages" / first.digest).iterdir()]) == 1


def test_leaving_the_pool_ends_running_processes(made: Made) -> None:
    import threading

    pool = made(time_limit=60)
    waiting = threading.Thread(target=lambda: pool.fill(scan("hang")))
    waiting.start()
    time.sleep(1.5)
    started = time.monotonic()
    pool.close()
    waiting.join(20)
    assert not waiting.is_alive() and time.monotonic() - started < 20


def test_a_reader_that_does_not_start_is_an_error_of_the_run() -> None:
    pool = OcrPool(1, ParserSettings(), reader="no_such_module:Reader")
    with pytest.raises(RunError, match="OCR process does not start"):
        pool.fill(scan("say one"))
    pool.close()


def test_documents_leave_the_parser_pool_with_the_words_of_their_pictures(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    assert reader  # its folder is on the path of the processes
    (tmp_path / "modules" / "mock_any_reader.py").write_text(
        "from cinnabar.extraction.documents.ocr.page_text import page_text\n"
        "class Reader:\n"
        "    def __init__(self, languages): pass\n"
        "    def read(self, data):\n"
        "        words = 'Guten Morgen liebe Nachbarn'.split()\n"
        "        return page_text([(word, ' ' * bool(n), (0, 0, 9, 9), .9) for n, word in enumerate(words)])\n"
    )
    monkeypatch.setattr(OcrEngine, "reader_name", "mock_any_reader:Reader")
    monkeypatch.setattr(OcrEngine, "setup_advice", lambda _: "")
    monkeypatch.setattr(OcrEngine, "fingerprint", lambda _: "mock")
    Image.new("L", (100, 60), 255).save(tmp_path / "a.png")
    with ParserPool(1, pages=PageStore(tmp_path / "pages")) as pool:
        ((_, found),) = pool.parse_many([tmp_path / "a.png"])
    assert isinstance(found, Document)
    assert found.text == "Guten Morgen liebe Nachbarn" and found.flags == ("ocr",)
    assert found.facts["file.name"].value == "a.png" and found.facts["document.language"].value == "de"
    assert [*(tmp_path / "pages" / found.digest).iterdir()]
