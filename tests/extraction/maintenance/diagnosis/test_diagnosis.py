"""The findings about an installation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cinnabar.extraction.maintenance.diagnosis import installation
from cinnabar.extraction.maintenance.diagnosis.installation import Finding, findings_of


def test_a_check_that_raises_fails_alone() -> None:
    def broken() -> Iterator[Finding]:
        raise RuntimeError("no luck")
        yield

    found = findings_of([("one", broken), ("two", lambda: [Finding("two", "ok", "fine")])])
    assert [(one.check, one.state) for one in found] == [("one", "fails"), ("two", "ok")]
    assert "no luck" in found[0].found


def test_this_installation_works() -> None:
    checks = (installation.versions, installation.models, installation.parser)
    assert [one for check in checks for one in check() if one.state == "fails"] == []


def test_a_dependency_in_a_wrong_version_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy<1", "no-such-package>=1", "rich", "x; extra == 'y'"]
    monkeypatch.setattr(installation, "requires", lambda _: needed)
    found = next(one for one in installation.versions() if one.check == "dependencies")
    assert found.state == "fails"
    assert "numpy is" in found.found and "no-such-package>=1 is not installed" in found.found


def test_changed_weights_fail_with_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights" / "sentences").mkdir(parents=True)
    weights = tmp_path / "weights" / "reader"
    weights.mkdir(parents=True)
    (weights / "body.safetensors").write_bytes(b"changed")
    (weights / "model.json").write_text(json.dumps({"files": {"body.safetensors": "0" * 64}}))
    monkeypatch.setattr(installation, "SHIPPED", weights)
    reader, sentences = installation.models()
    assert (reader.state, sentences.state) == ("fails", "fails")
    assert "body.safetensors" in reader.found
