"""The documentation holds true: links lead somewhere, commands exist, and marked snippets run.

A test runs each fence marked `python run` or `sh run`. The shell snippets of a page find its `json file=NAME` and `text
file=NAME` fences as files in their working directory. Other shell fences are checked word by word.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import each
from tests.support.documentation import (
    FOLDERS,
    PAGES,
    ROOT,
    Fence,
    check_cinnabar,
    check_make,
    check_module,
    cinnabar,
    fences,
    put_files,
    words_of,
)

sys.path.insert(0, str(ROOT / "scripts"))
import command_page

#: Pages that tell of what was, with commands and files of their day.
HISTORY = {
    ROOT / "CHANGELOG.md", ROOT / "training" / "log.md", ROOT / "training" / "results-history.md",
    ROOT / "tests" / "data" / "results_0_3" / "README.md",
}  # fmt: skip
MACHINES = r"(?<![\w./])/(?:work|tmp|home|root|opt|mnt|Users|var)/|file://|\b(?:pypi|huggingface|hf)\.(?:org|co)\b"


def marked(language: str, mark: str) -> list[Any]:
    """Fences of a language with this mark; they are slow but for Python of index.md, whose shell has a test below."""
    found = [f for page in PAGES for f in fences(page) if f.language == language and mark in f.marks]
    slow = (pytest.mark.slow,)
    return [
        pytest.param(f, id=f.name, marks=slow if language == "sh" or f.page.name != "index.md" else ()) for f in found
    ]


def shell_lines(page: Path) -> Iterator[str]:
    for fence in fences(page):
        if fence.language in ("sh", "console", ""):
            yield from fence.text.replace("\\\n", " ").splitlines()
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`((?:cinnabar|make|python -m) [^`\n]+)`", prose)


COMMANDS = sorted({
    (str(page.relative_to(ROOT)), line.strip())
    for page in PAGES
    if page not in HISTORY
    for line in shell_lines(page)
    if words_of(line)[:1] in (["cinnabar"], ["make"], ["python"])
})  # fmt: skip


def anchors(page: Path) -> set[str]:
    """The link targets that a page's headings make."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_problem(page: Path, target: str) -> str:
    path, _, anchor = target.partition("#")
    where = (page.parent / path).resolve() if path else page
    if not where.exists():
        return f"{target}: nothing there"
    if anchor and anchor not in anchors(where):
        return f"{target}: no such heading"
    return ""


@each("page", PAGES)
def test_every_relative_link_resolves(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = [t for t in re.findall(r"\]\(([^)\s]+)\)", prose) if not re.match(r"[a-z]+:", t)]
    assert [problem for target in links if (problem := link_problem(page, target))] == []


@each("page", [page for page in PAGES if page not in HISTORY])
def test_every_named_file_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", page.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_no_machine_or_package_host_is_named() -> None:
    others = [ROOT / name for name in ("Makefile", "pyproject.toml", "constraints.txt", ".ci/run")]
    others += (ROOT / "scripts").glob("*.*")
    wrong = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in [*PAGES, *others]
        for match in re.finditer(MACHINES, page.read_text("utf-8"))
    ]
    assert wrong == []


@each("page, line", COMMANDS)
def test_every_shown_command_exists(page: str, line: str) -> None:  # noqa: ARG001
    words = words_of(line)
    {"make": check_make, "python": check_module, "cinnabar": check_cinnabar}[words[0]](words)


def test_the_page_of_commands_is_what_their_help_makes() -> None:
    assert command_page.PAGE.read_text("utf-8") == command_page.page(), "`make command-page` writes it anew"


def test_every_option_has_an_example_on_a_page() -> None:
    """Of options that several commands have, one command is enough."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    fences = [one for page in pages for one in re.findall(r"```.*?```", page.read_text("utf-8"), re.DOTALL)]
    shown = {word.partition("=")[0] for one in fences for word in one.split() if word.startswith("--")}

    def options(command: Any) -> set[str]:
        own = {one.opts[0] for one in command.params if one.opts[0].startswith("--") and not one.hidden}
        return own.union(*(options(getattr(one, "command", one)) for one in getattr(command, "commands", {}).values()))

    known = options(cinnabar()) - {"--quiet", "--version", "--install-completion", "--show-completion", "--again"}
    assert sorted(known - shown) == []


def test_every_target_is_listed_by_make_help() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE)[0].split()
    assert phony == re.findall(r"^([a-z-]+):.*?## .+$", text, re.MULTILINE)


@pytest.mark.parametrize("fence", marked("python", "run"))
def test_python_snippets_run(fence: Fence, tmp_path: Path) -> None:
    put_files(fence.page, tmp_path)
    # A process of its own, so that its modules and warnings are those of a user.
    code = "\n" * fence.line + fence.text
    program = f"exec(compile({code!r}, {str(fence.page)!r}, 'exec'), {{'__name__': '__main__'}})"
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{fence.name}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("fence", marked("sh", "run"))
def test_shell_snippets_run(fence: Fence, tmp_path: Path) -> None:
    run_shell(fence, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_first_example_reads_all_four_values(
    tmp_path: Path, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINNABAR_PRECISION", precision)
    fence = next(f for f in fences(ROOT / "docs" / "index.md") if f.language == "sh" and "run" in f.marks)
    printed = run_shell(fence, tmp_path)
    assert re.search(r"NK 7730 1182 +2026-03-14 +M\. Albrecht +2\.400\b", printed), printed


def run_shell(fence: Fence, tmp_path: Path) -> str:
    """Runs a shell snippet in a folder with the files of its page, and returns its standard output."""
    put_files(fence.page, tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PREFECT_HOME": str(tmp_path / ".prefect"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["sh", "-eu", "-c", fence.text], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
