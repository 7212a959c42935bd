"""Addresses of stores where a path is expected: one line, and no folder named `s3:`."""

from __future__ import annotations

from pathlib import Path

import pytest

import cinnabar
from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.store.names import check_local

ADDRESSES = ["s3://bucket/x", "S3://bucket", "gs://b/x", "gs:b/x", "az://c/x", "abfss://c@a.example/x", "http://x/y"]


@pytest.mark.parametrize("address", [*ADDRESSES, "anything+more://x", "C:/tables"])
def test_an_address_is_no_path(address: str) -> None:
    for spelled in (address, Path(address)):
        with pytest.raises(UsageError, match=r"--to .*: expected a path of this machine, got an address"):
            check_local(spelled, "--to")


def test_file_addresses_are_told_as_the_path_they_mean() -> None:
    with pytest.raises(UsageError, match=r"--out file:///data/t: expected a path without file:, such as /data/t"):
        check_local(Path("file:///data/t"))


@pytest.mark.parametrize("path", ["tables", "a:b/x", "2026:01/x", "/x/s3:/y", "./notes: old", "s3", "", ".", "x/s3:/y"])
def test_other_names_with_colons_are_paths(path: str) -> None:
    check_local(path)
    check_local(Path(path))


@pytest.mark.parametrize(
    "command",
    [
        "extract mail.txt --schema invoice --out {}",
        "backfill --schema invoice --out {}",
        "show x --out {}",
        "export invoice --out {}",
        "export invoice --out here --to {}",
        "sql select --out {}",
        "review --out {}",
        "status report --out here --to {}",
        "status --out {}",
        "verify --out {}",
        "forget x --out {} --yes",
        "correct x --out {}",
        "improve invoice --out {}",
        "quarantine list --out {}",
        "init {}",
        "serve --out {}",
        "flows serve mail.txt --schema invoice --out {}",
        "model fetch some/model --out {}",
        "eval set --predictions {}",
    ],
)
def test_every_command_refuses_an_address_in_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("s3://bucket/x", "file:///tmp/x"):
        assert run([part.strip("'") for part in command.format(address).split()]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and f"{address}: expected a path" in told
    assert not [*tmp_path.iterdir()]


def test_an_export_to_a_database_names_the_recipe_and_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    for to in ("delta:x", "postgresql://me:geheim@host/x"):
        assert run(["export", "--out", "here", "--to", to]) == 2
        told = capsys.readouterr().err
        assert f"--to {to.partition(':')[0]}:…: expected a file; docs/recipes.md" in told and "geheim" not in told


def test_python_refuses_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for ask in (
        lambda: cinnabar.extract("mail.txt", "invoice", out="s3://bucket/x"),
        lambda: cinnabar.read("s3://bucket/x"),
    ):
        with pytest.raises(UsageError, match="s3://bucket/x: expected a path of this machine"):
            ask()
    assert not [*tmp_path.iterdir()]
