"""Tesseract on a drawn page; skipped where the program is not installed."""

import io
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cv2")

from PIL import Image, ImageDraw, ImageFont

from cinnabar.extraction.documents.ocr import tesseract
from cinnabar.extraction.documents.ocr.engines import tesseract_languages
from cinnabar.extraction.documents.ocr.tesseract import TesseractReader
from cinnabar.extraction.documents.processes.process import WorkerProcess

# The table that the program writes for a page of two lines; the second leans by 45 degrees.
TABLE = """level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext
1\t1\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t
5\t1\t1\t1\t1\t1\t10\t10\t40\t10\t96.5\tTotal
5\t1\t1\t1\t1\t2\t120\t10\t30\t10\t50\t12.50
5\t1\t1\t1\t1\t3\t160\t10\t30\t10\t-1\t\u00a0
5\t1\t1\t1\t2\t1\t10\t60\t40\t10\t90\tpaid
torn line"""


def page(turns: int = 0) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.rot90(np.full((100, 200), 255, np.uint8), turns)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> TesseractReader:
    """A reader whose program reads pages that are wider than high, and nothing of others."""
    monkeypatch.setattr(tesseract.shutil, "which", lambda _: "/bin/false")
    made = TesseractReader("eng")
    empty = TABLE.splitlines()[0]
    monkeypatch.setattr(
        TesseractReader, "_run", lambda _, grey, *_more: TABLE if grey.shape[1] > grey.shape[0] else empty
    )
    return made


def test_words_come_in_rows_with_boxes_and_probabilities(reader: TesseractReader) -> None:
    found = reader.read(page())
    assert found.text == ("Total", "12.50", "paid")
    assert found.gap[0] == "" and found.gap[1].strip(" ") == "" and "\n" in found.gap[2]
    assert found.box.tolist() == [[10, 10, 50, 20], [120, 10, 150, 20], [10, 60, 50, 70]]
    assert found.sure.tolist() == pytest.approx([0.965, 0.5, 0.9])


def test_a_page_on_its_side_is_turned_and_its_boxes_are_turned_back(reader: TesseractReader) -> None:
    found = reader.read(page(turns=1))
    assert found.text == ("Total", "12.50", "paid")
    # The first word runs upwards at the lower left.
    assert found.box[0].tolist() == [10, 150, 20, 190]


def test_the_lean_of_a_page_is_that_of_its_long_lines() -> None:
    words = [
        tesseract._OcrWord("a", ("1",), (0.0, 0.0, 10.0, 10.0), 1.0),
        tesseract._OcrWord("b", ("1",), (100.0, 10.0, 110.0, 20.0), 1.0),
        tesseract._OcrWord("c", ("2",), (0.0, 50.0, 10.0, 60.0), 1.0),
    ]
    assert tesseract._lean(words) == pytest.approx(math.degrees(math.atan2(10, 100)))
    assert tesseract._lean(words[2:]) == 0.0


@pytest.mark.skipif("eng" not in tesseract_languages(), reason="Tesseract is not installed")
def test_the_program_reads_a_page() -> None:
    drawing = Image.new("L", (420, 120), 255)
    font: Any = ImageFont.load_default(size=26)
    ImageDraw.Draw(drawing).text((30, 30), "Delivery note 4711", 0, font)
    out = io.BytesIO()
    drawing.save(out, "PNG")
    found = TesseractReader("eng").read(out.getvalue())
    assert found.text == ("Delivery", "note", "4711") and float(found.sure.min()) > 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end the program at its limit of processor time")
def test_the_program_ends_with_its_killed_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    # A folder names the process, because an OCR process may write no file.
    program.write_text(f'#!/bin/sh\nmkdir "{tmp_path}/$$"\nexec sleep 300\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    reader = "cinnabar.extraction.documents.ocr.tesseract:TesseractReader"
    command = [sys.executable, "-P", "-m", "cinnabar.extraction.documents.ocr.worker", reader, "60", str(2 << 30)]
    worker = WorkerProcess(command, b'"eng"\n', 60.0, "OCR")
    try:
        picture = page()
        worker.send(b"%d\n" % len(picture), picture)
        found = _soon(lambda: [int(path.name) for path in tmp_path.iterdir() if path.is_dir()])
        assert found
    finally:
        worker.stop()
    try:
        assert _soon(lambda: not _runs(found[0]))
    finally:
        if _runs(found[0]):
            os.kill(found[0], signal.SIGKILL)


def _soon(answer: Callable[[], Any]) -> Any:
    """Returns the first true answer within some seconds, else the last one."""
    until = time.monotonic() + 90
    while not (found := answer()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
