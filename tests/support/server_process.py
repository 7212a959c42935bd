"""A real server process on a free port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

#: Twelve fields as real invoices have them.
INVOICE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "invoice_number": {"type": ["string", "null"], "description": "number of the invoice"},
        "order_number": {"type": ["string", "null"]},
        "seller": {"type": ["string", "null"], "description": "name of the seller"},
        "buyer": {"type": ["string", "null"], "description": "name of the buyer"},
        "date": {"type": ["string", "null"], "format": "date", "description": "date of the invoice"},
        "due_date": {"type": ["string", "null"], "format": "date"},
        "currency": {"type": ["string", "null"], "enum": ["EUR", "USD", "GBP", None]},
        "net": {"type": ["number", "null"]},
        "vat": {"type": ["number", "null"]},
        "total": {"type": ["number", "null"]},
        "iban": {"type": ["string", "null"], "description": "IBAN"},
        "paid": {"type": ["boolean", "null"]},
    },
    "additionalProperties": False,
}
INVOICE["required"] = [*INVOICE["properties"]]
FORMAT = {"type": "json_schema", "json_schema": {"name": "invoice", "schema": INVOICE, "strict": True}}
NAME = "cinnabar-reader"


def invoice(number: int = 117) -> str:
    """The text of an invoice; each number gives another one."""
    lines = [
        f"Invoice no. 2024-{number}",
        f"Order: PO-{number % 89}",
        f"Seller: {['Ashford', 'Brook', 'Calder', 'Dene'][number % 4]} Ltd",
        "Buyer: Müller GmbH",
        f"Date: {number % 27 + 1} May 2024",
        "Due: 2 June 2024",
        f"Net: EUR {number}.00",
        "VAT: EUR 19.00",
        f"Total: EUR {number + 19}.00",
        "IBAN: DE89 3704 0044 0532 0130 00",
    ]
    return "\n".join(lines) + "\n" + "Thank you for your order.\n" * (number % 7)


@dataclass
class ServerProcess:
    """A server; `log` holds what it wrote to standard error."""

    url: str
    process: subprocess.Popen[str]
    log: list[str] = field(default_factory=list)

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def post(self, path: str, body: Any, **how: Any) -> httpx.Response:
        return httpx.post(f"{self.url}{path}", json=body, timeout=600, **how)

    def chat(self, text: str = "", **more: Any) -> httpx.Response:
        body = {"model": NAME, "messages": [{"role": "user", "content": text or invoice()}]}
        return self.post("/chat/completions", {**body, "response_format": FORMAT, **more})


@contextmanager
def running(*arguments: str, cwd: Path | None = None, program: str = "") -> Iterator[ServerProcess]:
    """Starts a server on a free port, and ends it; `program` is Python that calls the command."""
    begin = ["-c", program] if program else ["-m", "cinnabar.apps.cli.main"]
    command = [sys.executable, *begin, "serve", "--port", "0", "--json"]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=cwd,
    )  # fmt: skip
    log: list[str] = []
    assert process.stdout is not None and process.stderr is not None
    reading = threading.Thread(target=lambda: log.extend(process.stderr or ()), daemon=True)
    reading.start()
    try:
        said = process.stdout.readline()
        if not said:
            process.wait(timeout=10)
            reading.join(timeout=10)
            raise AssertionError(f"the server did not start: {''.join(log)}")
        yield ServerProcess(json.loads(said)["url"], process, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()
        reading.join(timeout=10)
        process.stderr.close()
