"""Runs the first example of docs/index.md in a folder: its files, then its first block of commands.

    python scripts/first_example.py FOLDER

The commands are those on the PATH. Exit status 1 if one fails, or if the table does not hold the parcel's number.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXPECTED = "NK 7730 1182"
_BLOCK = re.compile(r"^```\w+ (?:file=(?P<file>\S+)|(?P<run>run))\n(?P<text>.*?)^```$", re.M | re.S)


def run_example(page: str, folder: Path) -> str:
    """Returns what the first commands print; files are written into the folder. Raises CalledProcessError."""
    for block in _BLOCK.finditer(page):
        if block["run"]:
            return subprocess.check_output(["sh", "-ec", block["text"]], cwd=folder, text=True)
        path = folder / block["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block["text"], encoding="utf-8")
    raise ValueError("expected a block of commands that are run, got none")


if __name__ == "__main__":
    page = Path(__file__).parents[1] / "docs" / "index.md"
    printed = run_example(page.read_text(encoding="utf-8"), Path(sys.argv[1]))
    print(printed, end="")
    sys.exit(EXPECTED not in printed)
