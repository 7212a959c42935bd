"""Checks of the installation: versions, shipped models, the parser's processes, OCR, optional extras, the cache."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.version import PARTS, values_version
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.ocr.engines import OcrEngine, tesseract_languages
from cinnabar.extraction.people.diagnosis.findings import Finding, advises, fails, ok
from cinnabar.schemas.errors import DocumentError, ModelError
from cinnabar.schemas.extras import EXTRAS, PACKAGE, install_line
from cinnabar.schemas.kept_files import cache_folder
from cinnabar.schemas.wording import with_noun

_WHOLE = "install it again: a file of the installation is missing or was changed"


def versions() -> Iterator[Finding]:
    """Cinnabar, Python, and whether each dependency is installed in a version that fits."""
    yield ok("cinnabar", f"{version(PACKAGE)}, values {values_version(*PARTS)}")
    yield ok("python", f"{platform.python_version()} on {platform.system()}")
    wrong = []
    needed = [Requirement(text) for text in requires(PACKAGE) or ()]
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    for one in needed:
        try:
            there = version(one.name)
        except PackageNotFoundError:
            wrong.append(f"{one} is not installed")
            continue
        if not one.specifier.contains(there, prereleases=True):
            wrong.append(f"{one.name} is {there}, expected {one.specifier}")
    if wrong:
        yield fails("dependencies", "; ".join(wrong), "make setup, or pip install them in these versions")
    else:
        yield ok("dependencies", f"all {len(needed)} fit")


def models() -> Iterator[Finding]:
    """Whether the weights that ship are whole, by their SHA-256."""
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.weights import check_files

    for check, folder in (("reader", SHIPPED), ("sentence encoder", SHIPPED.parent / "sentences")):
        try:
            card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            check_files(folder, card["files"])
        except (OSError, ValueError, KeyError, ModelError) as error:
            yield fails(check, str(error), _WHOLE)
            continue
        whole = sum(path.stat().st_size for path in folder.iterdir())
        yield ok(check, f"{with_noun(len(card['files']), 'file')}, {whole / 1e6:.0f} MB, whole")


def parser() -> Iterator[Finding]:
    """Whether a bounded process reads a text."""
    with tempfile.TemporaryDirectory() as folder, ParserPool(1) as pool:
        path = Path(folder) / "doctor.txt"
        path.write_text("Invoice 77\n", encoding="utf-8")
        parsed = pool.submit(path).result()
    if isinstance(parsed, Document) and "77" in parsed.text:
        yield ok("parser", "a bounded process reads a text")
    else:
        problem = str(parsed) if isinstance(parsed, DocumentError) else "another text"
        yield fails("parser", problem, "allow processes of this user, with 1 GiB of address space each")


def ocr() -> Iterator[Finding]:
    """The engine that reads scans and images."""
    missing = OcrEngine().setup_advice()
    languages = tesseract_languages()
    tesseract = f"Tesseract: {', '.join(languages)}" if languages else "no Tesseract"
    if missing:
        yield advises("OCR", f"scans and images are not read; {tesseract}", missing)
    else:
        yield ok("OCR", f"RapidOCR {version('rapidocr')}; {tesseract}")


def extras() -> Iterator[Finding]:
    """The optional extras, installed or not; none of them is needed. OCR and Prefect have checks of their own."""
    for name, extra in EXTRAS.items():
        if name not in ("ocr", "flows"):
            install = f"not installed; {install_line(name)} for it"
            yield ok(f"extra {name}", f"{extra.purpose}: {install if extra.missing_packages() else 'installed'}")


def cache() -> Iterator[Finding]:
    """The folder for compiled automata."""
    folder = cache_folder()
    if folder is None:
        yield advises("cache", "off", "unset CINNABAR_CACHE, so that schemas compile once and not in each run")
        return
    above = next(one for one in (folder, *folder.parents) if one.exists())
    if os.access(above, os.W_OK):
        yield ok("cache", str(folder))
    else:
        yield advises("cache", f"{folder} cannot be written", "name another folder with CINNABAR_CACHE")
