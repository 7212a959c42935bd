"""Measures routing: the five kinds of data/samples, and sixty documents of twenty other sets, by description alone.

    python -m bench.routing_report ../shared/data [--errors]

No set here took part in the fit of the coefficients. Three documents of each set are drawn. The documents of three sets
belong to one of the five schemas, those of the others to none. The report gives the share that went where it belongs,
and the time of a choice.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from pathlib import Path

import torch

from bench.reporting import machine_line
from cinnabar.extraction.ingest.sandbox import ParserPool
from cinnabar.extraction.routing.likeness import routing_fit
from cinnabar.extraction.routing.router import Router
from cinnabar.extraction.routing.routing import Routing
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import DocumentError

_SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"
#: The sets with the sample schema that their documents belong to, if any.
_SETS = {
    "shop_invoices": "invoice",
    "sroie": "receipt",
    "seminar_email": "event",
} | dict.fromkeys(
    (
        "bank_questions",
        "bank_sms",
        "broker_statements",
        "congress_biographies",
        "core_dev_calls",
        "court_opinions",
        "design_jobs",
        "dlg_doctor",
        "dlg_flights",
        "fara_forms",
        "film_articles",
        "hotel_requests",
        "materials_synthesis",
        "ofx_statements",
        "openstack_advisories",
        "reference_lists",
        "venue_descriptions",
    )
)
_EACH = 3


def files_of(folder: Path) -> list[Path]:
    """Returns the labelled documents of a set."""
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").split("\n")
    return [folder / name for name in sorted({json.loads(line)["file"] for line in lines if line.strip()})]


def main() -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the labelled sets")
    parser.add_argument("--errors", action="store_true", help="print each document that went elsewhere")
    asked = parser.parse_args()
    kinds = sorted(path.parent for path in _SAMPLES.glob("*/schema.json"))
    schemas = {folder.name: load_schema(folder / "schema.json") for folder in kinds}
    wanted: list[tuple[str, Path, str | None]] = [
        ("samples", file, schemas[folder.name].name) for folder in kinds for file in files_of(folder)
    ]
    for name, kind in _SETS.items():
        drawn = random.Random(name).sample(files_of(asked.data / name), _EACH)
        group = "others that belong" if kind else "others of no kind"
        wanted += [(group, file, schemas[kind].name if kind else None) for file in drawn]
    router = Router(Routing(tuple(schemas.values())))
    right: dict[str, list[bool]] = defaultdict(list)
    took: list[float] = []
    with ParserPool(1) as pool:
        read = pool.parse_many([file for _, file, _ in wanted])
        for (group, file, schema), (_, found) in zip(wanted, read, strict=True):
            if isinstance(found, DocumentError):
                continue
            started = time.process_time()
            route = router.route(found)
            took.append(1000 * (time.process_time() - started))
            right[group].append(route.schema == schema)
            if asked.errors and route.schema != schema:
                name = f"{file.parent.parent.name}/{file.name}"
                print(f"{name}: {schema or 'none'}, got {route.schema or 'none'} ({route})")
    print(machine_line(torch.device("cpu"), f"routing {routing_fit().fingerprint}"))
    everything = [one for found in right.values() for one in found]
    for group, some in [*right.items(), ("all", everything)]:
        print(f"{group}: {sum(some)} of {len(some)} right, {sum(some) / len(some):.2f}")
    print(f"{sorted(took)[len(took) // 2]:.0f} ms of a processor for a document (median)")


if __name__ == "__main__":
    main()
