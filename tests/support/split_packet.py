"""A packet that a run has split into its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import packet_files
from tests.support.notes import NOTE
from tests.support.reading_model import READING

from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.stored_run import Summary


def run(path: Path, out: Path, split: bool = True, **options: Any) -> Summary:
    """Reads this file or folder into the output folder."""
    options = {"split": split, "workers": 1, **options}
    return extract([path], NOTE, out, READING, RunOptions(**options))


def split_folder(root: Path, **options: Any) -> Path:
    """Writes a packet of three documents to `root`/packet.pdf, reads it, and returns the output folder."""
    (root / "packet.pdf").write_bytes(packet_files.three())
    run(root / "packet.pdf", root / "out", **options)
    return root / "out"
