#!/usr/bin/env python3
"""Raises the versions of the parts of the code whose hash has changed, and records the hashes (engine/version.py).

    .venv/bin/python scripts/raise_version.py [--same]

With `--same` it records the hashes and raises nothing: for changes of names and of structure that change no value, once
the predictions of the samples and of some sets were compared. It does nothing if all hashes are the recorded ones.
Confidence that was fitted before a change of its model's part, or of what this uses, is stale: run `make calibrate`.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from code_hash import code_hashes

from cinnabar.engine.version import VERSIONS

ROOT = Path(__file__).resolve().parents[1]


def main(root: Path = ROOT, same: bool = False) -> None:
    """Rewrites the lines of the parts whose code has changed; their versions stay if it decides the same values."""
    path = root / "engine" / "version.py"
    text = path.read_text(encoding="utf-8")
    raised = []
    for name, digest in code_hashes(root).items():
        version, before = VERSIONS[name]
        if digest != before:
            now = version if same else version + 1
            raised.append(f"{name} {now}")
            text = re.sub(rf'(?m)^( +"{name}": )\(\d+, "\w*"\)', rf'\1({now}, "{digest}")', text)
    path.write_text(text, encoding="utf-8")
    if raised and same:
        print(f"recorded: {', '.join(raised)}; what these parts read stays")
    elif raised:
        print(f"raised: {', '.join(raised)}; what these parts read is read again, and `make calibrate` may be due")
    else:
        print("all versions stand: no code that decides values has changed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--same", action="store_true", help="record the hashes, raise nothing")
    main(same=parser.parse_args().same)
