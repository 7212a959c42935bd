"""The OCR engines that can be chosen, and what each needs on this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from cinnabar.engine.child_process import child_environment
from cinnabar.extras import EXTRAS, install_line

#: The command that installs the default engine.
INSTALL = install_line("ocr")
# Raised when our own rules change the words that a page gets.
_RULES = 3
_ROOM = "cinnabar.extraction.documents.ocr"
_CHOICE = re.compile(r"rapidocr|tesseract(?::(?P<languages>[A-Za-z][A-Za-z0-9_/-]*(?:\+[A-Za-z][A-Za-z0-9_/-]*)*))?")
_TESSERACT = "tesseract"
# More of Tesseract's languages at once make it slow and no better.
_MOST_LANGUAGES = 6
# Its languages with letters that RapidOCR's networks do not know: Cyrillic, Greek, Semitic, Indian and others.
_FOREIGN = {
    "rus", "ukr", "bel", "bul", "mkd", "srp", "kaz", "kir", "tgk", "mon", "ell", "grc", "ara", "fas", "urd", "pus",
    "snd", "uig", "heb", "yid", "kor", "hin", "mar", "nep", "san", "ben", "asm", "guj", "pan", "ori", "tam", "tel",
    "kan", "mal", "sin", "tha", "lao", "khm", "mya", "bod", "dzo", "kat", "hye", "amh", "tir", "syr", "div",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OcrEngine:
    """An OCR engine.

    name: `rapidocr` or `tesseract`. languages: Tesseract's, joined by `+`; "" for the installed ones.
    """

    name: str = "rapidocr"
    languages: str = ""

    @staticmethod
    def parse(choice: str) -> OcrEngine:
        """Returns the engine that `rapidocr`, `tesseract` or `tesseract:deu+eng` means. Raises ValueError else."""
        match = _CHOICE.fullmatch(choice)
        if match is None:
            raise ValueError(f"expected rapidocr, tesseract or tesseract:LANGUAGES (tesseract:deu+eng), got {choice!r}")
        return OcrEngine(choice.partition(":")[0], match["languages"] or "")

    @property
    def reader_name(self) -> str:
        """Returns the `module:class` of its reader."""
        return f"{_ROOM}.tesseract:TesseractReader" if self.name == _TESSERACT else f"{_ROOM}.rapid:RapidReader"

    def setup_advice(self) -> str:
        """Returns what to do so that the engine can work on this machine, "" if it can."""
        if self.name == "rapidocr":
            return f"install OCR with {INSTALL}" if EXTRAS["ocr"].missing_packages() else ""
        installed = tesseract_languages()
        if not installed:
            return "install Tesseract (Debian: apt-get install tesseract-ocr) with its languages"
        unknown = set(filter(None, self.languages.split("+"))) - set(installed)
        if unknown:
            return f"install Tesseract's language {', '.join(sorted(unknown))}; it has {', '.join(installed)}"
        return "" if find_spec("cv2") else f"install what both OCR engines need with {INSTALL}"

    def chosen_languages(self) -> str:
        """Returns Tesseract's languages that it shall read, joined by `+`; "" if it is not installed.

        RapidOCR gives it the pages whose letters it does not know, so for these languages with such letters come first.
        """
        if self.languages:
            return self.languages
        installed = [name for name in tesseract_languages() if name not in ("osd", "equ")]
        known = set() if self.name == _TESSERACT else {name for name in installed if name not in _FOREIGN}
        order = sorted(installed, key=lambda name: (name != "eng", name in known, name))
        return "+".join(order[:_MOST_LANGUAGES])

    def fingerprint(self) -> str:
        """Returns a text that changes when the engine may read a picture differently."""
        tesseract = f"tesseract {_tesseract('--version').partition(chr(10))[0]} {self.chosen_languages()}"
        if self.name == _TESSERACT:
            return f"{_RULES} {tesseract}"
        return f"{_RULES} rapidocr {_version('rapidocr')} onnxruntime {_version('onnxruntime')} {tesseract}"


def tesseract_languages() -> tuple[str, ...]:
    """Returns the names of Tesseract's installed languages; none without Tesseract."""
    _, _, names = _tesseract("--list-langs").partition("\n")
    return tuple(sorted(filter(None, map(str.strip, names.splitlines()))))


@cache
def _tesseract(option: str) -> str:
    """Returns the answer of the program about itself, "" if it is not installed."""
    path = shutil.which(_TESSERACT)
    if path is None:
        return ""
    try:
        answer = subprocess.run(
            [path, option], capture_output=True, timeout=20, check=True, env=child_environment()
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return (answer.stdout or answer.stderr).decode("utf-8", "replace")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"
