"""The commands of the first minutes: init and doctor."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cinnabar.apps.cli.main import run
from cinnabar.extraction.maintenance.diagnosis import installation

ROOT = Path(__file__).resolve().parents[3]
CaptureResult = pytest.CaptureFixture[str]


def asked(capsys: CaptureResult, *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_init_makes_a_project_that_is_read_with_its_own_next_command(
    tmp_path: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = asked(capsys, "init", "my parcels")
    assert sorted(str(path.relative_to("my parcels")) for path in Path("my parcels").rglob("*") if path.is_file()) == [
        "README.md", "cinnabar.toml", "documents/parcel-1042.txt", "prefect.yaml", "schema.yaml",
    ]  # fmt: skip
    assert made["next"] == ["cd 'my parcels'", "cinnabar extract", "cinnabar status"]
    monkeypatch.chdir("my parcels")
    assert run(["extract"]) == run(["status"]) == 0
    assert " 2.400 " in capsys.readouterr().out, "decimals are as the schema says"
    (shown,) = asked(capsys, "show", "parcel-1042.txt")
    assert shown["record"] == {
        "parcel": "NK 7730 1182", "delivered_on": "2026-03-14", "received_by": "M. Albrecht", "weight": 2.4,
        "service": "express",
        "contents": [{"article": "Copper kettle", "quantity": 1}, {"article": "Tea towel, linen", "quantity": 4}],
    }  # fmt: skip


def test_init_never_overwrites(tmp_path: Path, capsys: CaptureResult) -> None:
    (tmp_path / "schema.yaml").write_text("mine")
    (tmp_path / "README.md").symlink_to("nowhere")
    made = asked(capsys, "init", str(tmp_path))
    assert [Path(name).name for name in made["kept"]] == ["schema.yaml", "README.md"]
    assert (tmp_path / "schema.yaml").read_text() == "mine"
    assert len(asked(capsys, "init", str(tmp_path))["kept"]) == 5
    (tmp_path / "file").write_text("")
    assert run(["init", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_deployment_of_a_project_names_the_parameters_of_the_flow(tmp_path: Path, capsys: CaptureResult) -> None:
    from cinnabar.flows.extract import extract_folder

    folder = tmp_path / 'a "quoted" folder'
    asked(capsys, "init", str(folder))
    (deployment,) = yaml.safe_load((folder / "prefect.yaml").read_text("utf-8"))["deployments"]
    assert deployment["entrypoint"] == "cinnabar.flows.extract.extract_folder"
    assert deployment["parameters"] == {
        "paths": [str(folder / "documents")],
        "record_schema": str(folder / "schema.yaml"),
        "out": str(folder / "tables"),
    }
    assert set(deployment["parameters"]) <= set(extract_folder.parameters.properties)


def test_the_commands_of_a_projects_readme_run(
    tmp_path: Path, capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(capsys, "init", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    first = re.findall(r"```sh\n(.*?)```", Path("README.md").read_text("utf-8"), re.DOTALL)[0]
    for line in first.splitlines():
        assert run(shlex.split(line)[1:]) == 0, line


def test_doctor_checks_this_installation(capsys: CaptureResult, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(capsys, "doctor")
    assert found["works"] and {one["state"] for one in found["checks"]} == {"ok"}
    monkeypatch.setattr(installation, "requires", lambda _: ["no-such-package>=1"])
    assert run(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "no-such-package>=1 is not installed" in " ".join(told.split())
    # Without a terminal, as in a pipe, it keeps to 80 characters.
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.slow
def test_six_commands_lead_from_a_clone_to_a_record(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "index.md").read_text("utf-8")
    commands = re.findall(r"```sh\n(git clone.*?)```", page, re.DOTALL)[0].strip().splitlines()
    assert len(commands) == 6
    here = tmp_path
    for command in commands:
        words = shlex.split(command.replace("<this repository>", shlex.quote(f"file://{ROOT}")))
        if words[0] == "make":  # these tests run in an environment that is set up
            program = tmp_path / "cinnabar" / ".venv" / "bin" / "cinnabar"
            program.parent.mkdir(parents=True)
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cinnabar.apps.cli.main "$@"\n')
            program.chmod(0o755)
            continue
        if words[0] == "cd":
            here = here / words[1]
            continue
        done = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "NK 7730 1182" in done.stdout
