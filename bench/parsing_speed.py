"""Measures pages/s of PDFs on one core.

    python -m bench parsing_speed ../shared/data/nics_tables ../shared/data/fara_forms

A set is a folder with PDFs. The seconds are of processor time in this process, the least of three turns; OCR is off.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.reporting import table
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest import parse

_TURNS = 3


def measured(folder: Path) -> tuple[int, float]:
    """Returns the pages of the PDFs in a folder that can be read, and the seconds for them."""
    pages, seconds = 0, 0.0
    for path in sorted(folder.rglob("*.pdf")):
        data, begun = path.read_bytes(), time.process_time()
        with suppress(DocumentError):
            document = parse(data, path.name, ParserSettings(ocr="never"))
            seconds += time.process_time() - begun
            pages += sum(part.kind == "page" for part in document.parts)
    return pages, seconds


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="parsing_speed", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    rows = []
    for folder in parser.parse_args(arguments).folders:
        pages, seconds = min((measured(folder) for _ in range(_TURNS)), key=lambda one: one[1])
        rows.append([folder.name, f"{pages:,}", f"{pages / seconds:.1f}"])
    print(table(["set", "pages", "pages/s"], rows))


if __name__ == "__main__":
    main(sys.argv[1:])
