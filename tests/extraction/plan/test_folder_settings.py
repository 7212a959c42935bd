"""`cinnabar.toml` of the working folder: what it sets; a wrong setting is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from cinnabar.apps.cli import options
from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.plan.folder_settings import FILE, FolderSettings, folder_settings
from cinnabar.extraction.plan.left_options import LEFT_OPTIONS
from cinnabar.extraction.plan.run_options import OPTIONS, RUN_SETTINGS

WHOLE = """
schema = ["invoice", "receipt.json"]
inbox = "in"
results = "tables"
model = "auto"
steps = 3
max_seconds = 60
[models.mercury-2]
concurrency = 2
[models."openai:mine"]
base_url = "https://models.example.org/v1"
prices = "1,0.5,2"
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_no_file_sets_nothing() -> None:
    assert folder_settings() == FolderSettings()


def test_it_sets_what_a_command_does_not_say(capsys: pytest.CaptureFixture[str]) -> None:
    Path(FILE).write_text(WHOLE)
    found = folder_settings()
    assert (found.schema, found.inbox, found.results) == (("invoice", "receipt.json"), ("in",), Path("tables"))
    plan = options.plan_of(found.schema, found.results, model=None, escalate_to=None, budget="1")
    assert (plan.model, plan.options.steps, plan.options.max_seconds, plan.budget) == ("auto", 3, 60, "1")
    assert plan.route and found.models["mercury-2"] == {"concurrency": 2}
    assert capsys.readouterr().err == ""
    assert options.plan_of(["invoice"], None, model="reader", escalate_to="openai:mine").model == "reader"
    assert "documents go to https://models.example.org/v1, as cinnabar.toml says" in capsys.readouterr().err


WRONG: list[tuple[str, str]] = [
    ("step = 3", "cinnabar.toml, line 1: step is no setting; did you mean steps?"),
    ("steps = 3\n\n[model]\nname = 3", "model: expected text, got {'name': 3}"),
    ("colour = 3", "line 1: colour is no setting; expected one of schema, inbox, results, model, device"),
    ("steps = 99", "cinnabar.toml: steps: expected 1 to 64, got 99"),
    ('steps = "3"', "steps: expected 1 to 64, got '3'"),
    ("workers = true", "workers: expected at least 1, got True"),
    ('device = "gpu"', "device: expected one of auto, cpu, cuda, got 'gpu'"),
    ("max_seconds = 0", "max_seconds: expected more than 0, got 0"),
    ('model = ""', "model: expected text, got ''"),
    ("inbox = []", "inbox: expected text, or a list of texts, got []"),
    ("schema = [3]", "schema: expected text, or a list of texts, got [3]"),
    ('schema = ["invoice", "own.forms:Bill"]', "schema: expected a name or a file, got own.forms:Bill; code"),
    ('results = ["a", "b"]', "results: expected one folder, got ['a', 'b']"),
    ("models = 3", "models: expected tables such as"),
    ("models.x = 3", "models: expected tables such as"),
    ("[models.x]\nkey = 3", 'line 2: [models."x"] key is no setting; expected one of base_url'),
    ("[models.x]\nconcurrency = 0", '[models."x"] concurrency: expected at least 1, got 0'),
    ("steps = ", "cinnabar.toml: cannot be read: Invalid value (at end of document)"),
]


def test_a_wrong_setting_is_named_with_its_place() -> None:
    for text, said in WRONG:
        Path(FILE).write_text(text)
        with pytest.raises(UsageError) as refused:
            folder_settings()
        assert said in str(refused.value), text


def test_no_settings_file_is_refused_in_words() -> None:
    for content, said in ((b"\xff", "cannot be read"), (b" " * 2_000_000, "got more than 1,048,576 bytes")):
        Path(FILE).write_bytes(content)
        with pytest.raises(UsageError, match=said):
            folder_settings()
    Path(FILE).unlink()
    Path(FILE).mkdir()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        folder_settings()


def test_the_settings_of_a_folder_of_results_are_not_read() -> None:
    Path(FILE).write_text('[models.mercury-2]\nbase_url = "https://elsewhere.example.org/v1"\n')
    Path("manifest").mkdir()
    folder_settings()
    Path("manifest/batch-0000000001.json").write_text("{}")
    with pytest.raises(UsageError, match="settings in a folder of results are not read"):
        folder_settings()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["extract"], "expected PATH, or `inbox` in cinnabar.toml of this folder"),
        (["extract", "in"], "expected --schema S, or `schema` in cinnabar.toml of this folder"),
        (["extract", "in", "--schema", "receipt"], "expected --out DIR, or `results` in cinnabar.toml"),
        (["sql", "select 1"], "expected --out DIR, or `results` in cinnabar.toml of this folder"),
        (["status"], "expected --out DIR, or `results` in cinnabar.toml of this folder"),
        (["extract", "in", "--steps", "3"], "--steps is gone: set `steps` in the cinnabar.toml of the folder"),
    ],
)
def test_a_command_says_where_else_it_looks(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert said in capsys.readouterr().err


def test_each_setting_is_an_option_of_a_run_and_its_left_option_names_it() -> None:
    for name in RUN_SETTINGS:
        assert name in OPTIONS and f"`{name}`" in LEFT_OPTIONS[name].instead
