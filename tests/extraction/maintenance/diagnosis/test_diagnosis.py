"""The findings about a machine, an installation and a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cinnabar.extraction.maintenance.diagnosis import machine
from cinnabar.extraction.maintenance.diagnosis.machine import CheckState, Finding, findings_of, ok, results_folder


def states(findings: Iterator[Finding]) -> dict[str, CheckState]:
    return {one.check: one.state for one in findings}


def test_a_check_that_raises_fails_alone() -> None:
    def broken() -> Iterator[Finding]:
        raise RuntimeError("no luck")
        yield

    found = findings_of([("one", broken), ("two", lambda: [ok("two", "fine")])])
    assert [(one.check, one.state) for one in found] == [("one", CheckState.FAILS), ("two", CheckState.OK)]
    assert "no luck" in found[0].found


def test_this_installation_works() -> None:
    checks = (machine.versions, machine.models, machine.parser, machine.extras, machine.machine)
    assert [one for check in checks for one in check() if one.state is CheckState.FAILS] == []


def test_a_dependency_in_a_wrong_version_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["numpy<1", "no-such-package>=1", "rich", "x; extra == 'y'"]
    monkeypatch.setattr(machine, "requires", lambda _: needed)
    found = next(one for one in machine.versions() if one.check == "dependencies")
    assert found.state is CheckState.FAILS
    assert "numpy is" in found.found and "no-such-package>=1 is not installed" in found.found


@pytest.mark.parametrize(("there", "state"), [(True, CheckState.OK), (False, CheckState.ADVICE)])
def test_a_machine_without_a_font_for_japanese_gets_advice(
    there: bool, state: CheckState, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.has_east_asian_font() in (True, False)
    monkeypatch.setattr(machine, "has_east_asian_font", lambda: there)
    assert states(machine.fonts()) == {"fonts": state}


def test_changed_weights_fail_with_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights" / "sentences").mkdir(parents=True)
    weights = tmp_path / "weights" / "reader"
    weights.mkdir(parents=True)
    (weights / "body.safetensors").write_bytes(b"changed")
    (weights / "model.json").write_text(json.dumps({"files": {"body.safetensors": "0" * 64}}))
    monkeypatch.setattr(machine, "SHIPPED", weights)
    reader, sentences = machine.models()
    assert (reader.state, sentences.state) == (CheckState.FAILS, CheckState.FAILS)
    assert "body.safetensors" in reader.found


@pytest.mark.parametrize(("free", "state"), [(1 << 28, "fails"), (1 << 30, "advice"), (8 << 30, "ok")])
def test_little_memory_is_told(monkeypatch: pytest.MonkeyPatch, free: int, state: str, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "_memory_of_machine", lambda: (free, 16 << 30))
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    assert states(machine.machine())["memory"] == state


def test_the_memory_of_a_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text(f"{1 << 30}\n")
    (tmp_path / "memory.current").write_text(f"{900 << 20}\n")
    monkeypatch.setattr(machine, "_memory_of_machine", lambda: (8 << 30, 16 << 30))
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    found = next(one for one in machine.machine() if one.check == "memory")
    assert (found.state, found.found) == (CheckState.FAILS, "124 MiB free of 1.0 GiB")


def test_a_folder_is_free_or_in_use_or_none(tmp_path: Path) -> None:
    assert states(results_folder(tmp_path / "new" / "out"))[f"folder {tmp_path / 'new' / 'out'}"] == CheckState.OK
    (tmp_path / "file").write_text("")
    assert states(results_folder(tmp_path / "file"))[f"folder {tmp_path / 'file'}"] == CheckState.FAILS
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    assert states(results_folder(tmp_path / "other"))["results"] == CheckState.FAILS


def test_full_disk_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "NO_DISK", 1 << 60)
    assert machine.disk("disk", tmp_path, "free some").state is CheckState.FAILS
