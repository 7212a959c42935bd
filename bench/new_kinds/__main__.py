"""Lays out the schemas of new kinds, truth by hand, beside their documents as labelled sets.

    python -m bench new_kinds ../shared/data /tmp/kinds              five schemas of this folder
    python -m bench new_kinds ../shared/data /tmp/kinds --sealed     those of `sealed/`, which nobody scores yet

No document is in the repository: `file` in a truth names one in the data folder, a file or a line of stored texts
(`text/NAME/ID` is the line with this `id` in `text/NAME.jsonl.xz`, with `.txt` behind it if the id has none).
The five to seal were drawn when all ten were made: `random.Random(67).shuffle` ordered the sorted names; of those with
inner lists, those with told forms and the others, the later half each is sealed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import shutil
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@cache
def stored_texts(path: Path) -> dict[str, str]:
    """Returns the texts of a file of JSON lines by the names that truths give them."""
    opened = lzma.open if path.suffix == ".xz" else gzip.open
    with opened(path, "rt", encoding="utf-8") as lines:
        stored = [json.loads(line) for line in lines]
    return {one["id"].removesuffix(".txt") + ".txt": one["text"] for one in stored}


def lay_out(kinds: Path, data: Path, out: Path) -> list[Path]:
    """Writes each folder with a truth in `kinds` to `out`, with its documents, and returns the sets."""
    sets = []
    for truth in sorted(kinds.glob("*/truth.jsonl")):
        folder = out / truth.parent.name
        shutil.copytree(truth.parent, folder, dirs_exist_ok=True)
        for line in truth.read_text("utf-8").splitlines():
            file = json.loads(line)["file"]
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if (data / file).is_file():
                shutil.copyfile(data / file, target)
                continue
            stem, _, name = file.partition("/")[2].partition("/")
            (stored,) = (data / file.partition("/")[0]).glob(f"{stem}.jsonl.*")
            target.write_text(stored_texts(stored)[name], encoding="utf-8", newline="")
        sets.append(folder)
    return sets


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of labelled sets and stored texts")
    parser.add_argument("out", type=Path, help="where the sets are written")
    parser.add_argument("--sealed", action="store_true", help="the sealed schemas instead of the open ones")
    given = parser.parse_args()
    for written in lay_out(HERE / "sealed" if given.sealed else HERE, given.data, given.out):
        print(written)
