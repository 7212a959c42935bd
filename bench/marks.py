"""Check boxes and signatures on forms drawn by seed: right of those given, and given of those there.

    python -m bench.marks [--forms 200] [--held-back]

Forms are drawn by ReportLab, by pypdf (buttons that were flattened), and as scans (printed, ticked by hand, askew by up
to 3 degrees, with grain, at 150 to 300 dots an inch), in four languages, with boxes of five styles, ticks of five kinds
and seven layouts (`marked_forms`). A field without a clear answer is null. Forms of the tuning part were looked at
while the rules were made; those of `--held-back` have other seeds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.labelled_sets import job_of
from bench.marked_forms import Form, form
from bench.reporting import table
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import OpenedInput, run_batch

# Those from 1,000,000 on were looked at twice while the rules were made, and belong to the tuning part since.
_HELD_BACK = 2_000_000


def _records(forms: Sequence[Form]) -> Iterator[dict[str, Any]]:
    """The record of each form, {} if there is none."""
    engine = Engine(load_model("default", "cpu"), "medium")
    with tempfile.TemporaryDirectory() as folder, ParserPool(2) as pool:
        paths = []
        for one in forms:
            path = Path(folder) / one.name
            path.write_bytes(one.data)
            paths.append(path)
        for one, (_, found) in zip(forms, pool.parse_many(paths), strict=True):
            read = OpenedInput(one.name, getattr(found, "digest", ""), found)
            (outcome,) = run_batch([read], job_of(one.schema, engine)).outcomes
            yield {} if outcome.record is None else json.loads(outcome.record.text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", type=int, default=200)
    parser.add_argument("--held-back", action="store_true")
    said = parser.parse_args(arguments)
    first = _HELD_BACK if said.held_back else 0
    forms = [form(seed) for seed in range(first, first + said.forms)]
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one, record in zip(forms, _records(forms), strict=True):
        _count(counts, one, record)
    heads = ["", "fields", "right of given", "given of clear", "null of unclear"]
    print(table(heads, [[name, *_cells(count)] for name, count in sorted(counts.items())]))


def _count(counts: defaultdict[str, Counter[str]], one: Form, record: dict[str, Any]) -> None:
    for name, true in one.truth.items():
        given, kind = record.get(name), "signature" if one.layouts[name] == "signature" else "boxes"
        counts[f"{kind} {'scanned' if one.scanned else 'digital'}"] += Counter(
            fields=1, clear=int(true is not None), given=int(given is not None), there=int(None not in (given, true)),
            right=int(given is not None and given == true), unclear=int(true is None),
            null=int(given is None and true is None),
        )  # fmt: skip


def _cells(count: Counter[str]) -> list[str]:
    right, given = count["right"] / max(count["given"], 1), count["there"] / max(count["clear"], 1)
    unclear = f"{count['null'] / count['unclear']:.3f}" if count["unclear"] else ""
    return [f"{count['fields']}", f"{right:.3f}", f"{given:.3f}", unclear]


if __name__ == "__main__":
    main()
