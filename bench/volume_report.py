"""Measures time and memory for ten thousand documents, one in a hundred poison, and accounts for each.

    python -m bench volume_report
    python -m bench volume_report --documents 1000
    python -m bench volume_report --stored 1000000
    python -m bench volume_report --engines auto
    python -m bench volume_report --mixed --engines auto

Notes, mails and PDFs of some fifty words are written into a folder, mixed with files made to break a reader.
`cinnabar extract` reads a tenth of them and then all, in a process of its own that is watched from outside: its memory
with that of its parsers (the sum over the processes, shared pages counted once), sampled five times a second.

The report is a Markdown table of seconds, processor seconds, documents per second, outcomes and memory, followed by the
growth of the time. On a machine that does other work, go by the processor seconds. An input without an outcome, or
with two, ends the report. With `--stored` it measures a folder with so many stored outcomes instead
(`bench/stored_volume.py`), and with `--mixed` runs over sample documents (`bench/mixed_volume.py`).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from reportlab.lib.pagesizes import A5
from reportlab.pdfgen.canvas import Canvas

from bench import mixed_volume, stored_volume
from bench.mixed_volume import outcomes
from bench.processes import Watched, watch
from bench.reporting import table

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {
        "carrier": {"type": ["string", "null"], "description": "Who carries the goods."},
        "parcels": {"type": ["integer", "null"], "description": "How many parcels."},
        "day": {"type": ["string", "null"], "format": "date", "description": "Day of the delivery."},
    },
    "required": ["carrier", "parcels", "day"],
}
#: One document in this many is poison.
POISON = 100
CARRIERS = ("Nordfracht", "Hansa Express", "Kurier Lind", "Trans Alpina", "Petersen & Sons", "Blue Line")


def pdf(text: str) -> bytes:
    """One page with these lines."""
    held = BytesIO()
    canvas = Canvas(held, pagesize=A5, invariant=True)
    for at, line in enumerate(text.splitlines()):
        canvas.drawString(40, 550 - 14 * at, line)
    canvas.save()
    return held.getvalue()


def note(number: int, chance: random.Random) -> str:
    """The text of a delivery note unlike all others."""
    day = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return (
        f"Delivery note {number:06}\n\nCarrier: {chance.choice(CARRIERS)}\n"
        f"Parcels: {chance.randint(1, 90)}\nDay: {day}\n\n"
        f"The goods were handed over in good order at gate {chance.randint(1, 40)}.\n"
        f"Driver: {chance.choice('ABCDEFGH')}. {chance.choice(CARRIERS)}\n"
        f"Please sign and send this note back to the office in the week of the delivery.\n"
    )


def poison(number: int, text: str, chance: random.Random) -> tuple[str, bytes]:
    """The suffix and bytes of a file made to break a reader."""
    whole = pdf(text)
    nested = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (at, at) for at in range(3000))
    return (
        (".pdf", whole[: len(whole) // 2]),
        (".pdf", b""),
        (".pdf", f"<html><body>{text}</body></html>".encode()),
        (".pdf", whole.replace(b"/Kids", b"/Kids [ 3 0 R 3 0 R ] /Kidz").replace(b"startxref", b"startxrfe")),
        (".eml", b"From: a@example.org\n" + nested),
        (".eml", b"Subject: " + b"=?utf-8?q?" * 50_000 + b"\n\n" + text.encode()),
        (".txt", bytes(chance.randrange(256) for _ in range(5000)) + str(number).encode()),
        (".txt", b"\x00" * 4096 + str(number).encode()),
    )[number // POISON % 8]


def write_folder(docs: Path, count: int) -> None:
    """Writes `count` documents, most of them texts, each tenth a mail and each twentieth a PDF."""
    docs.mkdir()
    chance = random.Random(0)
    for number in range(count):
        text = note(number, chance)
        if number % POISON == POISON - 1:
            suffix, data = poison(number, text, chance)
        elif number % 20 == 3:
            suffix, data = ".pdf", pdf(text)
        elif number % 10 == 7:
            head = f"From: office@example.org\nSubject: {number}\nDate: Mon, 2 Mar 2026 10:00:00 +0000\n\n"
            suffix, data = ".eml", (head + text).encode()
        else:
            suffix, data = ".txt", text.encode()
        (docs / f"{number:06}{suffix}").write_bytes(data)


def main() -> None:
    """Measures the runs and prints the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--stored", type=int, metavar="N", help="a folder with N stored outcomes instead")
    parser.add_argument("--mixed", action="store_true", help="mixed sample documents instead")
    parser.add_argument("--batch", type=int, default=64, help="documents in a batch of them")
    parser.add_argument("--engines", default="1", help="engine processes of the command, or auto")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if said.stored is not None:
            stored_volume.report(said.stored, said.batch, root)
            return
        if said.mixed:
            mixed_volume.report(said.documents, said.engines, root)
            return
        (root / "note.json").write_text(json.dumps(SCHEMA))
        runs: dict[str, Watched] = {}
        rows = []
        for what, count in (("a tenth", said.documents // 10), ("all", said.documents)):
            docs = root / f"{count}"
            write_folder(docs, count)
            out = root / f"out-{count}"
            command = [
                *(sys.executable, "-m", "cinnabar.apps.cli.main", "extract", str(docs)),
                *("--schema", str(root / "note.json"), "--out", str(out)),
                *("--on", "missing=guess", "--engines", said.engines),
            ]
            runs[what] = ran = watch(command, root / "log")
            rows.append([
                f"{count}", f"{ran.seconds:.0f}", f"{ran.work:.0f}", f"{count / ran.seconds:.1f}", outcomes(out, count),
                f"{ran.main / 2**20:.0f}", f"{ran.peak / 2**20:.0f}",
            ])  # fmt: skip
            print(f"{rows[-1][0]}: {rows[-1][1]} s", file=sys.stderr, flush=True)
    head = ["documents", "seconds", "of processors", "documents/s", "outcomes"]
    head += ["MiB, main process", "MiB, with parsers"]
    print(table(head, rows))
    few, all_of_them = runs["a tenth"], runs["all"]
    grown = (all_of_them.main - few.main) / 2**20
    print(f"\nTime grew {all_of_them.seconds / few.seconds:.2f} times, that of processors", end="")
    print(f" {all_of_them.work / few.work:.2f} (wanted 10.5 at most), the main process by {grown:.0f} MiB.")


if __name__ == "__main__":
    main()
