"""Measures pages/s of PDFs on one core, of this tree and of an older commit, in turns.

    python -m bench parsing_speed ../shared/data/nics_tables ../shared/data/fara_forms --before main --turns 3

A set is a folder with PDFs. The seconds are of processor time in one process, the least of all turns; OCR is off.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from bench.reporting import table

_ROOT = Path(__file__).resolve().parent.parent
_READER = _ROOT / "bench" / "parsed_pages.py"


def measured(tree: Path, folders: Sequence[Path]) -> list[tuple[int, float]]:
    """Returns pages and seconds for each folder, read by the code of a tree."""
    command = [sys.executable, "-P", str(_READER), str(tree), *map(str, folders)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tree).stdout
    found: list[tuple[int, float]] = []
    for line in said.splitlines():
        pages, seconds = json.loads(line)
        found.append((pages, seconds))
    return found


def unpacked(commit: str, into: Path) -> Path:
    """Writes the code of a commit into a folder, without weights."""
    command = ["git", "archive", commit, "--", ".", ":!*.safetensors"]
    packed = subprocess.run(command, capture_output=True, check=True, cwd=_ROOT).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(into, filter="data")
    return into


def best(turns: Sequence[list[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Returns the pages and the least seconds of each folder."""
    return [(one[0][0], min(seconds for _, seconds in one)) for one in zip(*turns, strict=True)]


def lines(folders: Sequence[Path], after: list[tuple[int, float]], before: list[tuple[int, float]] | None) -> str:
    """Returns the table; with `before`, the speeds of both and their ratio."""
    rows = []
    for at, folder in enumerate(folders):
        pages, seconds = after[at]
        row = [folder.name, f"{pages:,}", f"{pages / seconds:.1f}"]
        if before is not None:
            row += [f"{before[at][0] / before[at][1]:.1f}", f"{before[at][1] / seconds:.2f}"]
        rows.append(row)
    head = ["set", "pages", "pages/s", "before", "ratio"]
    return table(head[: 3 if before is None else 5], rows)


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="parsing_speed", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--before", help="a commit to compare with")
    parser.add_argument("--turns", type=int, default=3)
    said = parser.parse_args(arguments)
    folders = [folder.resolve() for folder in said.folders]
    with tempfile.TemporaryDirectory() as held:
        old = unpacked(said.before, Path(held)) if said.before else None
        after, before = [], []
        for _ in range(said.turns):
            if old is not None:
                before.append(measured(old, folders))
            after.append(measured(_ROOT, folders))
    print(lines(folders, best(after), best(before) if before else None))


if __name__ == "__main__":
    main(sys.argv[1:])
