"""The report on hostile files counts what agrees, and names each file that does not."""

import json
from pathlib import Path

import pytest
from bench.hostile_report import main


@pytest.mark.slow
def test_the_report_counts_outcomes_texts_and_what_a_mail_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "a.eml").write_bytes(b"From: a@b.org\nSubject: One  two\n\nA sum of 5.\n")
    (folder / "b.eml").write_bytes(b"From: c@d.org\nSubject: Three\n\nNothing.\n")
    about = {"expect": "text", "truth_strength": "firm"}
    lines = [
        {
            "file": "a.eml",
            "accept": ["text"],
            "must_contain": ["sum of5"],
            "expected": {"subject": "One two", "from": ["A@b.org"], "attachments": []},
        },
        {
            "file": "b.eml",
            "accept": ["empty"],
            "must_contain": ["absent"],
            "expected": {"subject": "Four", "from": ["c@d.org"], "attachments": ["x.txt"], "nested_messages": 1},
        },
    ]
    (folder / "MANIFEST.jsonl").write_text("\n".join(json.dumps(about | line) for line in lines))
    main([str(tmp_path), "--kind", "mail"])
    told = capsys.readouterr().out
    for row in ("outcome | 1 of 2 (50.0%)", "text | 1 of 2", "subject | 1 of 2", "sender | 2 of 2", "nesting | 0 of 1"):
        assert f"| {row}" in told
    assert "- outcome: b.eml: expected empty, got text" in told
    assert "- attachments: b.eml: no attachment 'x.txt'" in told
    assert "a.eml" not in told
