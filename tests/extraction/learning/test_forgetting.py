"""A labelled set loses a document: truth and copy."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cinnabar.errors import UsageError
from cinnabar.extraction.learning.forgetting import forget_in_set


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    (folder / "docs/in").mkdir(parents=True)
    (folder / "schema.json").write_text("{}")
    for name in ("docs/in/a.txt", "docs/b.txt"):
        (folder / name).write_text(f"text of {name}")
    lines = [{"file": "docs/in/a.txt", "truth": {}}, {"file": "docs/b.txt", "truth": {}}]
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_a_set_loses_truth_and_copy_of_a_document_and_no_other(labelled: Path) -> None:
    found = forget_in_set(labelled, "in/a.txt")
    assert found.truths == 1
    assert found.files == ("docs/in/a.txt",) and not (labelled / "docs/in/a.txt").exists()
    assert "docs/b.txt" in (labelled / "truth.jsonl").read_text() and (labelled / "docs/b.txt").is_file()
    assert "docs/in/a.txt" not in (labelled / "truth.jsonl").read_text()


def test_a_document_of_a_set_is_known_by_its_bytes(labelled: Path) -> None:
    digest = hashlib.sha256(b"text of docs/b.txt").hexdigest()
    for document, digests in ((digest[:8], ()), ("elsewhere/renamed.txt", (digest,))):
        found = forget_in_set(labelled, document, digests, dry_run=True)
        assert "docs/b.txt" in found.files and (labelled / "docs/b.txt").is_file()


def test_a_folder_that_is_no_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a folder with schema\.json"):
        forget_in_set(tmp_path, "a.txt")
