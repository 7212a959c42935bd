"""Measures the server with the reader: a record alone, many clients at once, and whether they get the same.

    python -m bench.server_report --clients 32 [--record]

A real server process answers over HTTP on this machine. Texts and files are those of data/samples/invoice; the schema
has twelve fields. Each text is asked for alone first; then all clients ask at once, each for texts of its own.
`--record` writes the figures into `bench/results/` (`make results`).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import torch

from bench.recording import Row, record
from bench.reporting import machine_line, table
from cinnabar.engine.settings import reading_precision
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.model_sources import model_source

_FILES = Path(__file__).resolve().parents[1] / "data" / "samples" / "invoice" / "docs"
_TEXT, _NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
_DATE = {"type": ["string", "null"], "format": "date"}
_FIELDS: dict[str, Any] = {
    "invoice_number": _TEXT | {"description": "number of the invoice"},
    "order_number": _TEXT | {"description": "number of the order"},
    "seller": _TEXT | {"description": "name of the seller"},
    "buyer": _TEXT | {"description": "name of the buyer"},
    "date": _DATE | {"description": "date of the invoice"},
    "due_date": _DATE | {"description": "date until which to pay"},
    "currency": _TEXT | {"pattern": "^[A-Z]{3}$"},
    "net": _NUMBER | {"description": "amount without VAT"},
    "vat": _NUMBER | {"description": "amount of VAT"},
    "total": _NUMBER | {"description": "amount with VAT"},
    "iban": _TEXT | {"description": "IBAN"},
    "paid": {"type": ["boolean", "null"]},
}
SCHEMA = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}

#: Asks for one record, and returns it as text.
Ask = Callable[[int], str]


@contextmanager
def serving(model: str, *more: str) -> Iterator[tuple[str, str]]:
    """Yields the address of a server process and the name of its model."""
    command = [sys.executable, "-m", "cinnabar.apps.cli.main", "serve", "--model", model, "--port", "0", "--json"]
    process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        said = json.loads(process.stdout.readline())
        yield said["url"], said["model"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        process.stdout.close()


def timed(ask: Ask, number: int) -> tuple[float, str]:
    """Returns the seconds of a request, and its answer."""
    begun = time.perf_counter()
    answer = ask(number)
    return time.perf_counter() - begun, answer


def measured(ask: Ask, count: int, clients: int, each: int) -> list[str]:
    """Returns a row of the report: seconds alone, then of clients at once, throughput, failures and differences."""
    first, _ = timed(ask, 0)
    alone = [timed(ask, number) for number in range(count)]
    asked = [[(client + clients * turn) % count for turn in range(each)] for client in range(clients)]

    def client(numbers: Sequence[int]) -> list[tuple[int, float, str]]:
        return [(number, *timed(ask, number)) for number in numbers]

    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        found = [one for own in threads.map(client, asked) for one in own]
    seconds = time.perf_counter() - begun
    failed = sum(not answer for _, _, answer in found)
    other = sum(answer != alone[number][1] for number, _, answer in found)
    took, together = sorted(one for one, _ in alone), sorted(one for _, one, _ in found)
    return [
        f"{first:.3f}",
        f"{statistics.median(took):.3f}",
        f"{took[-1]:.3f}",
        f"{statistics.median(together):.2f}",
        f"{together[-1]:.2f}",
        f"{len(found) / seconds:.1f}",
        f"{count / sum(took):.1f}",
        str(failed),
        str(other),
    ]


def recorded_rows(label: str, clients: int, cells: Sequence[str]) -> list[Row]:
    """Returns a row of the report as its two figures; a record alone is wanted within a second."""
    _, median, most, _, _, rate, alone, failed, other = cells
    same = f"{failed} failed, {other} other than alone; {rate} records/s ({alone} alone)"
    return [
        Row(f"{label}: a record of 12 fields, alone", "1.0 s", f"median {median} s, most {most} s", float(median) > 1),
        Row(f"{label}: {clients} clients at once", "0; 0", same, failed != "0" or other != "0"),
    ]


def main() -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--each", type=int, default=4, help="requests of each client")
    parser.add_argument("--model", default="default")
    parser.add_argument("--record", action="store_true", help="keep the figures in bench/results/")
    arguments = parser.parse_args()
    files = sorted(_FILES.iterdir())
    with ParserPool(2) as pool:
        read = [found for _, found in pool.parse_many(files)]
    pairs = [(file, one) for file, one in zip(files, read, strict=True) if isinstance(one, Document)]
    said = {"name": "invoice", "schema": SCHEMA}
    head = ["", "first", "alone, median", "alone, most", "at once, median", "at once, most"]
    head += ["records/s", "records/s alone", "failed", "other than alone"]
    rows = []
    limits = httpx.Limits(max_connections=None)
    with serving(arguments.model) as (url, name), httpx.Client(timeout=600, limits=limits) as client:

        def chat(number: int) -> str:
            message = {"role": "user", "content": pairs[number][1].text}
            form = {"type": "json_schema", "json_schema": said}
            body = {"model": name, "messages": [message], "response_format": form}
            answer = client.post(f"{url}/chat/completions", json=body)
            return str(answer.json()["choices"][0]["message"]["content"]) if answer.is_success else ""

        def extract(number: int) -> str:
            file = pairs[number][0]
            files = [("files", (file.name, file.read_bytes()))]
            answer = client.post(f"{url}/extract", files=files, data={"schema": json.dumps(SCHEMA)})
            return json.dumps(answer.json()["results"]) if answer.is_success else ""

        for label, ask in (("chat, a text", chat), ("extract, a file", extract)):
            rows.append([label, *measured(ask, len(pairs), arguments.clients, arguments.each)])
    print(machine_line(torch.device("cpu"), model_source(arguments.model).fingerprint))
    print(f"\n{len(pairs)} documents, 12 fields, {arguments.clients} clients with {arguments.each} requests each, "
          f"{os.environ.get('OMP_NUM_THREADS', 'all')} threads of torch, seconds:\n")  # fmt: skip
    print(table(head, rows))
    if arguments.record:
        kept = [row for label, *cells in rows for row in recorded_rows(label, arguments.clients, cells)]
        precision = str(reading_precision()) if arguments.model == "default" else ""
        record("server", "server", "python -m bench server_report", kept, precision=precision)


if __name__ == "__main__":
    main()
