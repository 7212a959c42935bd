"""Reads pictures with Tesseract, where its program is installed."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import MAX_PAGE_WORDS
from cinnabar.extraction.documents.ocr.page_text import PageText, page_text
from cinnabar.extraction.documents.ocr.pictures import Pixels, decode_picture
from cinnabar.extraction.documents.ocr.text_lines import marked_page, rotate_points
from cinnabar.extraction.documents.pdf.glyphs import PageWords
from cinnabar.extraction.documents.pdf.layout import linearise
from cinnabar.extraction.documents.processes.serving import end_with

#: A page that is read with this mean probability stands upright. The program's own guess of the direction was wrong for
#: a page with large letters.
UPRIGHT_SETTLED = 0.75
#: A line leans only if it is so many times as long as high.
LEANING_LINE = 5.0
# The columns of its table of words: the level of a word, its line, its box, its probability in percent, and its text.
_WORD, _LINE, _LEFT, _SURE, _TEXT = "5", slice(1, 5), 6, 10, 11
# The layout expects boxes that reach from accents to descenders; these reach as far as the letters do.
_TALLER = 0.25


@dataclass(frozen=True, slots=True)
class _OcrWord:
    text: str
    line: tuple[str, ...]
    box: tuple[float, float, float, float]
    sure: float


class TesseractReader:
    """Reads pictures in these languages, joined by `+`.

    The program gets decoded pixels, so that none of its image libraries sees the bytes of a document.
    """

    def __init__(self, languages: str) -> None:
        path = shutil.which("tesseract")
        if path is None:
            raise FileNotFoundError("tesseract")
        self._path, self._languages = path, languages

    def read(self, data: bytes) -> PageText:
        """Returns the words and marks of an encoded picture. Raises OSError or ValueError if it cannot be decoded."""
        pixels, scale, damaged = decode_picture(data)
        grey = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY), np.uint8)
        words, turns = self._upright(grey)
        if not words:
            return page_text([], damaged)
        x0, top, x1, bottom = np.array([word.box for word in words]).T
        taller = _TALLER * float(np.median(bottom - top))
        sides = ((x0, top), (x1, top), (x1, bottom), (x0, bottom))
        shape = np.stack([np.stack(side, axis=1) for side in sides], axis=1)
        zoom = 12.0 / max(float(np.median(bottom - top)) + 2 * taller, 1.0)
        lean = _lean(words)
        level = rotate_points(shape.mean(axis=1), -lean) - shape.mean(axis=1)
        upright = np.stack([x0, top - taller, x1, bottom + taller], axis=1) + np.tile(level, 2)
        text = [word.text for word in words]
        rtl = np.array([unicodedata.bidirectional(word[0]) in ("R", "AL") for word in text])
        none = np.zeros(len(text), np.int64)
        page = PageWords(
            text, upright * zoom, turn=none, rtl=rtl, vertical=np.zeros_like(rtl), first=np.arange(len(text))
        )
        own, sure = np.stack([x0, top, x1, bottom], axis=1), np.array([word.sure for word in words])
        page, own, sure = marked_page(page, own, sure, np.rot90(grey, -turns), lean, zoom)
        order, gaps = linearise(page)
        box = _turned_back(own.reshape(-1, 2, 2), turns, grey.shape) / scale
        return page_text([(page.text[i], gap, box[i], sure[i]) for i, gap in zip(order, gaps, strict=True)], damaged)

    def _upright(self, grey: Pixels) -> tuple[list[_OcrWord], int]:
        """Returns the words, and the clockwise quarter turns after which the page is read best."""
        best: tuple[list[_OcrWord], int] = [], 0
        for turns in (0, 1, 3, 2):
            words = self._words(np.ascontiguousarray(np.rot90(grey, -turns)))
            if turns == 0 or _certainty(words) > _certainty(best[0]):
                best = words, turns
            if _certainty(best[0]) >= UPRIGHT_SETTLED:
                break
        return best

    def _words(self, grey: Pixels) -> list[_OcrWord]:
        words = []
        for row in self._run(grey, "-l", self._languages, "--psm", "3", "tsv").splitlines()[1:]:
            cells = row.split("\t")
            if len(cells) <= _TEXT or cells[0] != _WORD or len(clean(cells[_TEXT]).split()) != 1:
                continue
            x, y, wide, high = (float(cell) for cell in cells[_LEFT : _LEFT + 4])
            sure = min(1.0, max(0.0, float(cells[_SURE]) / 100))
            words.append(_OcrWord(clean(cells[_TEXT].strip()), tuple(cells[_LINE]), (x, y, x + wide, y + high), sure))
        return words[:MAX_PAGE_WORDS]

    def _run(self, grey: Pixels, *options: str) -> str:
        picture = b"P5 %d %d 255\n" % (grey.shape[1], grey.shape[0]) + grey.tobytes()
        command = [self._path, "stdin", "stdout", *options]
        # Without it the program would go on to its limit of processor time after this process was killed.
        end = partial(end_with, os.getpid())
        done = subprocess.run(command, input=picture, capture_output=True, check=True, preexec_fn=end)
        return done.stdout.decode("utf-8", "replace")


def _certainty(words: list[_OcrWord]) -> float:
    """Returns the mean probability of a character, 0 without one; half of it if the text runs up or down."""
    total = sum(len(word.text) for word in words)
    standing = sum(len(word.text) for word in words if word.box[3] - word.box[1] > word.box[2] - word.box[0])
    if 2 * standing > total:
        total *= 2
    return sum(len(word.text) * word.sure for word in words) / max(total, 1)


def _lean(words: list[_OcrWord]) -> float:
    """Returns the angle of a page's lines in degrees clockwise, 0 without a long line."""
    lines = defaultdict(list)
    for word in words:
        lines[word.line].append(word.box)
    angles = []
    for boxes in lines.values():
        first, last = boxes[0], boxes[-1]
        along = (last[0] + last[2] - first[0] - first[2]) / 2
        if along > LEANING_LINE * (first[3] - first[1]):
            # The lower edges of words with descenders differ, and so do the upper ones; their middles differ least.
            down = (last[1] + last[3] - first[1] - first[3]) / 2
            angles.append(math.degrees(math.atan2(down, along)))
    return float(np.median(angles)) if angles else 0.0


def _turned_back(shape: np.ndarray, turns: int, size: tuple[int, ...]) -> np.ndarray:
    """Returns boxes [W, 4] on the picture before it was turned by clockwise quarter turns, from corners [W, C, 2]."""
    high, wide = size[:2]
    x, y = shape[..., 0], shape[..., 1]
    if turns == 1:
        x, y = y, high - x
    elif turns == 2:
        x, y = wide - x, high - y
    elif turns == 3:
        x, y = wide - y, x
    return np.stack([x.min(axis=1), y.min(axis=1), x.max(axis=1), y.max(axis=1)], axis=1)
