"""A later run reads those documents again that a changed part of the code has read, and no others."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable
from contextlib import chdir
from email.message import EmailMessage
from pathlib import Path
from zipfile import ZipFile

import pyarrow as pa
import pytest
from tests.support.drawn_pages import text_pages
from tests.support.reading_model import READING

from cinnabar.engine.version import VERSIONS
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.filling.model_sources import LanguageSource
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store import tables
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema

SOURCE = load_schema({"title": "note", "type": "object", "properties": {"name": {"type": "string"}}})


def mail(name: str, *attached: tuple[str, bytes]) -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"] = name, "a@example.org"
    message.set_content(f"name={name}\n")
    for file, data in attached:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=file)
    return message.as_bytes()


def packed(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents and their results, read by relative paths; no test changes them."""
    base = tmp_path_factory.mktemp("stored")
    docs = base / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("name=A\n")
    (docs / "b.pdf").write_bytes(text_pages("name=B"))
    (docs / "c.eml").write_bytes(mail("C"))
    (docs / "d.eml").write_bytes(mail("D", ("d.pdf", text_pages("name=D2"))))
    (docs / "e.eml").write_bytes(mail("E", ("e.zip", packed("e.pdf", text_pages("name=E2")))))
    (docs / "f.csv").write_text("name,number\nname=F,2\n")
    with chdir(base):
        assert read(Path("docs"), Path("out")) == ALL
    return base


@pytest.fixture
def docs(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the documents, in the working directory of the test."""
    shutil.copytree(stored / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    return Path("docs")


@pytest.fixture
def out(stored: Path, tmp_path: Path) -> Path:
    """A copy of their results."""
    return shutil.copytree(stored / "out", tmp_path / "out")


def read(docs: Path, out: Path) -> set[str]:
    """The files that a run reads."""
    run = extract([docs], SOURCE, out, READING, RunOptions(workers=1))
    rows = query(out, f"select path, outcome from outcomes where run_id = '{run.run_id}' and outcome <> 'skipped'").rows
    assert {outcome for _, outcome in rows} <= {"written"}
    return {Path(path).name for path, _ in rows}


def raise_version(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    for part in parts:
        monkeypatch.setitem(VERSIONS, part, VERSIONS[part] + 1)


ALL = {"a.txt", "b.pdf", "c.eml", "d.eml", "e.eml", "f.csv"}
MAILS = {"c.eml", "d.eml", "e.eml"}


MORE_PARTS = (
    ("mail", MAILS),
    ("web", {"f.csv"}),
    *((part, set()) for part in ("ocr", "language", "remote")),
    *((part, ALL) for part in ("merging", "parsing", "schemas")),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part, again",
    [
        ("pdf", {"b.pdf", "d.eml", "e.eml"}),
        ("plain", {"a.txt", "f.csv", *MAILS}),
        ("archives", {"e.eml"}),
        ("office", set()),
        ("reader", ALL),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE_PARTS),
    ],
)
def test_a_changed_part_lets_those_documents_be_read_again_that_it_read(
    docs: Path, out: Path, monkeypatch: pytest.MonkeyPatch, part: str, again: set[str]
) -> None:
    raise_version(monkeypatch, part)
    assert read(docs, out) == again
    assert read(docs, out) == set()
    assert verify(out).problems == []


def test_each_change_counts_once_and_a_return_to_an_older_key_is_none(
    docs: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, again in (("pdf", {"b.pdf", "d.eml", "e.eml"}), ("mail", MAILS), ("pdf", {"b.pdf", "d.eml", "e.eml"})):
        raise_version(monkeypatch, part)
        assert read(docs, out) == again
    assert verify(out).problems == []
    counts = query(out, "select path, count(distinct engine_fingerprint) from records group by path").rows
    assert {Path(path).name: count for path, count in counts} == {
        "a.txt": 1, "b.pdf": 3, "c.eml": 2, "d.eml": 4, "e.eml": 4, "f.csv": 1
    }  # fmt: skip


def test_documents_of_which_no_reader_is_known_may_have_been_read_by_any_family(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as before:
        before.setattr(tables, "OUTCOMES", pa.schema([one for one in tables.OUTCOMES if one.name != "parsers"]))
        read(docs, out)
    raise_version(monkeypatch, "office")
    assert read(docs, out) == ALL
    assert read(docs, out) == set()


def test_a_refused_file_is_tried_again_after_a_change_of_any_family(
    docs: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")

    def tried() -> Iterable[str]:
        run = extract([docs], SOURCE, out, READING, RunOptions(workers=1))
        wanted = f"select path from outcomes where run_id = '{run.run_id}' and outcome <> 'skipped'"
        return {Path(path).name for (path,) in query(out, wanted).rows}

    assert tried() == {"broken.pdf"} and tried() == set()
    raise_version(monkeypatch, "pdf")
    assert tried() == {"b.pdf", "d.eml", "e.eml", "broken.pdf"}
    assert tried() == set()


def test_a_language_models_records_depend_on_its_part_and_not_on_the_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    assignment = Assignment(SOURCE, LanguageSource("folder", "cpu", "float32", "print", 0))
    before = assignment.fingerprint
    with monkeypatch.context() as patch:
        raise_version(patch, "reader", "remote")
        assert assignment.fingerprint == before
    raise_version(monkeypatch, "language")
    assert assignment.fingerprint != before


@pytest.mark.parametrize(
    "name, parsers",
    [
        ("a.txt", ("plain",)),
        ("b.pdf", ("pdf",)),
        ("c.eml", ("mail",)),
        ("d.eml", ("mail", "pdf")),
        ("e.eml", ("archives", "mail", "pdf")),
        ("f.csv", ("web",)),
    ],
)
def test_a_document_names_the_families_that_read_it(docs: Path, name: str, parsers: tuple[str, ...]) -> None:
    with ParserPool(1) as pool:
        assert pool.submit(docs / name).result().parsers == parsers
