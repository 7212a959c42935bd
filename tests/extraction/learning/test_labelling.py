"""Labelling: a folder of documents becomes a set for training and scoring by drafts, corrections and acceptance."""

from __future__ import annotations

import html
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tiny_network import tiny_model

from cinnabar.engine.engine import Engine
from cinnabar.engine.request import Origin
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.learning.drafts import Draft, deserves_a_look
from cinnabar.extraction.learning.labelling import Drafted, label
from cinnabar.extraction.learning.truth import accept
from cinnabar.extraction.reading.records.evidence import evidence_of
from cinnabar.extraction.run.work.labelled_sets import load_set
from cinnabar.extraction.store.records import LeafRow, Record
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import UsageError

SCHEMA = {
    "title": "note",
    "type": "object",
    "required": ["author", "day"],
    "properties": {
        "author": {"type": "string", "description": "Who wrote it."},
        "day": {"type": ["string", "null"], "format": "date"},
    },
}
MODEL = tiny_model()


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    (folder / "old").mkdir(parents=True)
    for i in range(6):
        name = f"old/{i}.txt" if i % 2 else f"{i} & more.txt"
        (folder / name).write_text(f"Note {i}\nWritten by Anna <b> on 2024-05-0{i + 1}\n")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing")
    return folder


def drafted(inbox: Path, out: Path, count: int = 30, schema: dict[str, Any] = SCHEMA) -> Drafted:
    return label([inbox], load_schema(schema), out, Engine(MODEL), count)


def drafts(out: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((out / "drafts").glob("*.json"))]


def correct(out: Path, count: int) -> None:
    for path in sorted((out / "drafts").glob("*.json"))[:count]:
        draft = json.loads(path.read_text())
        draft["truth"], draft["checked"] = {"author": "Anna", "day": None}, True
        path.write_text(json.dumps(draft, indent=1))


def test_every_document_that_can_be_read_is_copied_and_drafted(inbox: Path, tmp_path: Path) -> None:
    done = drafted(inbox, tmp_path / "set")
    assert (done.documents, done.fields, done.before) == (6, 12, 0)
    assert done.unread.keys() == {"docs/broken.pdf"}
    assert json.loads((tmp_path / "set" / "schema.json").read_text()) == SCHEMA
    even, odd = [f"docs/{i} & more.txt" for i in (0, 2, 4)], [f"docs/old/{i}.txt" for i in (1, 3, 5)]
    assert {draft["file"] for draft in drafts(tmp_path / "set")} == {*even, *odd}
    for draft in drafts(tmp_path / "set"):
        origin = inbox / draft["file"].removeprefix("docs/")
        assert (tmp_path / "set" / draft["file"]).read_bytes() == origin.read_bytes()
        assert draft["checked"] is False and draft["truth"].keys() == {"author", "day"}
        assert {field["field"] for field in draft["fields"]} == {"/author", "/day"}


def test_unsure_fields_and_drafts_come_first(inbox: Path, tmp_path: Path) -> None:
    drafted(inbox, tmp_path / "set")
    means = []
    for draft in drafts(tmp_path / "set"):
        sure = [field["confidence"] for field in draft["fields"]]
        assert sure == sorted(sure)
        assert all(field.get("check", False) or field["confidence"] >= 0.79 for field in draft["fields"])
        means.append(sum(sure) / len(sure))
    assert all(a <= b + 0.01 for a, b in itertools.pairwise(means))


