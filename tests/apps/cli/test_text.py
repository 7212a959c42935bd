"""`cinnabar text`: the text of files, all of it as JSON, and files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run

SAMPLES = Path(__file__).resolve().parents[3] / "data" / "samples"


def test_text_prints_the_text_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.txt").write_text("Total: 80.91 €\nThanks\n")
    assert run(["text", str(tmp_path / "note.txt")]) == 0
    assert capsys.readouterr().out.rstrip("\n") == "Total: 80.91 €\nThanks"


def test_json_places_every_word_of_a_page_in_its_text_and_box(capsys: pytest.CaptureFixture[str]) -> None:
    path = next(iter(sorted(SAMPLES.rglob("*.pdf"))))
    assert run(["text", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["media_type"] == "application/pdf" and found["parts"][0]["kind"] == "page"
    assert len(found["words"]) > 10
    width, height = found["parts"][0]["width"], found["parts"][0]["height"]
    for word in found["words"]:
        assert word["sure"] is None
        assert found["text"][word["start"] : word["end"]] == word["text"]
        if word["page"] == 1:
            assert 0 <= word["x0"] <= word["x1"] <= width and 0 <= word["top"] <= word["bottom"] <= height


def test_several_files_have_headings_and_json_has_parts_and_facts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.eml").write_text("From: a@example.org\nSubject: Rain\n\nIt rains.\n")
    (tmp_path / "b.txt").write_text("dry")
    assert run(["text", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"==> {tmp_path / 'a.eml'} <==" in told and "It rains." in told
    assert run(["text", str(tmp_path / "a.eml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [part["kind"] for part in found["parts"]] == ["headers", "body"]
    assert "mail.subject" in {one["fact"] for one in found["facts"]}
    assert run(["text", str(tmp_path / "a.eml"), "--tables", "--json"]) == 2
    assert "at most one of" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_told_with_its_code_and_others_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\nnothing")
    (tmp_path / "b.txt").write_text("dry")
    assert run(["text", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert "dry" in told.out and f"cinnabar: {tmp_path / 'a.pdf'}: truncated: " in told.err
    assert run(["text", str(tmp_path / "none.txt")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
