"""Draws documents with long lists in tables, and their truth, as labelled sets: a folder for each layout.

    python -m bench.list_layouts OUT --documents 40 --part held_back --seed 1 [--rows 100 1500] [--scans] [--shuffled]

The documents are spread over the layouts of the part. The two parts share no layout, no subject and no header, so that
nothing that is tuned on the one is known of the other. With `--scans` each set stands a second time as images of its
pages.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.list_layouts.layouts import PARTS
from bench.list_layouts.writing import write_part


def main() -> None:
    """Writes the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder of the sets")
    parser.add_argument("--documents", type=int, default=40, help="documents in all")
    parser.add_argument("--part", choices=list(PARTS), default="tuning")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, nargs=2, default=(100, 1500), metavar=("MIN", "MAX"))
    parser.add_argument("--scans", action="store_true", help="each document as images, too")
    parser.add_argument("--shuffled", action="store_true", help="the columns of each document in an order of its own")
    asked = parser.parse_args()
    write_part(asked.out, asked.part, asked.documents, tuple(asked.rows), asked.seed, asked.scans, asked.shuffled)


if __name__ == "__main__":
    main()
