"""Every snippet of the documentation is run, or it is checked in another way for a reason that is counted.

test_docs.py runs a snippet marked `run` in a folder with the files of its page, marked `file=NAME`. Here
are the others: the commands of `cinnabar` run in a folder that has what they name, the queries are asked of the results
in it, and the rest is parsed. NOT_RUN says what cannot run, and why; test_docs.py checks the options of such
commands.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from pypdf import PdfWriter
from tests.support import ROOT
from tests.support.cases import each
from tests.support.documentation import PAGES, Fence, fences, put_files, words_of

from cinnabar.apps.cli.main import run

#: Why a command is not run: the first reason whose pattern its line has.
NOT_RUN = {
    "it needs a network or another program": r"^(?:git|pip|prefect|ray|curl|export|podman|openssl|rclone)\b"
    r"|^opentelemetry-instrument\b|^mkdir\b|\bextract claims\b|imaps://|model fetch|s3://|postgresql://",
    "it needs a server": r"\bserve\b|--(?:ray|flow)\b|\bcinnabar review\b",
    "it needs a model that you bring": r"\bmodels/|mercury|openai:|--model (?:qwen|auto)",
    "it needs your corrections": r"\bcinnabar (?:improve|correct)\b",
    "it changes or asks your shell": r"--(install|show)-completion",
    "test_first_minutes.py runs it": r"^cd |^\.\./cinnabar",
    "it takes minutes": r"^make |\bpython -m (?:training|bench)\b|^(?:python )?scripts/|\bcinnabar (?:eval|train)\b",
    "it names places of your machine": r"/archive/|/mnt/|\bsecrets\b",
}
#: The commands of a page that end with another status than 0, since the documents of these tests are few.
STATUS = {"cinnabar doctor": (0, 1)}
MAIL = """From: A. Claimant <a.claimant@example.org>
To: claims@insurer.example
Subject: Water damage in the kitchen
Date: Mon, 16 Mar 2026 09:12:00 +0100

Dear Sir or Madam,

a pipe burst in our kitchen on 14 March 2026. My policy number is HH-204-118.
We ask for EUR 1,250.00.

