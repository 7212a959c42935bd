"""The files for containers keep what docs/production.md says, as far as it shows without building an image."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from typing import Any

import pytest
import yaml
from tests.support import ROOT
from tests.support.documentation import check_cinnabar, fences
from tests.support.import_graph import FOLDERS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
PAGE = ROOT / "docs" / "production.md"
OURS = sorted(name for name, one in COMPOSE["services"].items() if "cinnabar" in one["image"])


def instructions() -> list[tuple[str, str]]:
    lines = re.sub(r"^#.*\n", "", CONTAINERFILE, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def last_stage() -> list[tuple[str, str]]:
    found = instructions()
    return found[max(number for number, (word, _) in enumerate(found) if word == "FROM") :]


def test_the_image_runs_as_a_numbered_user_who_is_not_root() -> None:
    assert [rest for word, rest in last_stage() if word == "USER"] == ["10001:10001"]
    assert last_stage()[-2:] == [("ENTRYPOINT", '["cinnabar"]'), ("CMD", '["--help"]')]


def test_no_image_is_named_without_its_release() -> None:
    images = [one["image"] for one in COMPOSE["services"].values()]
    images += re.findall(r"^ARG BASE=(.+)$", CONTAINERFILE, re.MULTILINE)
    assert len(images) == 6 and not [one for one in images if ":" not in one or "latest" in one]
    versions = re.findall(r"cinnabar:(?:\$\{CINNABAR_VERSION:-)?([\d.]+\d)", PAGE.read_text("utf-8") + str(COMPOSE))
    assert set(versions) == {PROJECT["version"]}


def test_every_copied_file_exists_and_the_context_holds_only_what_a_wheel_needs() -> None:
    copied = [rest.split() for word, rest in instructions() if word == "COPY"]
    assert copied[0] == [".", "."] and all(one[0] == "--from=build" for one in copied[1:])
    assert not [word for word, _ in last_stage() if word == "RUN"]
    lines = (ROOT / ".dockerignore").read_text("utf-8").split("\n")
    assert lines[1] == "*"
    context = {line[1:] for line in lines if line.startswith("!")}
    assert sorted(name for name in context if not (ROOT / name).exists()) == []
    assert {*FOLDERS, "src", "pyproject.toml", "setup.py", "constraints.txt"} <= context
    assert not context & {"secrets", ".git", "runs", "tests", "docs"}


def test_the_extras_of_the_image_exist_and_are_those_of_its_services() -> None:
    (extras,) = re.findall(r"^ARG EXTRAS=(.+)$", CONTAINERFILE, re.MULTILINE)
    assert {"flows", "server", "ocr"} <= set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("name", OURS)
def test_a_service_is_read_only_without_capabilities_and_without_a_secret_in_its_settings(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["tmpfs"] == ["/tmp"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert not [one for one in service.get("environment", {}) if "PASSWORD" in one and not one.endswith("_FILE")]


def test_secrets_and_volumes_are_named_once_and_used() -> None:
    services = COMPOSE["services"].values()
    used = {secret for one in services for secret in one.get("secrets", ())}
    assert used == set(COMPOSE["secrets"])
    assert all(one["file"].startswith("./secrets/") for one in COMPOSE["secrets"].values())
    assert "/secrets/" in (ROOT / ".gitignore").read_text("utf-8").split()
    mounted = {volume.split(":")[0] for one in services for volume in one.get("volumes", ())}
    assert {one for one in mounted if not one.startswith("./")} == set(COMPOSE["volumes"])


def test_the_commands_of_services_and_of_the_page_exist() -> None:
    check_cinnabar(["cinnabar", *COMPOSE["services"]["serve"]["command"]])
    text = "\n".join(fence.text.replace("\\\n", " ") for fence in fences(PAGE))
    shown = re.findall(r"cinnabar:[\d.]+ ((?:extract|status) .*)$", text, re.MULTILINE)
    assert len(shown) == 2
    for arguments in shown:
        check_cinnabar(["cinnabar", *shlex.split(arguments)])
    deployed = re.findall(r"--name (\S+)", COMPOSE["services"]["deploy"]["command"][0])
    named = [one["name"] for one in yaml.safe_load((ROOT / "prefect.yaml").read_text("utf-8"))["deployments"]]
    assert set(deployed) <= set(named)


@pytest.mark.parametrize("name", ["container.sh", "check_container.sh"])
def test_the_scripts_are_shell_that_can_be_read(name: str) -> None:
    script = ROOT / "scripts" / name
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)
