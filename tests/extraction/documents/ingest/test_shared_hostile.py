"""The collected hostile files: each has one outcome, and nearly always the expected one."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench.hostile_report import outcome_of, squeezed

from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ingest.sandbox import ParserPool

HOSTILE = Path(__file__).parents[5] / "shared" / "data" / "hostile"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTILE.is_dir(), reason="the development data in ../shared are missing"),
]


def manifest(kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HOSTILE / kind / "MANIFEST.jsonl").read_text().splitlines()]


def outcomes(entries: list[dict[str, Any]], kind: str) -> list[tuple[dict[str, Any], str, str]]:
    """Entry, outcome and text of each file."""
    paths = [HOSTILE / kind / entry["file"] for entry in entries]
    # What OCR would read is measured by `python -m bench hostile_report`.
    with ParserPool(2, time_limit=20, settings=ParserSettings(ocr="never")) as pool:
        got = list(pool.parse_many(paths))
    assert [path for path, _ in got] == paths
    found = []
    for entry, (_, outcome) in zip(entries, got, strict=True):
        text = squeezed(outcome.text) if isinstance(outcome, Document) else ""
        found.append((entry, outcome_of(outcome), text))
    return found


@pytest.mark.slow
def test_hostile_pdfs_come_out_as_expected() -> None:
    found = outcomes(manifest("pdf"), "pdf")
    agree = [outcome in entry["accept"] for entry, outcome, _ in found]
    assert sum(agree) >= 0.95 * len(agree)
    wanted = [(squeezed(want) in text) for entry, _, text in found for want in entry.get("must_contain", [])]
    assert sum(wanted) >= 0.9 * len(wanted)
    assert all(outcome == "password" for entry, outcome, _ in found if entry["accept"] == ["password"])


def test_hostile_mails_come_out_as_expected() -> None:
    found = outcomes(manifest("mail"), "mail")
    agree = [outcome in entry["accept"] for entry, outcome, _ in found]
    assert sum(agree) >= 0.98 * len(agree)
    subjects = [
        squeezed(entry["expected"]["subject"]) in text
        for entry, _, text in found
        if entry.get("truth_strength") == "firm" and entry.get("expected", {}).get("subject") and text
    ]
    assert sum(subjects) >= 0.98 * len(subjects)
