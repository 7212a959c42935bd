"""Lays out twenty invoices and receipts of open layouts, or the twenty of sealed ones, and scores a model on them.

    python -m bench everyday_invoices /tmp/invoices                            five layouts in four languages
    python -m bench everyday_invoices /tmp/invoices --score --model default    what is read of them, and each miss
    python -m bench everyday_invoices /tmp/sealed --sealed --score             those that nobody looks at before

Each layout is drawn in two languages with two contents; the last PDF of each layout is a scan. The ten names of layouts
were fixed first, and `random.Random(68).sample(sorted(names), 5)` sealed five; `sealed/digest` was written before
anything was measured. A list has exactly its rows if each has a partner in the truth and the truth has no other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.everyday_invoices import open_layouts, sealed_layouts
from bench.everyday_invoices.bill import HERE
from bench.list_layouts.writing import scan
from cinnabar.extraction.learning.evaluation import leaves_of, lists_of
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet, load_set

#: The least confidence that is told as sure.
SURE = 0.9


def lay_out(out: Path, sealed: bool) -> str:
    """Writes one half as a labelled set, and returns the digest of its truth and of all texts that it prints."""
    layouts = sealed_layouts.LAYOUTS if sealed else open_layouts.LAYOUTS
    (out / "docs").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "schema.json", out / "schema.json")
    truths, texts = [], []
    for layout, languages in layouts.items():
        names = [f"{layout.__name__}-{language}-{at}" for language in languages for at in range(2)]
        for name in names:
            document = layout(name)
            file = out / "docs" / f"{name}{document.suffix}"
            file.write_bytes(document.data)
            if name == names[-1] and document.suffix == ".pdf":
                printed = file.rename(out / "printed.pdf")
                scan(printed, file)
                printed.unlink()
            truths.append(json.dumps({"file": f"docs/{file.name}", "truth": document.truth}, ensure_ascii=False))
            texts.append(document.text)
    (out / "truth.jsonl").write_text("\n".join(truths) + "\n", "utf-8")
    return hashlib.sha256("\n".join([*truths, *texts]).encode()).hexdigest()


def score(labelled: LabelledSet, predictions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns what is told of each document's misses, and the five figures below."""
    told, counts = [], Counter[str]()
    for line in labelled.truths:
        read = predictions.get(line["file"]) or {}
        record, sure = read.get("record"), read.get("confidence", {})
        rows = len((record or {}).get("items") or ())
        whole = read.get("lists", {}).get("/items", 0.0)
        misses = [f"{line['file']}: rows {len(line['truth']['items'])}, read {rows} ({whole:.2f})"]
        leaves = [(pair, sure.get(pair.pointer, 0.0)) for pair in leaves_of(line, record)]
        for pair, chance in leaves:
            if not pair.right:
                misses.append(f"  {pair.pointer}: {pair.predicted!r} ({chance:.2f}) for {pair.truth!r}")
            if "*" not in pair.field:
                counts["values"] += 1
                counts["right"] += pair.right
                counts["sure"] += chance >= SURE
                counts["sure and wrong"] += chance >= SURE and not pair.right
        complete = record is not None and all(one.complete for one in lists_of(line, record) if one.field == ("items",))
        counts["lists"] += 1
        counts["rows"] += complete
        counts["whole"] += complete and all(pair.right for pair, _ in leaves if "*" in pair.field)
        counts["told"] += whole >= SURE
        counts["told and wrong"] += whole >= SURE and not complete
        told += misses
    told_wrong = f"{counts['told']}, of these without exactly their rows: {counts['told and wrong']}"
    return [
        *told,
        f"lists with exactly their rows: {counts['rows']} of {counts['lists']}",
        f"lists with every cell right: {counts['whole']} of {counts['lists']}",
        f"lists told at {SURE} or more: {told_wrong}",
        f"values outside of lists right, nulls too: {counts['right']} of {counts['values']}",
        f"values told at {SURE} or more: {counts['sure']}, of these wrong: {counts['sure and wrong']}",
    ]


def main() -> None:
    """Writes the set and prints its digest, or the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="where the set is written")
    parser.add_argument("--sealed", action="store_true", help="the sealed layouts instead of the open ones")
    parser.add_argument("--score", action="store_true", help="read the documents and compare")
    parser.add_argument("--model", default="default")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    digest = lay_out(asked.out, asked.sealed)
    if not asked.score:
        print(f"{asked.out}: sha256 of truth and texts {digest}")
        return
    # Only here, as the layouts are drawn without a model.
    from bench.held_back_report import read_with

    labelled = load_set(asked.out)
    found, seconds = read_with(asked.model, [labelled], device=asked.device)
    print("\n".join(score(labelled, found[labelled.name])[-5 if asked.sealed else 0 :]))
    print(f"seconds of a document: {seconds:.1f}")


if __name__ == "__main__":
    main()
