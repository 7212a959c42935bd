"""The parser sandbox: a file that kills, hangs or fills its worker harms only itself."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import pytest
from tests.support.worker_modules import importable

from cinnabar.errors import DocumentError, RunError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import LOOK_AHEAD, ParserPool
from cinnabar.extraction.documents.processes.process import WorkerPool

# A parser that follows the instructions in its file, in a real worker.
PARSER = '''
import ctypes, os, sys, time
from cinnabar.extraction.documents.content.builder import DocumentBuilder
from cinnabar.errors import DocumentError

served = 0
dying = os.path.join(os.path.dirname(__file__), "dies_as_it_starts")
if os.path.exists(dying):
    os.unlink(dying)
    os.abort()

def act(data, path, settings):
    global served
    served += 1
    order = data.decode().split()[0]
    if settings.careful and path.endswith(".eml"):
        order = "read"
    if order == "hang":
        while True:
            time.sleep(1)
    if order == "abort":
        os.abort()
    if order == "segfault":
        ctypes.string_at(0)
    if order == "allocate":
        bytearray(8 << 30)
    if order == "recurse":
        act_again(data)
    if order == "raise":
        raise KeyError("text of the document")
    if order == "write":
        os.write(os.open(data.decode().split()[1], os.O_WRONLY | os.O_CREAT), b"x")
    if order == "garbage":
        for descriptor in range(3, 10):
            try:
                os.write(descriptor, b"garbage on the pipe" * 10)
            except OSError:
                pass
    if order == "refuse":
        raise DocumentError("broken", "as told")
    print("noise on standard output")
    builder = DocumentBuilder()
    builder.metadata["pid"] = str(os.getpid())
    builder.metadata["served"] = str(served)
    builder.metadata["torch"] = str("torch" in sys.modules)
    builder.open("body")
    builder.write(data.decode())
    builder.close()
    return builder.build(data, path, "text/plain")

def act_again(data):
    act_again(data)
'''


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    importable("mock_parser_for_sandbox", PARSER, tmp_path, monkeypatch)
    return "mock_parser_for_sandbox:act"


def files(folder: Path, *contents: str) -> list[Path]:
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"{number:03}.txt")
        paths[-1].write_text(content)
    return paths


def shown(outcome: Document | DocumentError) -> str:
    return outcome.code if isinstance(outcome, DocumentError) else outcome.text


def outcome_of(pool: ParserPool, path: Path) -> Document | DocumentError:
    ((_, outcome),) = pool.parse_many([path])
    return outcome


@pytest.mark.slow
def test_each_document_fails_alone_and_the_order_is_kept(parser: str, tmp_path: Path) -> None:
    orders = ["one", "abort", "two", "hang", "allocate", "three", "segfault", "raise", "recurse", "refuse"]
    paths = files(tmp_path, *orders, "garbage", "four")
    with ParserPool(2, time_limit=2.0, parser=parser) as pool:
        got = list(pool.parse_many(paths))
    assert [path for path, _ in got] == paths
    died = "worker_died"
    expected = ["one", died, "two", "timeout", "memory", "three", died, "parser_error", "depth", "broken"]
    assert [shown(outcome) for _, outcome in got] == [*expected, died, "four"]
    details = {shown(outcome): outcome.detail for _, outcome in got if isinstance(outcome, DocumentError)}
    assert "text of the document" not in details["parser_error"]


def test_a_worker_cannot_write_into_files(parser: str, tmp_path: Path) -> None:
    target = tmp_path / "written"
    (path,) = files(tmp_path, f"write {target}")
    with ParserPool(1, parser=parser) as pool:
        outcome = outcome_of(pool, path)
    assert isinstance(outcome, DocumentError)
    assert (outcome.code, outcome.detail) == ("parser_error", "OSError")
    assert target.stat().st_size == 0


def test_workers_stay_warm_and_are_replaced_in_time(parser: str, tmp_path: Path) -> None:
    paths = files(tmp_path, *["word"] * 5)
    with ParserPool(1, restart_after=2, parser=parser) as pool:
        found = [outcome for _, outcome in pool.parse_many(paths)]
    assert all(isinstance(outcome, Document) for outcome in found)
    documents = [outcome for outcome in found if isinstance(outcome, Document)]
    assert [document.metadata["served"] for document in documents] == ["1", "2", "1", "2", "1"]
    assert len({document.metadata["pid"] for document in documents}) == 3
    assert {document.metadata["torch"] for document in documents} == {"False"}


def test_a_worker_that_dies_as_it_starts_is_started_again(parser: str, tmp_path: Path) -> None:
    once = tmp_path / "modules" / "dies_as_it_starts"
    once.touch()
    (path,) = files(tmp_path, "word")
    with ParserPool(1, parser=parser) as pool:
        assert isinstance(outcome_of(pool, path), Document)
    assert not once.exists()


def test_the_look_ahead_is_bounded(parser: str, tmp_path: Path) -> None:
    paths = files(tmp_path, *["word"] * 40)
    asked = 0

    def counted() -> Iterator[Path]:
        nonlocal asked
        for path in paths:
            asked += 1
            yield path

    with ParserPool(2, parser=parser) as pool:
        for done, _ in enumerate(pool.parse_many(counted())):
            assert asked <= done + 2 * LOOK_AHEAD


def test_leaving_the_pool_ends_running_parsers(parser: str, tmp_path: Path) -> None:
    paths = files(tmp_path, "one", "hang", "hang", "hang")
    started = time.monotonic()
    with ParserPool(2, time_limit=60, parser=parser) as pool:
        outcomes = pool.parse_many(paths)
        assert shown(next(outcomes)[1]) == "one"
    assert time.monotonic() - started < 20
    with pytest.raises(RuntimeError):
        outcome_of(pool, paths[0])


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    (large,) = files(tmp_path, "x" * 2000)
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    odd = tmp_path / "line\nbreak \udcff.txt"
    odd.write_text("odd name")
    with ParserPool(1, max_bytes=1000) as pool:
        assert shown(outcome_of(pool, large)) == "too_large"
        assert shown(outcome_of(pool, pipe)) == "not_a_file"
        assert shown(outcome_of(pool, tmp_path)) == "not_a_file"
        assert shown(outcome_of(pool, tmp_path / "missing.txt")) == "not_a_file"
        assert shown(outcome_of(pool, Path("/dev/zero"))) == "not_a_file"
        assert shown(outcome_of(pool, odd)) == "odd name"


def test_a_mail_that_ends_its_parser_is_read_without_its_attachments(parser: str, tmp_path: Path) -> None:
    mails = [tmp_path / "abort.eml", tmp_path / "hang.eml"]
    for path in mails:
        path.write_text(f"{path.stem} From\n\nthe body\n")
    with ParserPool(2, time_limit=2.0, parser=parser) as pool:
        found = [outcome for _, outcome in pool.parse_many(mails)]
    assert all("the body" in shown(outcome) for outcome in found)


def test_a_worker_imports_no_module_from_the_documents_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "email.py").write_text("raise SystemExit('a document was run')")
    (path,) = files(tmp_path, "words")
    monkeypatch.chdir(tmp_path)
    with ParserPool(1) as pool:
        assert shown(outcome_of(pool, path)) == "words"


@pytest.mark.slow
def test_a_parser_that_does_not_start_stops_the_run(tmp_path: Path) -> None:
    (path,) = files(tmp_path, "words")
    with ParserPool(1, parser="no_such_module:parse") as pool, pytest.raises(RunError, match="not start"):
        outcome_of(pool, path)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="worker"):
        ParserPool(0)


def test_a_thread_that_waits_for_requests_of_a_closed_pool_is_woken() -> None:
    pool: WorkerPool[Any] = WorkerPool(1, "test")
    held = threading.Event()
    first, second = pool.submit(held.wait, 30), pool.submit(held.wait, 30)
    seen: list[set[Future[bool]]] = []
    waiting = threading.Thread(target=lambda: seen.append(wait([first, second], timeout=30).done))
    waiting.start()
    threading.Timer(0.2, held.set).start()
    pool.close()
    waiting.join(5)
    assert seen == [{first, second}] and second.cancelled()
