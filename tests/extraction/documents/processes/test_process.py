"""Processes for what others wrote get a list of variables, and no secret of the run."""

from __future__ import annotations

import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.worker_modules import importable

from cinnabar.apps.server.schema_cache import SchemaCache
from cinnabar.engine.models.language.rendering import render_template
from cinnabar.extraction.documents.archives.archive_process import Unpacker
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.processes import process
from cinnabar.extraction.documents.processes.process import WorkerProcess
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.engines.pool import EnginePool
from cinnabar.schemas import load_schema

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/PID/environ")

SECRETS = (
    "OPENAI_API_KEY", "HF_TOKEN", "CINNABAR_IMAP_PASSWORD", "CINNABAR_PASSWORDS", "AWS_SECRET_ACCESS_KEY",
    "DATABASE_URL", "PREFECT_API_KEY", "RAY_AUTH_TOKEN", "INCEPTION_API_KEY",
)  # fmt: skip
# Every Python process runs it as it starts, before it limits itself.
TELLING = '''
import os
with open("/proc/self/environ", "rb") as said, open(os.path.join({folder!r}, str(os.getpid())), "wb") as told:
    told.write(said.read())
'''


@pytest.fixture
def environments_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the environment of each Python process that starts; secrets are in that of this one."""
    folder = tmp_path / "told"
    folder.mkdir()
    importable("sitecustomize", TELLING.format(folder=str(folder)), tmp_path, monkeypatch)
    for name in SECRETS:
        monkeypatch.setenv(name, f"secret of {name}")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    return folder


def parse(folder: Path) -> None:
    (folder / "a.txt").write_text("words")
    with ParserPool(1) as pool:
        pool.submit(folder / "a.txt").result()


def unpack(folder: Path) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("a.txt", "words")
    with Unpacker() as unpacker:
        assert unpacker.members(folder / "a.zip")


def render(folder: Path) -> None:
    render_template(f"{{# {folder} #}}", {}, [], True)


def compile_one(_: Path) -> None:
    schemas = SchemaCache(30)
    schemas.warm()
    schemas.close()


def fill(_: Path) -> None:
    assignment = Assignment(load_schema({"title": "a"}), model_source("default", "cpu"), RunOptions())
    with EnginePool(1, assignment) as pool:
        assert pool.submit([], lambda work: work()).result().outcomes == []


@pytest.mark.parametrize("start", [parse, unpack, render, compile_one, pytest.param(fill, marks=pytest.mark.slow)])
def test_a_process_for_what_others_wrote_gets_no_secret(
    start: Callable[[Path], None], environments_folder: Path, tmp_path: Path
) -> None:
    start(tmp_path)
    environments = [path.read_bytes() for path in environments_folder.iterdir()]
    assert environments
    for environment in environments:
        assert b"PATH=" in environment and b"LC_TIME=C.UTF-8" in environment
        assert not [name for name in SECRETS if name.encode() in environment]


def test_the_program_of_an_ocr_process_gets_no_secret(
    environments_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, begun = tmp_path / "tesseract", tmp_path / "begun"
    begun.mkdir()
    # A folder names the process, because an OCR process may write no file.
    program.write_text(f'#!/bin/sh\nmkdir "{begun}/$$"\nexec sleep 300\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    cv2 = pytest.importorskip("cv2")
    reader = "cinnabar.extraction.documents.ocr.tesseract:TesseractReader"
    command = [sys.executable, "-P", "-m", "cinnabar.extraction.documents.ocr.worker", reader, "60", str(2 << 30)]
    worker = WorkerProcess(command, b'"eng"\n', 60.0, "OCR")
    try:
        picture = cv2.imencode(".png", np.full((64, 64), 255, np.uint8))[1].tobytes()
        worker.send(b"%d\n" % len(picture), picture)
        until = time.monotonic() + 90
        while not (found := list(begun.iterdir())) and time.monotonic() < until:
            time.sleep(0.02)
        # Empty for the moment in which the shell becomes the program.
        while not (own := Path(f"/proc/{found[0].name}/environ").read_bytes()) and time.monotonic() < until:
            time.sleep(0.02)
        environments = [own, *(path.read_bytes() for path in environments_folder.iterdir())]
    finally:
        worker.stop()
    assert len(environments) == 2
    for environment in environments:
        assert b"PATH=" in environment
        assert not [name for name in SECRETS if name.encode() in environment]


def test_an_engine_of_a_users_class_keeps_the_run_s_variables_but_the_passwords_of_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "secret")
    of_class = Assignment(load_schema("invoice"), model_source("default", "cpu"), RunOptions())
    kept = set(EnginePool(1, of_class)._more)
    assert "DATABASE_URL" in kept and not kept & {"CINNABAR_IMAP_PASSWORD", "CINNABAR_PASSWORDS"}


@pytest.mark.parametrize(("alone", "processes"), [(60.0, 1), (0.0, 2)])
def test_the_first_process_of_a_pool_is_alone_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, alone: float, processes: int
) -> None:
    monkeypatch.setattr(process, "FIRST_ALONE", alone)
    pool = process.WorkerPool[Any](2, "test")
    made: list[object] = []
    together = threading.Barrier(processes, timeout=60)

    def start() -> object:
        made.append(object())
        return made[-1]

    def answer() -> None:
        worker = pool.take() or pool.start(start)
        together.wait()
        pool.give(worker)

    for begun in [pool.submit(answer) for _ in range(4)]:
        begun.result(60)
    assert len(made) == processes
