"""The mixed documents that speed is measured on, and what heads a report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.mixture import mixed_documents
from bench.reporting import machine, table
from tests.support.reading_model import ReadingModel

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"


def test_mixed_documents_have_their_own_bytes_and_stay_the_same() -> None:
    documents = list(mixed_documents(SAMPLES, 60))
    assert len({document.data for document in documents}) == 60
    assert {Path(document.name).suffix for document in documents} == {".pdf", ".eml", ".txt"}
    assert documents == list(mixed_documents(SAMPLES, 60))


def test_a_marked_sample_reads_as_the_sample() -> None:
    documents = [d for d in mixed_documents(SAMPLES, 30) if d.name.endswith((".pdf", ".eml"))]
    assert all(isinstance(parse(d.data, d.name), Document) for d in documents[:5])


def test_mixed_documents_without_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected sample documents"):
        next(mixed_documents(tmp_path, 1))


def test_a_table_is_markdown() -> None:
    assert table(("a", "b"), [("x", "1")]) == "| a | b |\n|---|---:|\n| x | 1 |"


def test_the_machine_is_named() -> None:
    assert re.search(r"commit \S+, .+ cores, \d+ threads, device cpu, torch ", machine(ReadingModel()))
