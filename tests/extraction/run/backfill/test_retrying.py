"""The quarantine: its documents are listed, retried, or released where the schema allows their records."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from tests.support.notes import NOTE
from tests.support.reading_model import ReadingModel

from cinnabar.errors import UsageError
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.retrying import retry
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import held_documents, release
from cinnabar.extraction.store.reading import query


def model(fingerprint: str = "reading") -> ModelSource:
    return ModelSource(fingerprint, ReadingModel)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents and their results, read by relative paths."""
    base = tmp_path_factory.mktemp("read")
    (docs := base / "docs").mkdir()
    (docs / "good.txt").write_text("name=A\ntotal=1.50\n")
    (docs / "nameless.txt").write_text("total=2\n")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    with chdir(base):
        extract([Path("docs")], NOTE, Path("out"), model(), RunOptions(workers=1))
    return base


@pytest.fixture
def done(read: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of these, in which the test works."""
    shutil.copytree(read, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out"


def paths(out: Path) -> list[str]:
    return [Path(one.path).name for one in held_documents(out)]


def test_the_quarantine_is_listed_by_name_digest_and_reason(done: Path) -> None:
    broken, nameless = held_documents(done)
    assert (Path(nameless.path).name, nameless.code, nameless.pointers) == (
        "nameless.txt",
        "missing",
        ["/name"],
    )
    assert nameless.arguments["on_missing"] == "quarantine" and nameless.record_json is not None
    assert held_documents(done, codes=["missing"]) == [nameless]
    for name in (broken.path, "broken.pdf", "docs/broken.pdf", broken.document[:8]):
        assert held_documents(done, [name]) == [broken]
    with pytest.raises(UsageError, match=r"good\.txt: not in quarantine"):
        held_documents(done, ["good.txt"])


def test_a_document_that_was_mended_is_written_on_retry(done: Path) -> None:
    found = retry(done, held_documents(done), model())
    assert [(run.inputs, run.written, run.quarantined) for run in found.runs] == [(2, 0, 2)]
    assert paths(done) == ["broken.pdf", "nameless.txt"]
    (nameless,) = held_documents(done, codes=["missing"])
    Path(nameless.path).write_text("name=B\ntotal=2\n")
    Path(held_documents(done, ["broken.pdf"])[0].path).unlink()
    found = retry(done, held_documents(done), model())
    assert [(run.inputs, run.written) for run in found.runs] == [(1, 1)]
    assert [Path(path).name for path in found.gone] == ["broken.pdf"]
    assert query(done, "SELECT name FROM note ORDER BY name").rows == [("A",), ("B",)]
    assert verify(done).problems == []


def test_a_record_that_its_schema_allows_is_released_and_done(done: Path) -> None:
    chosen = held_documents(done)
    found = release(done, chosen, ["/name"])
    assert [Path(path).name for path in found.released] == ["nameless.txt"]
    assert "no record" in next(iter(found.refused.values()))
    assert paths(done) == ["broken.pdf"]
    row: tuple[Any, ...] = query(done, "SELECT confidence, flags FROM note WHERE total = 2").rows[0]
    assert row[0] == 0.0 and "released" in row[1]
    (total,) = query(done, "SELECT value FROM fields WHERE confidence = 0 AND field = '/total'").rows
    assert total == ("2",)
    assert verify(done).problems == []
    again = extract([Path(chosen[1].path)], NOTE, done, model(), RunOptions(workers=1))
    assert (again.skipped, release(done, []).released) == (1, [])


def test_a_value_that_the_model_did_not_find_is_released_only_if_its_field_is_named(done: Path) -> None:
    chosen = held_documents(done, codes=["missing"])
    for others in ([], ["/total"], ["/name/first"]):
        found = release(done, chosen, others)
        assert found.released == [] and "--field '/name'" in found.refused[chosen[0].path]
    with pytest.raises(UsageError, match="JSON pointer"):
        release(done, chosen, ["name"])
    assert len(release(done, chosen, ["/name"]).released) == 1


def test_a_refusal_names_every_field_that_would_have_to_be_named(done: Path) -> None:
    from dataclasses import replace

    (one,) = held_documents(done, codes=["missing"])
    doubted = replace(one, pointers=["/kind", "/rows/0/unit", "/rows/1/unit"])
    said = release(done, [doubted], []).refused[one.path]
    assert said.endswith("values at /kind, /rows/*/unit for likely; --field '/kind' --field '/rows/*/unit' releases it")
    many = replace(one, pointers=[f"/{letter}" for letter in "abcdefg"])
    assert "--field '/e' and 2 more releases it" in release(done, [many], []).refused[one.path]


def test_a_field_names_any_row_and_all_below_it(done: Path) -> None:
    from dataclasses import replace

    (one,) = held_documents(done, codes=["missing"])
    row = replace(one, pointers=["/lines/3/unit"], code="low_confidence")
    assert release(done, [row], ["/lines/*/name"]).released == []
    assert len(release(done, [row], ["/lines"]).released) == 1


def test_a_record_that_breaks_its_schema_is_never_released(done: Path) -> None:
    from dataclasses import replace

    (one,) = held_documents(done, codes=["missing"])
    found = release(done, [replace(one, record_json='{"total": 2}')])
    assert found.released == [] and "breaks the schema" in found.refused[one.path]
    assert len(held_documents(done)) == 2
