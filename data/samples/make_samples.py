#!/usr/bin/env python3
"""Makes the sample documents and their truth: <kind>/{schema.json, truth.jsonl, docs/} and expected.json.

make_samples.py [--out DIR] [--scans]

Every document is written by hand in `source/`, with the record that a careful person reads from it. Running the script
again gives the same bytes with the reportlab release named in `MADE_WITH`; another release may order a PDF's objects
differently. Files that cannot be read have no truth. `expected.json` names the outcome of every file and its reason
code.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "source"))

import contracts_english  # noqa: E402
import contracts_other  # noqa: E402
import events  # noqa: E402
import invoices_english  # noqa: E402
import invoices_europe  # noqa: E402
import invoices_german  # noqa: E402
import invoices_trade  # noqa: E402
import mails_english  # noqa: E402
import mails_other  # noqa: E402
import receipts  # noqa: E402
import unreadable  # noqa: E402
from paper import Sample  # noqa: E402

from cinnabar.schemas.compiling.loading import load_schema  # noqa: E402

MADE_WITH = "5.1.0"

KINDS: dict[str, list[ModuleType]] = {
    "invoice": [invoices_german, invoices_english, invoices_europe, invoices_trade, unreadable],
    "receipt": [receipts],
    "contract": [contracts_english, contracts_other],
    "insurance_mail": [mails_english, mails_other],
    "event": [events],
}


def samples(kind: str) -> Iterator[Sample]:
    """The documents of one kind, in the order of their files."""
    makers: list[Callable[[], Sample]] = [make for module in KINDS[kind] for make in module.SAMPLES]
    yield from sorted((make() for make in makers), key=lambda s: s.file)


def write_set(kind: str, folder: Path) -> dict[str, dict[str, str]]:
    """Write one set; the expected outcome of each of its files, by path."""
    docs, truth, expected = folder / "docs", [], {}
    docs.mkdir(parents=True, exist_ok=True)
    for old in docs.iterdir():
        old.unlink()
    for sample in samples(kind):
        (folder / sample.file).write_bytes(sample.data)
        path = f"{kind}/{sample.file}"
        if sample.truth is None:
            expected[path] = {"outcome": "quarantined", "code": sample.code}
            continue
        expected[path] = {"outcome": "written"}
        row = {"file": sample.file, "truth": sample.truth} | ({"also_accepted": sample.also} if sample.also
                                                              else {})
        truth.append(json.dumps(row, ensure_ascii=False))
    (folder / "truth.jsonl").write_text("\n".join(truth) + "\n", "utf-8")
    schema = load_schema(kind).schema
    (folder / "schema.json").write_text(json.dumps(schema, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the sets (default: beside this "
                                                               "script)")
    parser.add_argument("--scans", action="store_true", help="draw the scanned pages in source/scans again "
                                                             "first")
    args = parser.parse_args()
    if args.scans:
        import scans

        scans.draw_scans()
    expected: dict[str, dict[str, str]] = {}
    for kind in KINDS:
        expected |= write_set(kind, args.out / kind)
    text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    (args.out / "expected.json").write_text(text, "utf-8")
    print(f"{len(expected)} documents in {args.out}")


if __name__ == "__main__":
    main()
