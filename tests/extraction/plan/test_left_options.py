"""What is gone is answered by its sentence: on the command line and in Python."""

from __future__ import annotations

import pytest

import cinnabar
from cinnabar.apps.cli.main import run
from cinnabar.apps.cli.options import plan_of
from cinnabar.errors import UsageError
from cinnabar.extraction.plan import left_options
from cinnabar.extraction.plan.left_options import LEFT_COMMANDS, LEFT_OPTIONS, LeftOption
from cinnabar.extraction.plan.run_options import RunOptions

GONE = LeftOption(["none"], "a query does it")


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_options, "LEFT_OPTIONS", {"left_option": GONE})
    monkeypatch.setattr(left_options, "LEFT_COMMANDS", {"model split": "a shell does it", "press": "a shell does it"})


@pytest.mark.usefixtures("gone")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("extract docs --left-option x", "--left-option"),
        ("sql --left-option=x", "--left-option"),
        ("model split a b", "`cinnabar model split`"),
        ("press --help", "`cinnabar press`"),
    ],
)
def test_the_command_line_says_what_to_do_instead(words: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err in {f"cinnabar: {name} is gone: a {one} does it\n" for one in ("query", "shell")}


@pytest.mark.usefixtures("gone")
def test_what_never_was_is_refused_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "--right-option"]) == 2 and run(["pres"]) == 2
    assert "gone" not in capsys.readouterr().err


@pytest.mark.usefixtures("gone")
def test_python_takes_it_at_its_default_only() -> None:
    for same in (["none"], ("none",), None):
        assert RunOptions.model_validate({"left_option": same}) == RunOptions()
    with pytest.raises(UsageError, match="left_option is gone: a query does it"):
        cinnabar.extract([], {"type": "object"}, left_option=["some"])  # type: ignore[call-overload]


def test_a_run_tells_of_a_variable_that_is_read_no_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINNABAR_SMTP", "")
    monkeypatch.setenv("CINNABAR_WEBHOOK_SECRET", "hush")
    plan_of(["receipt"], None)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "CINNABAR_WEBHOOK_SECRET is read no more: " in told and "hush" not in told


def test_every_sentence_is_one_line_that_ends_open() -> None:
    texts = [*LEFT_COMMANDS.values(), *(one.instead for one in LEFT_OPTIONS.values())]
    assert all(one and "\n" not in one and not one.endswith(".") for one in texts)