A. Claimant
"""


def reason(line: str) -> str | None:
    """Why this line of a shell snippet is not run; None if it is."""
    return next((why for why, pattern in NOT_RUN.items() if re.search(pattern, line)), None)


def lines_of(fence: Fence) -> list[str]:
    found = fence.text.replace("\\\n", " ").splitlines()
    return [line for line in found if words_of(line)]


#: A folder of an earlier version tells by which commands of its day it was made.
ALL = [fence for page in PAGES if page.parent.name != "results_0_3" for fence in fences(page)]
SHELL = [f for f in ALL if f.language == "sh" and "run" not in f.marks]
FILES = [f for f in ALL if any(mark.startswith("file=") for mark in f.marks)]
TO_RUN = [f for f in SHELL if f not in FILES and any(reason(line) is None for line in lines_of(f))]
QUERIES = [f for f in ALL if f.language == "sql" and f not in FILES]


def way(fence: Fence) -> str:
    """How a snippet is checked."""
    if fence in FILES:
        return "a file of others"
    if "run" in fence.marks or fence.language == "sql" or fence in TO_RUN:
        return "run"
    if fence.language == "sh":
        return f"options checked: {reason(lines_of(fence)[0])}"
    return "parsed" if fence.language in PARSERS else "unknown"


def _python(text: str) -> None:
    compile(text, "snippet", "exec", dont_inherit=True)


def _json(text: str) -> None:
    json.loads(text if text.lstrip().startswith(("{", "[")) else f"{{{text}}}")


PARSERS: dict[str, Any] = {
    "python": _python, "json": _json, "yaml": yaml.safe_load, "toml": tomllib.loads, "": str, "text": str,
    "js": str, "html": str,
}  # fmt: skip


def test_every_snippet_is_run_or_checked(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = [f"{f.name}: a fence of {f.language!r}" for f in ALL if way(f) == "unknown"]
    assert unknown == [], "expected sh, sql, python, json, yaml, toml or text; mark it `run` or `file=NAME`"
    counts = Counter(way(fence) for fence in ALL)
    with capsys.disabled():
        print(f"\nsnippets in tests: all {len(ALL)}; " + "; ".join(f"{n} {name}" for name, n in counts.most_common()))


@each("fence", [f for f in ALL if f.language in PARSERS])
def test_every_snippet_of_data_or_code_can_be_parsed(fence: Fence) -> None:
    PARSERS[fence.language](fence.text)


@each("fence", SHELL)
def test_every_shell_snippet_can_be_parsed(fence: Fence) -> None:
    text = re.sub(r"<[^>\n]+>", "ADDRESS", fence.text)
    done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{fence.name}: {done.stderr}"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the snippets name: documents of several kinds, schemas, a model, and results."""
    folder = tmp_path_factory.mktemp("world")
    samples = ROOT / "data" / "samples"
    for name, kind, files in (
        ("mails", "insurance_mail", ["burst_pipe_fenwick.eml"]),
        ("invoices", "invoice", ["CN7731.pdf", "invoice_40217.pdf"]),
        ("inbox", "receipt", ["663021.txt", "bon_0417.pdf"]),
    ):
        (folder / name).mkdir()
        for file in files:
            shutil.copy(samples / kind / "docs" / file, folder / name / file)
    (folder / "mails" / "1042.txt").write_text(MAIL, "utf-8")
    (folder / "mails" / "1042.eml").write_text(MAIL, "utf-8")
    (folder / "mails" / "2026").mkdir()
    (folder / "scans").mkdir()
    shutil.copy(samples / "invoice" / "docs" / "CN7731.pdf", folder / "scans")
    (folder / "passwords.txt").write_text("secret\n")
    (folder / "documents").mkdir()
    shutil.copy(folder / "mails" / "1042.txt", folder / "documents" / "1042.txt")
    shutil.copy(samples / "invoice" / "docs" / "CN7731.pdf", folder / "letter.pdf")
    shutil.copytree(folder / "invoices", folder / "bills")
    packet = PdfWriter()
    for file in sorted((folder / "invoices").iterdir()):
        packet.append(file)
    packet.write(folder / "packet.pdf")
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "my_model").symlink_to(ROOT / "engine" / "weights" / "reader")
    shutil.copytree(folder / "inbox", folder / "my_set" / "docs")
    shutil.copy(samples / "receipt" / "schema.json", folder / "my_set" / "schema.json")
    (folder / "my_set" / "truth.jsonl").write_text("")
    amount = {"type": ["number", "null"], "x-cinnabar-decimals": 2}
    fields: dict[str, Any] = {"number": {"type": ["string", "null"]}, "gross_total": amount}
    fields |= {"currency": {"type": ["string", "null"]}, "note": {"type": ["string", "null"]}}
    for file, title in (("invoice_v2.json", "bill"), ("delivery.json", "delivery"), ("schema.yaml", "delivery"),
                        ("receipt.json", "paid"), ("claims.json", "claim")):  # fmt: skip
        about = "A paper of a shop or a carrier: its number and its total."
        schema = {"title": title, "description": about, "type": "object", "properties": fields, "required": [*fields]}
        (folder / file).write_text(json.dumps(schema))
    number = {"type": ["integer", "null"]}
    for file, name in (("delivery_v1.json", "parcels"), ("delivery.json", "parcel_count")):
        schema = json.loads((folder / "delivery.json").read_text())
        schema["properties"] = fields | {name: number if file == "delivery_v1.json" else {"type": ["string", "null"]}}
        (folder / file).write_text(json.dumps(schema | {"required": [*schema["properties"]]}))
    (folder / "claims.py").write_text(
        "from pydantic import BaseModel\n"
        "class Claim(BaseModel):\n    'A claim after a damage: its policy and its amount.'\n"
        "    policy_number: str | None\n    amount: float | None\n"
    )
    (folder / "orders.csv").write_text("Order no,Amount\nA-17,12.50\nA-18,7.00\n")
    here = Path.cwd()
    os.chdir(folder)
    try:
        for said in (
            "extract mails/burst_pipe_fenwick.eml --schema insurance_mail --out tables",
            "extract mails/1042.txt --schema insurance_mail --out tables --min-confidence 1",
            "extract invoices --schema invoice --out tables",
            "extract invoices --schema invoice_v2.json --out tables",
            "extract documents --schema delivery_v1.json --out tables",
            "backfill --schema delivery.json --out tables",
        ):
            assert run(said.split()) == 0
    finally:
        os.chdir(here)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("fence", TO_RUN, ids=lambda fence: fence.name)
def test_the_commands_of_a_snippet_run(
    fence: Fence, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "world"
    shutil.copytree(world, folder, symlinks=True)
    put_files(fence.page, folder)
    settings = fence.page.with_name("cinnabar.toml")
    if settings.is_file():
        (folder / settings.name).write_text(settings.read_text("utf-8").replace("@INBOX@", "'documents'"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    sys.modules.pop("claims", None)
    for line in lines_of(fence):
        if reason(line) is not None:
            continue
        said = line.replace("@DOCUMENTS@", "mails").replace("@VIEW@", "delivery")
        words = words_of(said.replace("cinnabar/.venv/bin/", ""))
        assert words[0] == "cinnabar", f"{fence.name}: {line}: give NOT_RUN of this test a reason for this program"
        try:
            code = run(words[1:])
        except SystemExit as end:  # of typer's own options
            code = int(end.code or 0)
        told = capsys.readouterr()
        wanted = next((codes for start, codes in STATUS.items() if line.startswith(start)), (0,))
        assert code in wanted, f"{fence.name}: {shlex.join(words)} ended with {code}\n{told.out}\n{told.err}"


@pytest.mark.slow
@pytest.mark.parametrize("fence", QUERIES, ids=lambda fence: fence.name)
def test_each_query_can_be_asked(
    fence: Fence, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = world / "tables"
    put_files(fence.page, tmp_path)
    schemas = sorted(tmp_path.glob("*.json"))
    if schemas and (tmp_path / "mails").is_dir():
        monkeypatch.chdir(tmp_path)
        out = tmp_path / "tables"
        assert run(["extract", "mails", "--schema", str(schemas[0]), "--out", str(out)]) == 0
    for query in fence.text.split(";"):
        if query.strip():
            code = run(["sql", "--out", str(out), "--", query])
            assert code == 0, f"{fence.name}: {query}\n{capsys.readouterr().err}"
