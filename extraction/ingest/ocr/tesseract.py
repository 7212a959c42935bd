"""Reads pictures with Tesseract, where its program is installed."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata

import cv2
import numpy as np

from cinnabar.extraction.ingest.builder import clean
from cinnabar.extraction.ingest.ocr.page_text import MAX_WORDS, PageText, page_text
from cinnabar.extraction.ingest.ocr.pictures import decoded
from cinnabar.extraction.ingest.pdf.glyphs import PageWords
from cinnabar.extraction.ingest.pdf.layout import linearise

# The columns of its table of words: the level of a word, its box, its probability in percent, and its text.
_WORD, _LEFT, _SURE, _TEXT = "5", 6, 10, 11


class TesseractReader:
    """Reads pictures in these languages, joined by `+`.

    The program gets decoded pixels, so that none of its image libraries sees the bytes of a document.
    """

    def __init__(self, languages: str) -> None:
        path = shutil.which("tesseract")
        if path is None:
            raise FileNotFoundError("tesseract")
        listed = subprocess.run([path, "--list-langs"], capture_output=True, check=True).stdout.decode().split()
        # Mode 1 turns the page, and needs the data for that.
        mode = "1" if "osd" in listed else "3"
        self._command = [path, "stdin", "stdout", "-l", languages, "--psm", mode, "tsv"]

    def read(self, data: bytes) -> PageText:
        """Returns the words of an encoded picture."""
        pixels, scale, damaged = decoded(data)
        grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
        header = b"P5 %d %d 255\n" % (grey.shape[1], grey.shape[0])
        found = subprocess.run(
            self._command, input=header + grey.tobytes(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
        rows = [line.split("\t") for line in found.stdout.decode("utf-8", "replace").splitlines()[1:]]
        words = [
            (clean(row[_TEXT]), [float(side) for side in row[_LEFT : _LEFT + 4]], float(row[_SURE]) / 100)
            for row in rows
            if len(row) > _TEXT and row[0] == _WORD and len(row[_TEXT].split()) == 1
        ][:MAX_WORDS]
        if not words:
            return page_text([], damaged)
        text = [word for word, _, _ in words]
        x, y, wide, high = np.array([box for _, box, _ in words]).T
        box = np.stack([x, y, x + wide, y + high], axis=1)
        zoom = 12.0 / max(float(np.median(high)), 1.0)
        rtl = np.array([unicodedata.bidirectional(word[0]) in ("R", "AL") for word in text])
        page = PageWords(text, box * zoom, np.zeros(len(text), np.int64), rtl, vertical=False)
        order, gaps = linearise(page)
        box = box / scale
        kept = [(text[i].strip(), gap, box[i].tolist(), words[i][2]) for i, gap in zip(order, gaps, strict=True)]
        return page_text(kept, damaged)
