"""Reads pictures with RapidOCR's networks on ONNX Runtime: finds the page's direction, its lines and their words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime

from cinnabar.extraction.documents.content.builder import clean
from cinnabar.extraction.documents.content.limits import MAX_LINE_LENGTH, MAX_PAGE_WORDS, MAX_PICTURE_LINES, MAX_TILES
from cinnabar.extraction.documents.ocr.page_text import PageText, page_text
from cinnabar.extraction.documents.ocr.pictures import Pixels, decode_picture
from cinnabar.extraction.documents.ocr.tesseract import TesseractReader
from cinnabar.extraction.documents.ocr.text_lines import (
    TextLine,
    align_lines,
    corners,
    marked_page,
    page_angle,
    rotate_points,
    strip,
)
from cinnabar.extraction.documents.pdf.glyphs import PageWords
from cinnabar.extraction.documents.pdf.layout import linearise

#: The lines that tell whether a page stands on its head, and the mean probability of their letters that settles it
#: without a look at the reverse. Upright lines of the samples had .93 and more, reversed ones .75 and less.
TURNED_LINES, TURNED_SETTLED = 6, 0.9
#: Fewer letters for each height of a line that it is long are those of another script: the recogniser leaves letters
#: out that it does not know. Latin text has 1.2 to 2.5, Cyrillic .3.
SPARSE_LETTERS = 0.6
#: So are letters with a smaller mean probability: Greek ones have .82, Latin and Chinese ones .98 even on poor scans.
FOREIGN_LETTERS = 0.9
#: A word with a smaller probability is a picture's or a pen's stroke.
LEAST_WORD = 0.05
#: A taller picture is read in tiles of so many times its width, of which neighbours share a part. A wide one is not
#: cut, because its lines would be.
TILE_HEIGHT, TILE_SHARED = 2.0, 0.25
#: RapidOCR's own settings: the least probability of a pixel and of a line, and how far a line's rectangle grows, as a
#: share of its area by its outline (the network marks only the core of letters). The least height is in its pixels.
PIXEL_PROBABILITY, LINE_PROBABILITY, LINE_GROWTH, LEAST_HEIGHT = 0.3, 0.5, 1.6, 3.0


class RapidReader:
    """Reads pictures; one thread works. Its networks read all their languages at once.

    languages: Tesseract's, for pages whose letters the networks do not know; "" without Tesseract.
    """

    def __init__(self, languages: str = "") -> None:
        self._other = TesseractReader(languages) if languages else None
        cv2.setNumThreads(1)
        self._detect = LineDetector(_session("det"))
        self._recognise = StripRecogniser(_session("rec"))

    def read(self, data: bytes) -> PageText:
        """Returns the words and marks of an encoded picture. Raises OSError or ValueError if it cannot be decoded."""
        pixels, scale, damaged = decode_picture(data)
        lines = self._detect(pixels)
        if not lines:
            return page_text([], damaged)
        angle = page_angle(lines)
        lines = align_lines(lines, angle)
        if self._on_its_head(pixels, lines, angle):
            angle = (angle + 180) % 360
            lines = [line.turn(180) for line in lines]
        lines, words = self._either_way(pixels, lines, angle)
        page = _page(lines, words, angle, pixels, scale, damaged)
        expected = SPARSE_LETTERS * sum(line.length / line.height for line in lines)
        foreign = sum(map(len, page.text)) < expected or _mean(words) < FOREIGN_LETTERS
        if self._other is not None and foreign:
            return max(page, self._other.read(data), key=_letters)
        return page

    def _words(self, pixels: Pixels, lines: Sequence[TextLine]) -> list[list[StripWord]]:
        readable = [line.length / line.height * HEIGHT <= MAX_LINE_LENGTH for line in lines]
        strips = [strip(pixels, line, HEIGHT) for line, fits in zip(lines, readable, strict=True) if fits]
        words = iter(self._recognise(strips))
        return [next(words) if fits else [] for fits in readable]

    def _on_its_head(self, pixels: Pixels, lines: Sequence[TextLine], angle: float) -> bool:
        """Returns True if the text is read better after half a turn."""
        along = [line for line in lines if abs((line.angle - angle + 180) % 360 - 180) < 45]
        middling = sorted(along, key=lambda line: abs(line.length - 10 * line.height))[:TURNED_LINES]
        upright = _mean(self._words(pixels, middling))
        return upright < TURNED_SETTLED and _mean(self._words(pixels, [line.turn(180) for line in middling])) > upright

    def _either_way(
        self, pixels: Pixels, lines: Sequence[TextLine], angle: float
    ) -> tuple[list[TextLine], list[list[StripWord]]]:
        """Returns the lines with their words; those across the page are read in the direction that reads better."""
        chosen, words = list(lines), self._words(pixels, lines)
        across = [number for number, line in enumerate(lines) if _quarter(line, angle) % 2]
        reverse = [lines[number].turn(180) for number in across]
        for number, line, reversed_words in zip(across, reverse, self._words(pixels, reverse), strict=True):
            if _mean([reversed_words]) > _mean([words[number]]):
                chosen[number], words[number] = line, reversed_words
        return chosen, words


def _letters(page: PageText) -> float:
    """Returns the number of letters that are expected to be right."""
    return sum(len(word) * math.pow(sure, 1 / len(word)) for word, sure in zip(page.text, page.sure, strict=True))


def _quarter(line: TextLine, angle: float) -> int:
    """Returns the quarter turns counter-clockwise of a line on a page with this angle."""
    return round((angle - line.angle) / 90) % 4


def _mean(lines: Sequence[Sequence[StripWord]]) -> float:
    """Returns the mean probability of a letter, 0 without one."""
    words = [word for line in lines for word in line]
    total = sum(len(word.text) for word in words)
    return sum(len(word.text) * math.pow(word.sure, 1 / len(word.text)) for word in words) / max(total, 1)


def _page(
    lines: Sequence[TextLine],
    words: Sequence[Sequence[StripWord]],
    angle: float,
    pixels: Pixels,
    scale: float,
    damaged: bool,
) -> PageText:
    """Returns the words and marks in reading order, with boxes in pixels of the file."""
    kept = [
        (line, word) for line, own in zip(lines, words, strict=True) for word in own if word.sure >= LEAST_WORD
    ][:MAX_PAGE_WORDS]
    if not kept:
        return page_text([], damaged)
    shape = np.stack([corners(line, word.first, word.last) for line, word in kept])
    # The layout has measures in points: here a line is 12 points high.
    zoom = 12.0 / float(np.median([line.height for line, _ in kept]))
    upright = rotate_points(shape.reshape(-1, 2), -angle).reshape(-1, 4, 2) * zoom
    page = PageWords(
        text=[clean(word.text) for _, word in kept],
        box=np.concatenate([upright.min(axis=1), upright.max(axis=1)], axis=1),
        turn=np.array([_quarter(line, angle) for line, _ in kept]),
        rtl=np.zeros(len(kept), np.bool_),
        vertical=np.zeros(len(kept), np.bool_),
        first=np.arange(len(kept)),
    )
    box = np.maximum(np.concatenate([shape.min(axis=1), shape.max(axis=1)], axis=1), 0.0)
    sure = np.array([word.sure for _, word in kept])
    page, box, sure = marked_page(page, box, sure, pixels, angle, zoom)
    order, gaps = linearise(page)
    return page_text(
        [(page.text[i], gap, box[i] / scale, sure[i]) for i, gap in zip(order, gaps, strict=True)], damaged
    )


def _session(task: str) -> Any:
    """Returns a runner of one of the networks in RapidOCR's wheel, `det` or `rec`."""
    spec = find_spec("rapidocr")
    assert spec is not None and spec.submodule_search_locations, "the extra `ocr` has rapidocr"
    # The package is not imported: it can download models, and its import takes .6 s.
    (model,) = (Path(spec.submodule_search_locations[0]) / "models").glob(f"PP-OCR*_{task}_*.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Its pool of memory would keep the most that any page took.
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


# Reads strips of text with RapidOCR's recogniser: a network that names a character, or none, at each column.

#: Pixels that a strip is high.
HEIGHT = 48
# Pixels of all strips that go through the network together, and how much longer the longest may be than the shortest.
# Larger batches take more memory and no less time on one thread.
_BATCH, _RATIO = HEIGHT * 2_000, 1.25
# Full-width forms of ASCII, which the network at times chooses among Latin letters.
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_IDEOGRAPHS = (0x2E80, 0xFAFF)


@dataclass(frozen=True, slots=True)
class StripWord:
    """A word of a strip: its place as shares of the strip's length, and the probability of its letters together."""

    text: str
    first: float
    last: float
    sure: float


class StripRecogniser:
    """Reads strips of text; `session` runs the network, and `characters` are its classes after the first (none)."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name
        listed = session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._characters = ["", *listed, " "]

    def __call__(self, strips: Sequence[Pixels]) -> list[list[StripWord]]:
        """Returns the words of each strip, [48, W, 3]."""
        words: list[list[StripWord]] = [[] for _ in strips]
        for batch in _batches([one.shape[1] for one in strips]):
            longest = max(strips[number].shape[1] for number in batch)
            # The network sees white space behind a line as no text, if it is the grey of normalised zeros.
            seen = np.zeros((len(batch), 3, HEIGHT, -(-longest // 8) * 8 + 8), np.float32)
            for row, number in enumerate(batch):
                strip = strips[number]
                seen[row, :, :, : strip.shape[1]] = strip.transpose(2, 0, 1).astype(np.float32) / 127.5 - 1.0
            (chances,) = self._session.run(None, {self._input: seen})
            for row, number in enumerate(batch):
                share = seen.shape[3] / strips[number].shape[1]
                words[number] = self._words(chances[row], share)
        return words

    def _words(self, chances: npt.NDArray[np.float32], share: float) -> list[StripWord]:
        """Returns the words in the network's answer, [T, characters]; T columns are `share` lengths of the strip."""
        best = chances.argmax(axis=1)
        sure = chances[np.arange(len(best)), best]
        # A character goes on over columns, so only its first one counts.
        at = np.flatnonzero((best != 0) & (np.diff(best, prepend=-1) != 0))
        letters = [self._characters[number] for number in best[at].tolist()]
        if not any(_IDEOGRAPHS[0] <= ord(letter[0]) <= _IDEOGRAPHS[1] for letter in letters):
            letters = [letter.translate(_NARROW) for letter in letters]
        middle = (at + 0.5) * (share / len(best))
        words: list[StripWord] = []
        blanks = [-1, *(i for i, letter in enumerate(letters) if letter.isspace()), len(letters)]
        for before, after in pairwise(blanks):
            inside = list(range(before + 1, after))
            if not inside:
                continue
            first, last = middle[inside[0]], middle[inside[-1]]
            half = (last - first) / (len(inside) - 1) / 2 if len(inside) > 1 else share / len(best)
            text = "".join(letters[i] for i in inside)
            chance = float(np.prod(sure[at[inside]].astype(float)))
            words.append(StripWord(text, max(0.0, float(first - half)), min(1.0, float(last + half)), chance))
        return words


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yields the numbers of strips of similar lengths."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = (len(batch) + 1) * lengths[number] * HEIGHT > _BATCH
        if batch and (full or lengths[number] > _RATIO * lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


# The pixels that the network sees of a picture (those of A4 with 1,280 on its longer side), and the most on a side.
# Small pictures grow, twice at most.
_AREA, _SIDE, _GROWTH = 1_280 * 905, 4_096, 2.0
# The network's sides are multiples of this.
_STEP = 32


class LineDetector:
    """Finds lines of text; `session` runs the network."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name

    def __call__(self, pixels: Pixels) -> list[TextLine]:
        """Returns the lines of text on a picture, [H, W, 3]."""
        lines: list[TextLine] = []
        for tile, top, own in _tiles(pixels):
            for line in self._lines(tile):
                if own[0] <= line.y < own[1]:
                    lines.append(replace(line, y=line.y + top))
        return lines[:MAX_PICTURE_LINES]

    def _lines(self, tile: Pixels) -> Iterator[TextLine]:
        high, wide = tile.shape[:2]
        scale = min(_GROWTH, (_AREA / (high * wide)) ** 0.5, _SIDE / max(high, wide))
        size = [max(_STEP, round(side * scale / _STEP) * _STEP) for side in (wide, high)]
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        seen = cv2.resize(tile, size, interpolation=method).astype(np.float32) / 127.5 - 1.0
        (chance,) = self._session.run(None, {self._input: seen.transpose(2, 0, 1)[None]})
        across, down = wide / size[0], high / size[1]
        for x, y, length, height, angle in _rectangles(chance[0, 0]):
            # The rounding of the sides scales the two directions a little differently.
            cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            along, upright = math.hypot(cos * across, sin * down), math.hypot(sin * across, cos * down)
            yield TextLine(x * across, y * down, length * along, height * upright, angle)


def _tiles(pixels: Pixels) -> Iterator[tuple[Pixels, int, tuple[float, float]]]:
    """Yields the tiles of a picture with their top; a tile owns the lines with their middle in an interval of it."""
    high, wide = pixels.shape[:2]
    size = int(TILE_HEIGHT * wide)
    if high <= 1.5 * size:
        yield pixels, 0, (-np.inf, np.inf)
        return
    step = int(size * (1 - TILE_SHARED))
    count = min(MAX_TILES, -(-(high - size) // step) + 1)
    margin = (size - step) / 2
    for number in range(count):
        top = number * step
        own = (-np.inf if number == 0 else margin, np.inf if number == count - 1 else margin + step)
        yield pixels[top : min(high, top + size)], top, own


def _rectangles(chance: npt.NDArray[np.float32]) -> Iterator[tuple[float, float, float, float, float]]:
    """Yields the rectangles around connected pixels of text: middle, length, height, angle from -90 to 90 degrees."""
    mask = cv2.dilate((chance > PIXEL_PROBABILITY).astype(np.uint8), np.ones((2, 2), np.uint8))
    outlines, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    for outline in outlines:
        (x, y), (length, height), angle = cv2.minAreaRect(outline)
        if min(length, height) < LEAST_HEIGHT:
            continue
        left, top, wide, high = cv2.boundingRect(outline)
        inside = np.zeros((high, wide), np.uint8)
        cv2.fillPoly(inside, [outline - np.array([left, top])], 1)
        if cv2.mean(chance[top : top + high, left : left + wide], inside)[0] < LINE_PROBABILITY:
            continue
        if length < height:
            length, height, angle = height, length, angle + 90
        grown = LINE_GROWTH * length * height / (length + height)
        yield x, y, length + grown, height + grown, (angle + 90) % 180 - 90
