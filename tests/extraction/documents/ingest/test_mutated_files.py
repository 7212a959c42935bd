"""Damaged files of every kind end as a document or with a code, whatever the damage (bench/mutation_report.py)."""

from __future__ import annotations

from pathlib import PurePath

import pytest
from bench.mutation_report import NOTED, Mutations, run
from bench.mutation_seeds import KINDS, seeds_of

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest import FLAGS, ParserSettings, parse
from cinnabar.extraction.plan.outcomes import UNREADABLE

SETTINGS = ParserSettings(passwords=("secret",), ocr="never", hidden=True)


# Pillow tells of damaged tags, which may be.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pdf"])
def test_a_mutated_file_is_a_document_or_has_a_code(kind: str) -> None:
    files = Mutations(kind, 7, seeds_of(kind))
    read = 0
    for number in range(200):
        suffix = PurePath(files.name(number)).suffix
        try:
            assert set(parse(files.file(number), f"a{suffix}", SETTINGS).flags) <= set(FLAGS)
            read += 1
        except DocumentError as error:
            assert error.code in UNREADABLE
    assert read > 60 or kind == "image"


@pytest.mark.slow
def test_mutated_pdfs_with_everything_in_them_never_end_the_run() -> None:
    found = run(Mutations("pdf", 7, seeds_of("pdf")), count=250, workers=1, limit=10)
    assert found.faults == []
    assert found.counts.total() == 250
    assert found.counts["document"] > 100
    # pdfium itself may end a process; that is rare, and not among these.
    assert not any(found.counts[code] for code in NOTED)
