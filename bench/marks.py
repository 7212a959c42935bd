"""Check boxes and signatures on forms drawn by seed: right of those given, and given of those there.

    python -m bench.marks [--forms 200] [--several] [--held-back] [--alone] [--wrong] [--json FILE]

Forms are drawn by ReportLab, by pypdf (buttons that were flattened), by Chromium, and as scans (printed, ticked by
hand, askew by up to 3 degrees, with grain, at 150 to 300 dots an inch), in four languages, with boxes of five styles,
ticks of five kinds and seven layouts (`marked_forms`). A field without a clear answer is null. Forms of the tuning
part were looked at while the rules were made; those of `--held-back` have other seeds. With `--alone` no model reads: a
field that no box is near to stays null.
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
from bench.marked_forms import Form, close, form
from bench.reporting import table
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.pipeline import OpenedInput, run_batch
from cinnabar.extraction.filling.records.marks import with_marks
from cinnabar.schemas import compile_schema, load_schema

# Those from 1,000,000 on were looked at twice while the rules were made, and belong to the tuning part since.
_HELD_BACK = 2_000_000


def _records(forms: Sequence[Form], alone: bool) -> Iterator[dict[str, Any]]:
    """The record of each form, {} if there is none."""
    engine = None if alone else Engine(load_model("default", "cpu"), "medium")
    with tempfile.TemporaryDirectory() as folder, ParserPool(2) as pool:
        paths = []
        for one in forms:
            path = Path(folder) / one.name
            path.write_bytes(one.data)
            paths.append(path)
        for one, (_, found) in zip(forms, pool.parse_many(paths), strict=True):
            if engine is None:
                yield _alone(one, found)
                continue
            read = OpenedInput(one.name, getattr(found, "digest", ""), found)
            (outcome,) = run_batch([read], job_of(one.schema, engine)).outcomes
            yield {} if outcome.record is None else json.loads(outcome.record.text)


def _alone(one: Form, found: Any) -> dict[str, Any]:
    if not isinstance(found, Document):
        return {}
    compiled = compile_schema(load_schema(one.schema).schema).form
    nothing: dict[str, Any] = {name: [] if layout == "several" else None for name, layout in one.layouts.items()}
    nulls = {f"/{name}": Leaf("null", 0.0) for name, value in nothing.items() if value is None}
    empty = Filled("", json.dumps(nothing), nulls, {}, 0, 0)
    record: dict[str, Any] = json.loads(with_marks(compiled, empty, found).record)
    return record


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", type=int, default=200)
    parser.add_argument("--several", action="store_true", help="adds a list of options, any number of them ticked")
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="names the forms with fields that are wrong or not given")
    parser.add_argument("--json", type=Path)
    said = parser.parse_args(arguments)
    first = _HELD_BACK if said.held_back else 0
    try:
        forms = [form(seed, said.several) for seed in range(first, first + said.forms)]
    finally:
        close()
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one, record in zip(forms, _records(forms, said.alone), strict=True):
        _count(counts, one, record, said.wrong)
    figures = {f"{about} {name}": _figures(count) for (about, name), count in sorted(counts.items())}
    heads = ["", "", "fields", "right of given", "given of clear", "null of unclear"]
    rows = [[about, name, *_cells(count)] for (about, name), count in sorted(counts.items())]
    print(table(heads, rows))
    if said.json:
        said.json.write_text(json.dumps(figures, indent=1) + "\n")


def _count(
    counts: defaultdict[tuple[str, str], Counter[str]], one: Form, record: dict[str, Any], wrong: bool
) -> None:
    source = "scanned" if one.scanned else "digital"
    for name, true in one.truth.items():
        given, layout = record.get(name), one.layouts[name]
        kind = layout if layout in ("signature", "several") else "boxes"
        count = Counter(
            fields=1, clear=int(true is not None), given=int(given is not None), there=int(None not in (given, true)),
            right=int(given is not None and given == true), unclear=int(true is None),
            null=int(given is None and true is None),
        )  # fmt: skip
        keys = [("all", f"{kind} {source}")]
        if kind == "boxes":
            keys += [("style", f"{source} {one.style}"), ("tick", f"{source} {one.tick}"), ("tool", one.tool),
                     ("layout", f"{source} {layout}")]  # fmt: skip
        elif kind == "signature":
            keys.append(("signature", f"{source} {one.signature}"))
        for key in keys:
            counts[key] += count
        if wrong and given != true:
            print(f"{one.name} {one.tool} {one.style} {one.tick} {layout} {one.signature}: {name} {given} not {true}")


def _figures(count: Counter[str]) -> dict[str, float]:
    return {
        "fields": count["fields"],
        "right": round(count["right"] / max(count["given"], 1), 4),
        "given": round(count["there"] / max(count["clear"], 1), 4),
        "null": round(count["null"] / max(count["unclear"], 1), 4),
    }


def _cells(count: Counter[str]) -> list[str]:
    figures = _figures(count)
    unclear = f"{figures['null']:.3f}" if count["unclear"] else ""
    return [f"{count['fields']}", f"{figures['right']:.3f}", f"{figures['given']:.3f}", unclear]


if __name__ == "__main__":
    main()
