"""An export holds the chosen documents, escaped and bounded, and a browser opens it without a message or a request."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from page_in_chromium import opened
from reading_model import ReadingModel
from reportlab.pdfgen.canvas import Canvas

from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.run import extract
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.sources import ModelSource
from cinnabar.extraction.storage.reading import query
from cinnabar.extraction.watching import export
from cinnabar.extraction.watching.export import export_page
from cinnabar.flows.cli.main import run
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError

PROPERTIES: dict[str, Any] = {
    "name": {"type": "string", "maxLength": 60},
    "total": {"type": ["integer", "null"]},
    "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}},
}
NOTE = load_schema({"title": "note", "type": "object", "properties": PROPERTIES, "required": [*PROPERTIES]})


def pdf(path: Path, pages: int = 1) -> None:
    canvas = Canvas(str(path), pagesize=(400, 500))
    for number in range(pages):
        canvas.drawString(72, 400, f"name=Boxed{number}" if number == 0 else f"page {number}")
        canvas.drawString(72, 380, "total=7")
        canvas.showPage()
    canvas.save()


def stored(folder: Path, out: Path) -> Path:
    extract([folder], NOTE, out, ModelSource("reading", ReadingModel, encodings=0), RunOptions(workers=1))
    return out


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    pdf(folder / "a.pdf")
    (folder / "b.txt").write_text("Dear all\nname=<b>bold</b>&\u202e\ntotal=3\n- n=1\n- n=2\n")
    (folder / "c'><script>alert(1)<.txt").write_text("name=\"'><img\ntotal=9\n")
    (folder / "none.txt").write_text("total=1")
    return folder


def test_an_export_shows_pages_with_frames_and_texts_with_marks(docs: Path, tmp_path: Path) -> None:
    to = tmp_path / "e" / "export.html"
    found = export_page(stored(docs, tmp_path / "out"), to)
    page = to.read_text()
    assert (found.path, found.documents, found.left_out, found.pages) == (to, 4, 0, 1)
    assert found.bytes == to.stat().st_size
    articles = re.findall(r"<article.*?</article>", page, re.S)
    assert len(articles) == 4
    (drawn,) = [one for one in articles if "a.pdf" in one]
    assert "data:image/jpeg;base64," in drawn and drawn.count("<rect") == 2 and "<pre>" not in drawn
    x = re.search(r'<rect class="sure" data-v="(d\d+v\d+)" x="([\d.]+)" y="([\d.]+)"', drawn)
    assert x is not None and abs(float(x[2]) - 72) < 50 and 80 < float(x[3]) < 130
    (text,) = [one for one in articles if "b.txt" in one]
    assert text.count("<mark ") >= 4 and "Dear all" in text
    (held,) = [one for one in articles if "none.txt" in one]
    assert "quarantined: missing" in held and "<td><bdi>1</bdi>" in held


def test_names_and_values_are_escaped(docs: Path, tmp_path: Path) -> None:
    export_page(stored(docs, tmp_path / "out"), tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text()
    assert page.count("<script") == 1 and "<b>" not in page and "<img" not in page and "\u202e" not in page
    assert "&lt;b&gt;bold&lt;/b&gt;&amp;" in page and "alert(1)" in page and "\\u202e" in page


def test_chromium_opens_an_export_and_its_script_walks(docs: Path, tmp_path: Path) -> None:
    export_page(stored(docs, tmp_path / "out"), tmp_path / "e.html", paths=["a.pdf"])
    found = opened(tmp_path / "e.html", tmp_path, "#d1v0")
    assert found.console == [] and found.requests == []
    # The value of the address has the focus, and the script has lit it and its frame.
    assert re.search(r'<tr id="d1v0" class="value sure on"', found.dom)
    assert re.search(r'<rect class="sure on" data-v="d1v0"', found.dom)


def test_the_keyboard_scrolls_each_document_and_its_name_is_its_own(docs: Path, tmp_path: Path) -> None:
    export_page(stored(docs, tmp_path / "out"), tmp_path / "e.html")
    text = (tmp_path / "e.html").read_text()
    for name in ("document", "record"):
        labels = re.findall(rf'<section class="{name}" tabindex="0" aria-label="([^"]+)"', text)
        assert len(labels) == len(set(labels)) == text.count("<article") > 1


def test_documents_are_chosen_by_sql_schema_path_and_limit(docs: Path, tmp_path: Path) -> None:
    out = stored(docs, tmp_path / "out")

    def chosen(**how: Any) -> list[str]:
        export_page(out, tmp_path / "e.html", images=False, **how)
        return re.findall(r"<h2[^>]*><bdi>.*?([^/]*)</bdi>", (tmp_path / "e.html").read_text())

    assert chosen(where="outcome = 'quarantined'") == ["none.txt"]
    assert sorted(chosen(where="confidence > 0.5 and path like '%.pdf' -- all")) == ["a.pdf"]
    assert sorted(chosen(paths=["a.pdf", str(docs / "b.txt")])) == ["a.pdf", "b.txt"]
    assert chosen(where="false") == [] and "No document was chosen" in (tmp_path / "e.html").read_text()
    assert len(chosen(schema_name="NOTE")) == 4
    with pytest.raises(UsageError, match=r"other: expected a schema that .* has records of: note"):
        chosen(schema_name="other")
    assert len(chosen(limit=2)) == 2 and "2 more were chosen and left out" in (tmp_path / "e.html").read_text()
    for wrong in ("nothing = 1", "1); DROP TABLE x", "("):
        with pytest.raises(UsageError, match="--where"):
            chosen(where=wrong)
    with pytest.raises(UsageError, match="--limit"):
        chosen(limit=0)
    with pytest.raises(UsageError, match="holds no results"):
        export_page(tmp_path / "nowhere", tmp_path / "e.html")


def test_a_file_that_is_gone_or_changed_is_told_and_its_record_stays(docs: Path, tmp_path: Path) -> None:
    out = stored(docs, tmp_path / "out")
    (docs / "a.pdf").unlink()
    (docs / "b.txt").write_text("name=other")
    found = export_page(out, tmp_path / "e.html", paths=["a.pdf", "b.txt"])
    page = (tmp_path / "e.html").read_text()
    assert found.pages == 0 and page.count("The file is gone, or has changed since it was read.") == 2
    assert "<bdi>Boxed0</bdi>" in page


@pytest.mark.slow
def test_pictures_and_texts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    pdf(docs / "long.pdf", 30)
    (docs / "long.txt").write_text("name=first\n" + "words of a text\n" * 200)
    out = stored(docs, tmp_path / "out")
    monkeypatch.setattr(export, "_TEXT", 600)
    assert export_page(out, tmp_path / "e.html").pages == 12
    page = (tmp_path / "e.html").read_text()
    assert "18 pages more without a picture here" in page and "The text goes on" in page
    monkeypatch.setattr(export, "_PICTURES", 20_000)
    assert 0 < export_page(out, tmp_path / "e.html").pages < 12
    assert export_page(out, tmp_path / "e.html", images=False).pages == 0


def test_an_export_leaves_the_old_file_if_it_fails(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = stored(docs, tmp_path / "out")
    (tmp_path / "e.html").write_text("old")

    def failing(*_: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setattr(export, "_article", failing)
    with pytest.raises(ValueError, match="no"):
        export_page(out, tmp_path / "e.html")
    assert (tmp_path / "e.html").read_text() == "old" and json.dumps([p.name for p in tmp_path.glob(".part*")]) == "[]"


def test_corrections_are_shown_with_the_value_before(docs: Path, tmp_path: Path) -> None:
    out = stored(docs, tmp_path / "out")
    ((digest,),) = query(out, "select document from records where path like '%b.txt'").rows
    corrector = Corrector(out)
    corrector.correct(digest, "note", [Change(Action.VALUE, "/total", "44")], "ann <a@b>")
    corrector.correct(digest, "note", [Change(Action.LIST, "/lines", '[{"n":5}]')], "bob")
    export_page(out, tmp_path / "e.html", paths=["b.txt"], images=False)
    page = (tmp_path / "e.html").read_text()
    assert "<bdi>44</bdi>" in page and "changed from 3 by ann &lt;a@b&gt;" in page
    assert "/lines: list" in page and '<span class="badge human">' in page
    assert re.search(r'<tr id="d1v\d+" class="value human"', page)


def test_the_command_writes_an_export(docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, to = stored(docs, tmp_path / "out"), tmp_path / "e.html"
    told = ["review", "--out", str(out), "--export", str(to)]
    assert run([*told, "--where", "outcome = 'written'", "--schema", "note", "--limit", "2"]) == 0
    assert "2 documents, " in (said := capsys.readouterr().out) and "1 more were left out" in said
    assert to.read_text().count("<article") == 2
    assert run([*told, "--where", "no sql"]) == 2
    assert run(["review", "--out", str(out), "--where", "true"]) == 2