def test_new_drafts_are_added_and_none_is_overwritten(inbox: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    assert drafted(inbox, out, 2).documents == 2
    correct(out, 2)
    before = drafts(out)
    done = drafted(inbox, out, 3)
    assert (done.documents, done.before) == (3, 2)
    assert drafts(out)[:2] == before
    assert [path.name[:3] for path in sorted((out / "drafts").glob("*.json"))] == [
        f"00{i}" for i in range(1, 6)
    ]
    assert drafted(inbox, out).documents == 1
    assert drafted(inbox, out).documents == 0


def test_checked_drafts_are_a_set_that_can_be_scored(inbox: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    drafted(inbox, out)
    correct(out, 4)
    done = accept(out)
    assert (done.taken, len(done.waiting), done.problems, done.lines) == (4, 2, (), 4)
    labelled = load_set(out)
    assert [line["truth"] for line in labelled.truths] == [{"author": "Anna", "day": None}] * 4
    correct(out, 6)
    assert accept(out).lines == 6


def test_documents_that_lie_in_the_set_stay_where_they_are(inbox: Path, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    inbox.rename(tmp_path / "set" / "mine")
    done = drafted(tmp_path / "set" / "mine", tmp_path / "set")
    assert done.documents == 6 and not (tmp_path / "set" / "docs").exists()
    assert "mine/old/1.txt" in {draft["file"] for draft in drafts(tmp_path / "set")}
    with pytest.raises(UsageError, match="got the set itself"):
        drafted(tmp_path / "set", tmp_path / "set")


def test_another_document_of_the_same_name_is_drafted_under_a_number(inbox: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    drafted(inbox, out)
    other = tmp_path / "other"
    (other / "old").mkdir(parents=True)
    (other / "old" / "1.txt").write_text("Note of someone else\n")
    (other / "old" / "3.txt").write_bytes((inbox / "old" / "3.txt").read_bytes())
    done = drafted(other, out)
    assert (done.documents, done.before) == (1, 1)
    assert drafts(out)[-1]["file"] == "docs/old/1-2.txt"
    assert (out / "docs" / "old" / "1-2.txt").read_text() == "Note of someone else\n"
    assert (out / "docs" / "old" / "1.txt").read_bytes() == (inbox / "old" / "1.txt").read_bytes()
    again = drafted(other, out)
    assert (again.documents, again.before) == (0, 2)


@pytest.mark.parametrize("letter", ["x", "\u6587"])
def test_a_document_with_a_long_name_is_drafted(tmp_path: Path, letter: str) -> None:
    (tmp_path / "inbox").mkdir()
    name = letter * (250 // len(letter.encode())) + ".txt"
    (tmp_path / "inbox" / name).write_text("A note\n")
    assert drafted(tmp_path / "inbox", tmp_path / "set").documents == 1
    assert drafts(tmp_path / "set")[0]["file"] == f"docs/{name}"
    assert drafted(tmp_path / "inbox", tmp_path / "set").before == 1


@pytest.mark.slow
def test_draft_numbers_continue_beyond_a_thousand(inbox: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    drafted(inbox, out, 1)
    (draft,) = (out / "drafts").glob("*.json")
    draft.rename(out / "drafts" / "1000-corrected.json")
    drafted(inbox, out, 1)
    assert {path.name[:5] for path in (out / "drafts").glob("*.json")} == {"1000-", "1001-"}


def test_a_set_of_another_schema_is_never_changed(inbox: Path, tmp_path: Path) -> None:
    drafted(inbox, tmp_path / "set", 1)
    with pytest.raises(UsageError, match="holds a set of another schema"):
        drafted(inbox, tmp_path / "set", 1, SCHEMA | {"title": "other"})


def one_draft(text: str, *leaves: LeafRow) -> tuple[Document, Draft]:
    document = parse(text.encode(), "a.txt")
    record = json.dumps({leaf.pointer[1:]: json.loads(leaf.value or "null") for leaf in leaves})
    return document, Draft.of("docs/a.txt", document, Record(record, tuple(leaves), 0.0))


def leaf(name: str, value: str | None, sure: float, document: Document, *spans: tuple[int, int]) -> LeafRow:
    origin: Origin = "copied"
    return LeafRow(f"/{name}", value, sure, origin, evidence=evidence_of(document, spans))


def test_a_value_is_shown_with_the_words_around_it() -> None:
    text = "Seller <script>alert(1)</script> Ltd\nTotal 12.50 EUR\n"
    document = parse(text.encode(), "a.txt")
    at = text.index("12.50")
    rows = leaf("total", "12.5", 0.4, document, (at, at + 5)), leaf("seller", '"Ltd"', 0.9, document)
    _, draft = one_draft(text, *rows)
    first, second = json.loads(draft.json())["fields"]
    assert first["check"] is True and "»12.50« EUR" in first["read"] and first["spans"] == [[at, at + 5]]
    assert "check" not in second and "read" not in second
    page = draft.page("001-a.txt.json", "../docs/a.txt")
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert '<mark class="check" title="/total (0.40)">12.50</mark>' in page
    shown = re.search(r"<pre>(.*)</pre>", page, re.DOTALL)
    assert shown is not None and html.unescape(re.sub(r"</?mark[^>]*>", "", shown[1])) == document.text


def test_two_fields_of_the_same_words_mark_them_once() -> None:
    document = parse(b"Total 12.50 EUR", "a.txt")
    rows = leaf("a", "12.5", 0.4, document, (6, 11)), leaf("b", '"12.50 EUR"', 0.5, document, (6, 15))
    _, draft = one_draft("Total 12.50 EUR", *rows)
    assert draft.page("x", "y").count("<mark") == 1


def test_a_missing_required_value_is_marked_for_checking() -> None:
    assert deserves_a_look(LeafRow("/a", '"x"', 0.99, "copied", missing=True))
    assert not deserves_a_look(LeafRow("/a", None, 0.99, "copied"))
