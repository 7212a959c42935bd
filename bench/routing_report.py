"""Measures routing: the five kinds of data/samples, and sixty documents of twenty other sets, by description alone.

    python -m bench.routing_report ../shared/data [--seed N] [--errors]

No set here took part in the fit of the coefficients. Three documents of each set are drawn. The documents of three sets
belong to one of the five schemas, those of the others to none. The report gives the share that went where it belongs,
and the time of a choice.

The documents that are drawn without a seed were watched while features were chosen. --seed N draws sixty others: three
more of each of the three sets, and three of each of seventeen sets out of thirty-five; the samples are left out.
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
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.routing.likeness import routing_fit
from cinnabar.extraction.filling.routing.router import Router
from cinnabar.extraction.filling.routing.routing import Routing
from cinnabar.schemas import load_schema

_SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"
#: The sets with the sample schema that their documents belong to, if any.
_SETS = {"shop_invoices": "invoice", "sroie": "receipt", "seminar_email": "event"} | dict.fromkeys((
    "bank_questions", "bank_sms", "broker_statements", "congress_biographies", "core_dev_calls", "court_opinions",
    "design_jobs", "dlg_doctor", "dlg_flights", "fara_forms", "film_articles", "hotel_requests",
    "materials_synthesis", "ofx_statements", "openstack_advisories", "reference_lists", "venue_descriptions",
))  # fmt: skip
#: Further sets, of no kind, from which a seed draws, too.
_FURTHER = (
    "court_document_menus", "device_interfaces", "dlg_apartments", "dlg_bank_transfer", "dlg_bus",
    "dlg_event_tickets", "dlg_house_rental", "dlg_music", "dlg_rental_car", "dlg_taxi", "dns_answers",
    "kubernetes_keps", "newsletter_events", "pypi_advisories", "spdx_licences", "swift_statements",
    "traceroute_output", "xmpp_xeps",
)  # fmt: skip
_EACH = 3


def files_of(folder: Path) -> list[Path]:
    """Returns the labelled documents of a set."""
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").split("\n")
    return [folder / name for name in sorted({json.loads(line)["file"] for line in lines if line.strip()})]


def drawn(data: Path, seed: int | None) -> list[tuple[Path, str | None]]:
    """Returns the documents of other sets, each with the sample schema that it belongs to, if any."""
    watched = {name: random.Random(name).sample(files_of(data / name), _EACH) for name in _SETS}
    if seed is None:
        return [(file, _SETS[name]) for name, files in watched.items() for file in files]
    others = sorted([name for name, kind in _SETS.items() if kind is None] + [*_FURTHER])
    names = [name for name, kind in _SETS.items() if kind]
    names += random.Random(seed).sample(others, len(_SETS) - len(names))
    found = []
    for name in names:
        new = [file for file in files_of(data / name) if file not in watched.get(name, ())]
        found += [(file, _SETS.get(name)) for file in random.Random(f"{seed} {name}").sample(new, _EACH)]
    return found


def main() -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the labelled sets")
    parser.add_argument("--seed", type=int, help="draw sixty documents that nobody watched, in place of all others")
    parser.add_argument("--errors", action="store_true", help="print each document that went elsewhere")
    asked = parser.parse_args()
    kinds = sorted(path.parent for path in _SAMPLES.glob("*/schema.json"))
    schemas = {folder.name: load_schema(folder / "schema.json") for folder in kinds}
    wanted: list[tuple[str, Path, str | None]] = []
    if asked.seed is None:
        wanted += [("samples", file, schemas[folder.name].name) for folder in kinds for file in files_of(folder)]
    for file, kind in drawn(asked.data, asked.seed):
        group = "others that belong" if kind else "others of no kind"
        wanted.append((group, file, schemas[kind].name if kind else None))
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
