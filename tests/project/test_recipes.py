"""The recipes that need no server of others do what their page says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import pytest
from tests.support import ROOT
from tests.support.documentation import put_files
from tests.support.reading_model import READING

from cinnabar.apps.cli.main import run
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

PAGE = ROOT / "docs" / "recipes.md"
TEXT, COUNT = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
AMOUNT = {"type": ["number", "null"], "x-cinnabar-decimals": 2}


def read(documents: Path, title: str, fields: Mapping[str, Any], *texts: str) -> None:
    """Reads texts under a schema of these fields into the folder `tables`."""
    documents.mkdir()
    for number, text in enumerate(texts):
        (documents / f"{number}.txt").write_text(text)
    schema = {"title": title, "type": "object", "properties": fields, "required": [*fields]}
    path = documents.with_suffix(".json")
    path.write_text(json.dumps(schema))
    done = extract([documents], load_schema(str(path)), Path("tables"), READING, RunOptions(workers=1))
    assert done.written == len(texts)


@pytest.fixture(autouse=True)
def _page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder, with the files of the page."""
    monkeypatch.chdir(tmp_path)
    put_files(PAGE, tmp_path)


def test_the_page_is_short() -> None:
    assert len(PAGE.read_text("utf-8").split()) <= 1100


def test_a_case_is_its_order_its_deliveries_and_its_invoice() -> None:
    read(Path("orders"), "order", {"number": TEXT, "total": AMOUNT, "pieces": COUNT},
         "number=A-17\ntotal=12.50\npieces=5", "number=A-18\ntotal=7.00\npieces=1")  # fmt: skip
    read(Path("notes"), "delivery_note", {"order_number": TEXT, "pieces": COUNT},
         "order_number=A17\npieces=2", "order_number=a.17\npieces=3", "order_number=A-18\npieces=2")  # fmt: skip
    read(Path("bills"), "bill", {"order_number": TEXT, "total": AMOUNT},
         "order_number=A/17\ntotal=12.50", "order_number=B-1\ntotal=1.00")  # fmt: skip
    found = query(Path("tables"), Path("cases.sql").read_text())
    shown = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    assert [(one["case"], one["as_ordered"], one["delivered"]) for one in shown] == [
        ("A17", True, True), ("A18", None, False), ("B1", None, None),
    ]  # fmt: skip


def test_a_printed_name_finds_its_number_or_waits() -> None:
    Path("vendors.csv").write_text(
        "vendor_id,name\nV-01,Nordkurier GmbH\nV-02,Lot 1-11 Ltd\n"
        "V-03,Adler Transporte GmbH\nV-04,Adler Transport GmbH\n"
    )
    printed = ("NORDKURIER-GMBH", "Nordkuner.GmbH", "Lot.11-1.Ltd", "Adler.Transporte.G.m.b.H")
    read(Path("bills"), "vendor_bill", {"vendor": TEXT}, *(f"vendor={name}" for name in printed))
    here = duckdb.connect()
    here.execute(Path("known_names.sql").read_text())
    found = dict(here.sql("select printed, vendor_id from vendor_of_bill").fetchall())
    assert [found.get(name) for name in printed] == ["V-01", "V-01", None, None]


def test_the_share_of_wrong_values_counts_what_people_looked_at() -> None:
    texts = [f"name=N{number}\ntotal={number}.50" for number in range(40)]
    read(Path("mails"), "note", {"name": TEXT, "total": AMOUNT}, *texts)
    drawn = query(Path("tables"), "select path from records where md5_number_lower(document) % 100 < 5").rows
    assert 0 < len(drawn) < 40
    for (path,) in drawn:
        changes = ["--set", '/name="other"'] if path == drawn[0][0] else []
        assert run(["correct", str(path), "--out", "tables", "--schema", "note", *changes, "--accept", "/"]) == 0
    (counts,) = query(Path("tables"), Path("wrong_values.sql").read_text()).rows
    assert counts[:3] == (len(drawn), 2 * len(drawn), 1)


def test_a_view_is_a_delta_table() -> None:
    deltalake = pytest.importorskip("deltalake")
    read(Path("invoices"), "invoice", {"number": TEXT, "gross_total": AMOUNT}, "number=1\ngross_total=2.50")
    for _ in range(2):
        subprocess.run([sys.executable, "-P", "load_delta.py"], check=True)
    rows = deltalake.DeltaTable("warehouse/invoice").to_pyarrow_table().to_pylist()
    assert [(row["number"], str(row["gross_total"])) for row in rows] == [("1", "2.50")]


def test_a_shell_tells_of_a_run_that_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[Any]()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("CINNABAR_HOOK", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        # There is no inbox.
        done = subprocess.run(["sh", "night.sh"], capture_output=True, text=True, check=False)
        server.shutdown()
    assert done.returncode in (1, 2) and told == [{"status": done.returncode}], done.stderr
