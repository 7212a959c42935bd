#!/usr/bin/env python3
"""Draws the pictures of the documentation from the real things.

These are a page beside its row, an automaton of a schema, the steps of a fill, and in a browser the review page and a
run's report.

    .venv/bin/python scripts/pictures.py [FOLDER]

The automaton is the same each time. The steps are those of the model that ships.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from cinnabar.schemas import compile_schema
from cinnabar.schemas.automata.automaton import Automaton

ROOT = Path(__file__).resolve().parents[1]
#: The schema whose automaton is drawn (docs/how-it-works.md shows it, too).
AMOUNT = {"type": "number", "x-cinnabar-decimals": 2, "minimum": 0, "exclusiveMaximum": 100}

_STYLE = """
  text { font: 14px sans-serif; fill: #222 } .small { font-size: 12px; fill: #555 } .mono { font-family: monospace }
  .state { fill: #fff; stroke: #333; stroke-width: 1.5 } .edge { fill: none; stroke: #333; stroke-width: 1.2 }
  .new { fill: #d7f0dd } .doubted { fill: #fde2c8 } .kept { fill: #f2f2f2 } .open { fill: #fff } .line { stroke: #ccc }
  rect.page { fill: #fff }
"""


def svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Returns a whole SVG file."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n'
        f'<rect class="page" width="{width:g}" height="{height:g}"/>\n{body}\n</svg>\n'
    )


def bytes_in_words(values: Sequence[int]) -> str:
    """Returns a set of bytes as ranges of characters, such as `0-9 .`."""
    ranges: list[list[int]] = []
    for value in sorted(values):
        if ranges and value == ranges[-1][1] + 1:
            ranges[-1][1] = value
        else:
            ranges.append([value, value])
    return " ".join(chr(a) if a == b else f"{chr(a)}-{chr(b)}" for a, b in ranges)


def automaton_picture(automaton: Automaton, title: str) -> str:
    """Draws an automaton without cycles from left to right, by the longest way to each state."""
    edges: dict[tuple[int, int], list[int]] = {}
    for state, row in enumerate(automaton.transitions.tolist()):
        for byte, kind in enumerate(automaton.byte_class.tolist()):
            if row[kind] >= 0:
                edges.setdefault((state, row[kind]), []).append(byte)
    column = [0] * automaton.states
    for _ in range(automaton.states):
        for start, end in edges:
            column[end] = max(column[end], column[start] + 1)
    rows: dict[int, int] = {}
    place: dict[int, tuple[float, float]] = {}
    for state in range(automaton.states):
        row = rows.get(column[state], 0)
        rows[column[state]] = row + 1
        place[state] = (70 + 150 * column[state], 90 + 110 * row + 30 * (column[state] % 2))
    width, height = 70 + 150 * max(column) + 90, 90 + 110 * max(rows.values())
    parts = [
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L10 5L0 10z" fill="#333"/></marker></defs>',
        f'<path class="edge" d="M20 {place[0][1]:g}H46" marker-end="url(#head)"/>',
    ]
    for (start, end), values in edges.items():
        (x0, y0), (x1, y1) = place[start], place[end]
        far = column[end] - column[start] - 1
        bend = 70.0 * far * (1 if column[start] % 2 else -1)
        length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1)
        dx, dy = (x1 - x0) / length * 24, (y1 - y0) / length * 24
        middle = ((x0 + x1) / 2, (y0 + y1) / 2 + bend)
        parts.append(
            f'<path class="edge" d="M{x0 + dx:.1f} {y0 + dy:.1f}Q{middle[0]:.1f} {middle[1]:.1f}'
            f' {x1 - dx:.1f} {y1 - dy:.1f}" marker-end="url(#head)"/>'
        )
        label = ((x0 + 2 * middle[0] + x1) / 4, (y0 + 2 * middle[1] + y1) / 4 - 7)
        name = escape(bytes_in_words(values))
        parts.append(f'<text class="mono" x="{label[0]:.1f}" y="{label[1]:.1f}" text-anchor="middle">{name}</text>')
    for state, (x, y) in place.items():
        parts.append(f'<circle class="state" cx="{x:g}" cy="{y:g}" r="22"/>')
        if automaton.accepting[state]:
            parts.append(f'<circle class="state" cx="{x:g}" cy="{y:g}" r="17"/>')
        parts.append(f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle">{state}</text>')
    return svg(width, height, title, parts)


def steps_picture(steps: Sequence[Mapping[str, Any]], title: str) -> str:
    """Draws the record after each step: a row for each field, a column for each step."""
    fields = [*json.loads(steps[-1]["record"])]
    wide, high = 190, 44
    width, height = 130 + wide * len(steps), 70 + high * (len(fields) + 1)
    parts = []
    for number, step in enumerate(steps):
        x = 130 + wide * number
        record = json.loads(step["record"])
        parts.append(f'<text x="{x + 8}" y="30">{escape(step["name"])}</text>')
        for row, name in enumerate(fields):
            y, pointer = 44 + high * row, f"/{name}"
            kept = any(pointer in before["committed"] for before in steps[:number])
            kind = (
                "new" if pointer in step["committed"]
                else "doubted" if pointer in step["doubted"]
                else "kept" if kept or step["final"] else "open"
            )  # fmt: skip
            value = json.dumps(record.get(name), ensure_ascii=False)
            shown = value if len(value) < 24 else value[:22] + "…"
            parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{wide - 6}" height="{high - 6}" rx="4"/>')
            parts.append(f'<text class="mono small" x="{x + 8}" y="{y + 17}">{escape(shown)}</text>')
            if pointer in step["confidence"]:
                sure = f"{step['confidence'][pointer]:.2f}"
                parts.append(f'<text class="small" x="{x + 8}" y="{y + 32}">{sure}</text>')
    for row, name in enumerate(fields):
        parts.append(f'<text x="10" y="{44 + high * row + 22}">{escape(name)}</text>')
    y = 44 + high * len(fields) + 24
    for at, (kind, meaning) in enumerate(
        (("new", "committed by this step"), ("kept", "committed before"), ("doubted", "opened again"))
    ):
        parts.append(f'<rect class="{kind}" x="{130 + 210 * at}" y="{y - 12}" width="14" height="14"/>')
        parts.append(f'<text class="small" x="{150 + 210 * at}" y="{y}">{meaning}</text>')
    return svg(width, height, title, parts)


def real_steps() -> list[dict[str, Any]]:
    """Returns the steps in which the shipped model fills the schema of docs/index.md from its first mail."""
    import re

    import cinnabar
    from cinnabar.extraction.review.steps import WatchedStep, watch

    text = (ROOT / "docs" / "index.md").read_text("utf-8")
    files = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        out, mail, schema = Path(folder) / "out", Path(folder) / "1042.txt", Path(folder) / "delivery.json"
        mail.write_text(files["mails/1042.txt"], "utf-8")
        schema.write_text(files["delivery.json"], "utf-8")
        table = cinnabar.extract(mail, schema, out=out, effort="high")
        steps: list[WatchedStep] = []
        watch(out, next(iter(table)).document, None, steps.append)
    return [
        {
            "name": "record" if step.final else f"step {step.step}" if step.step else "start",
            "record": step.record,
            "committed": step.committed,
            "doubted": step.doubted,
            "confidence": step.confidence,
            "final": step.final,
        }
        for step in steps
    ]


def browser_pictures(to: Path) -> None:
    """Takes pictures of the review page and of a run's report over invoices of the samples.

    Needs Playwright and a Chromium.
    """
    import shutil
    import subprocess

    from PIL import Image
    from playwright.sync_api import sync_playwright

    import cinnabar

    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        raise SystemExit("pictures: expected chromium or google-chrome on the PATH, found none")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        # Relative paths, so that the picture shows none of this machine.
        shutil.copytree(ROOT / "data" / "samples" / "invoice" / "docs", "invoices")
        cinnabar.extract("invoices", "invoice", out="tables", limit=6)
        command = [sys.executable, "-u", "-m", "cinnabar.apps.cli.main", "review", "--out", "tables", "--who", "Ada"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as started:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().rpartition(" ")[2].strip()
                browser = started.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1400, "height": 850})
                with page.expect_response(lambda answer: "/api/picture" in answer.url, timeout=30_000):
                    page.goto(address)
                page.wait_for_selector(".field")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=str(to / "review.png"))
                Path("invoices/half_a_copy.pdf").write_bytes(Path("invoices/90077315.pdf").read_bytes()[:3000])
                Path("invoices/nothing.pdf").touch()
                cinnabar.extract("invoices", "invoice", out="tables")
                page = browser.new_page(viewport={"width": 1100, "height": 850})
                page.goto(max(Path("tables/reports").glob("*.html")).absolute().as_uri())
                page.screenshot(path=str(to / "report.png"), full_page=True)
                browser.close()
                for picture in (to / "review.png", to / "report.png"):
                    Image.open(picture).convert("RGB").quantize(32).save(picture, optimize=True)
            finally:
                server.terminate()


#: What the picture of the first page shows: the columns of a row, by the JSON pointer and the colour of each.
SHOWN = {
    "number": ("/number", "#1f5fa8"), "issue_date": ("/issue_date", "#1b7a43"), "due_date": ("/due_date", "#a35a00"),
    "seller": ("/seller/name", "#8a2b84"), "gross_total": ("/gross_total", "#b3261e"),
    "amount_due": ("/amount_due", "#00707c"),
}  # fmt: skip
QUERY = (
    "select number, issue_date, due_date, seller.name as seller,",
    "gross_total, amount_due from invoice order by number desc",
)
#: Its invoices, the first of which is drawn, and the part of that page: left, top, right and bottom in points.
INVOICES = ("INV-0098_JuniperVale.pdf", "Invoice-MPL-2024-553190.pdf", "invoice_40217.pdf")
PART = (42, 44, 572, 492)


def row_picture() -> str:
    """Draws a page with the words behind the values of its row, and the row as `cinnabar sql` prints it."""
    import base64
    import io
    import shutil
    import subprocess

    import pypdfium2

    def cinnabar(*words: str) -> str:
        program = [sys.executable, "-m", "cinnabar.apps.cli.main", *words]
        return subprocess.run(program, cwd=folder, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "invoices").mkdir()
        for name in INVOICES:
            shutil.copy(ROOT / "data" / "samples" / "invoice" / "docs" / name, Path(folder) / "invoices")
        cinnabar("extract", "invoices", "--schema", "invoice", "--out", "tables", "--model", "reader")
        answer = cinnabar("sql", " ".join(QUERY), "--out", "tables").strip("\n").splitlines()
        marks = f"select pointer, confidence, x0, top, x1, bottom from fields where path = 'invoices/{INVOICES[0]}'"
        found = {one["pointer"]: one for one in json.loads(cinnabar("sql", marks, "--out", "tables", "--json"))}
        page = pypdfium2.PdfDocument(ROOT / "data" / "samples" / "invoice" / "docs" / INVOICES[0])[0]
    scale, (left, top, right, bottom) = 1.12, PART
    drawn = page.render(scale=2 * scale).to_pil().crop(tuple(round(2 * scale * edge) for edge in PART)).quantize(32)
    drawn.save(held := io.BytesIO(), "PNG", optimize=True)
    wide, high = scale * (right - left), scale * (bottom - top)
    picture = base64.b64encode(held.getvalue()).decode()
    parts = [
        f'<image x="0" y="0" width="{wide:g}" height="{high:g}" href="data:image/png;base64,{picture}"/>',
        f'<path class="line" d="M0 {high:g}H800"/>',
    ]
    for pointer, colour in SHOWN.values():
        one = found[pointer]
        x0, x1 = (scale * (one[edge] - left) - 3 * sign for edge, sign in (("x0", 1), ("x1", -1)))
        y0, y1 = (scale * (one[edge] - top) - 2 * sign for edge, sign in (("top", 1), ("bottom", -1)))
        parts.append(
            f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{y1 - y0:.1f}" rx="2" fill="{colour}"'
            f' fill-opacity=".14" stroke="{colour}" stroke-width="1.5"/>'
        )
        tag = f"{pointer[1:]} {one['confidence']:.2f}"
        style = f"font-size: 12px; font-weight: bold; fill: {colour}"
        parts.append(f'<text x="{x1 + 8:.1f}" y="{(y0 + y1) / 2 + 4:.1f}" style="{style}">{tag}</text>')
    line, y = 17, high + 26
    asked = [f'$ cinnabar sql "{QUERY[0]}', f'                {QUERY[1]}" --out tables']
    heads = next(text for text in answer if "issue_date" in text)
    for number, text in enumerate([*asked, *answer]):
        spans = escape(text)
        if text is heads:
            for name, (_, colour) in SHOWN.items():
                spans = spans.replace(name, f'<tspan style="fill: {colour}; font-weight: bold">{name}</tspan>')
        at = y + line * number
        parts.append(
            f'<text class="mono" style="font-size: 12px" x="12" y="{at:g}" xml:space="preserve">{spans}</text>'
        )
    title = "An invoice with the words behind six values marked, and its row in DuckDB"
    return svg(800, at + line, title, parts)


def amount() -> Automaton:
    """The automaton of an amount below 100 with two decimals."""
    schema = {"type": "object", "properties": {"amount": AMOUNT}, "required": ["amount"]}
    return compile_schema(schema).form.slots[0].automaton


def main(folder: Path) -> None:
    """Writes the pictures into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    title = "The automaton of an amount from 0 to 99.99 with at most two decimals"
    (folder / "automaton.svg").write_text(automaton_picture(amount(), title), "utf-8")
    (folder / "steps.svg").write_text(
        steps_picture(real_steps(), "The record after each denoising step of a fill"), "utf-8"
    )
    (folder / "row.svg").write_text(row_picture(), "utf-8")
    browser_pictures(folder.absolute())
    print(f"pictures: {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
