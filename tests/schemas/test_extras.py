"""Optional extras: the core works without them, and each that is missing is named with the command and the pip line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.support import import_graph
from tests.support.cases import each

from cinnabar import extras
from cinnabar.errors import UsageError
from cinnabar.extras import EXTRAS, check_extra, install_line

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# An extra, a use that needs it, and what the error names as asked for.
USES = [
    ("flows", "flows serve README.md --schema event --out {out}/tables", "cinnabar flows serve"),
    ("flows", "extract README.md --schema event --out {out}/tables --flow", "cinnabar extract --flow"),
    ("server", "serve", "cinnabar serve"),
    ("learn", "eval data/samples/receipt", "cinnabar eval"),
    ("learn", "improve --set data/samples/receipt --out {out}/trained", "cinnabar improve"),
    ("models", "model fetch org/name --out {out}/model", "cinnabar model fetch"),
    ("models", "extract README.md --schema event --out {out}/tables --model {language}", "--model {language}"),
    ("mercury", "extract README.md --schema event --out {out}/tables --model mercury-2", "--model mercury-2"),
    ("ray", "extract README.md --schema event --out {out}/tables --ray local", "--ray local"),
    ("ocr", "extract README.md --schema event --out {out}/tables --ocr always", "--ocr always"),
]
# Runs each command in turn, while the modules of its extra cannot be imported.
_RUN = """
import contextlib, io, json, sys
from cinnabar.apps.cli.main import run
for blocked, command in json.loads(sys.argv[1]):
    before = {name: sys.modules.get(name) for name in blocked}
    sys.modules.update(dict.fromkeys(blocked))
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        status = run(command.split())
    print(json.dumps([status, told.getvalue()]))
    for name, module in before.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module
"""
# Imports every module of the product but those of a room, while no module of any extra can be imported.
_IMPORT = """
import importlib, json, sys
blocked, modules = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(blocked))
for name in modules:
    importlib.import_module(name)
"""
# The files that need an extra at their head; nothing imports them before the extra is checked.
ROOMS = (
    "apps/server/", "apps/mcp/", "flows/extract.py", "flows/flow_run.py", "flows/backfill.py",
    "flows/crashed_runs.py", "flows/serve.py", "flows/stored_parameters.py", "flows/tasks.py",
    "extraction/documents/ocr/rapid.py", "extraction/documents/ocr/tesseract.py",
    "extraction/documents/ocr/text_lines.py", "extraction/documents/marks/scanned.py",
)  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """The status and the message of each use, by its words, in one process that lacks the use's extra."""
    out = tmp_path_factory.mktemp("out")
    language = out / "language"
    language.mkdir()
    (language / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}')
    places = {"out": out, "language": language}
    asked = [(list(EXTRAS[extra].modules), command.format(**places)) for extra, command, _ in USES]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(asked)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert not [*out.glob("t*")], "wrong use is reported before any work begins"
    return {
        use[1]: (status, message.replace(str(language), "{language}"))
        for use, (status, message) in zip(USES, found, strict=True)
    }


@each("extra, command, named", USES)
def test_a_missing_extra_is_named_with_what_needs_it_and_the_pip_line(
    extra: str, command: str, named: str, told: dict[str, tuple[int, str]]
) -> None:
    status, message = told[command]
    assert status == 2
    assert message.count("\n") == 1 and named in message and f'pip install "cinnabar-extract[{extra}]"' in message
    if extra != "ocr":
        assert all(name in message for name in EXTRAS[extra].modules.values())


def test_only_the_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "openai" else name)
    with pytest.raises(UsageError, match=r"^--model mercury-2: needs the package openai, not installed here: pip "):
        check_extra("mercury", "--model mercury-2")
    check_extra("ray", "--ray local")


def test_every_extra_is_one_of_pyproject_with_these_distributions() -> None:
    assert install_line("ray") == f'pip install "{PROJECT["name"]}[ray]"'
    core = {re.split(r"[<>=;\[ ]", line)[0] for line in PROJECT["dependencies"]}
    for name, extra in EXTRAS.items():
        listed = {re.split(r"[<>=;\[ ]", line)[0] for line in PROJECT["optional-dependencies"][name]}
        assert set(extra.modules.values()) - core == listed


def test_a_checkout_has_the_packages_of_every_extra_that_users_install() -> None:
    (own,) = (line for line in PROJECT["optional-dependencies"]["dev"] if line.startswith(PROJECT["name"]))
    assert {*EXTRAS} <= {*own.removeprefix(f"{PROJECT['name']}[").removesuffix("]").split(",")}


@pytest.mark.slow
def test_modules_outside_the_rooms_of_extras_import_without_any() -> None:
    core = {re.split(r"[<>=;\[ ]", line)[0] for line in PROJECT["dependencies"]}
    blocked = {module for one in EXTRAS.values() for module, name in one.modules.items() if name not in core}
    # Tokenizers need it.
    blocked -= {"huggingface_hub"}
    modules = [
        module
        for module, path in import_graph.modules().items()
        if not (name := path.relative_to(ROOT).as_posix()).startswith(ROOMS) and not name.endswith("_triton.py")
    ]
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT, json.dumps([sorted(blocked), modules])],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]

