"""Fixtures of tests of flows and commands: a model with random weights, a finished run, and one Prefect server."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.store import Store


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small untrained model of the default kind."""
    import torch
    from training.whole_model import save_network

    from cinnabar.engine.models.identity import SHIPPED
    from cinnabar.engine.models.reader.network.network import Network, Size

    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    size = Size(hidden=48, heads=4, inner=64, layers=1, decoder_layers=1, pointer=16)
    save_network(folder, Network(size), SHIPPED / "vocab.txt", {})
    return folder


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """Start a temporary server and database."""
    from prefect.testing.utilities import prefect_test_harness

    import cinnabar.flows.extract  # noqa: F401, it sets what Prefect reads from the environment

    with prefect_test_harness(server_startup_timeout=240):
        yield


@pytest.fixture
def writing() -> Callable[[Path], AbstractContextManager[None]]:
    """Another run writes to a folder until the log of a flow says that it waits for that run."""

    @contextmanager
    def written(out: Path) -> Iterator[None]:
        class Ending(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if f"{out}: another run is writing here" in record.getMessage():
                    other.close()

        other, ending = Store.open(out), Ending()
        logger = logging.getLogger("prefect.flow_runs")
        logger.addHandler(ending)
        try:
            yield
        finally:
            logger.removeHandler(ending)
            other.close()

    return written


def _write_notes(folder: Path) -> Path:
    docs = folder / "docs"
    docs.mkdir()
    for number in range(3):
        (docs / f"{number}.txt").write_text(f"Note {number}\nWritten by Anna on 2024-05-0{number + 1}\n")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (folder / "note.json").write_text(
        '{"title": "note", "type": "object", "properties": {'
        '"author": {"type": ["string", "null"], "description": "Who wrote it."},'
        '"day": {"type": ["string", "null"], "format": "date"}}, "required": ["author", "day"]}'
    )
    return docs


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with small documents, one of them broken, and a schema beside it."""
    return _write_notes(tmp_path)


@pytest.fixture(scope="session")
def _extracted(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extracted")
    _write_notes(folder)
    arguments = ["docs", "--schema", "note.json", "--out", "out", "--on", "empty=write"]
    with chdir(folder):
        assert run(["extract", *arguments, "--model", str(tiny_model)]) == 0
    return folder


@pytest.fixture
def done(_extracted: Path, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results of three notes, and a broken file in quarantine; their paths hold in `tmp_path`."""
    monkeypatch.chdir(notes.parent)
    shutil.copytree(_extracted / "out", tmp_path / "out")
    with Store.open(tmp_path / "out"):  # its snapshot names the files of the copy
        return tmp_path / "out"
