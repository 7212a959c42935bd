"""A model behind a server, from the command line: its demands, its output, its cost and its secrecy."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from tests.support import mercury_server as mercury

from cinnabar.apps.cli.main import run
from cinnabar.extraction.store.reading import query

Captured = pytest.CaptureFixture[str]
MERCURY = ["--model", "mercury-2"]


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    folder = tmp_path / "letters"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text(f"author=Anna {number}\nday=2024-05-0{number + 1}\n")
    (tmp_path / "note.json").write_text(
        '{"title": "note", "type": "object", "properties": {"author": {"type": ["string", "null"]},'
        '"day": {"type": ["string", "null"], "format": "date"}}, "required": ["author", "day"]}'
    )
    return folder


def arguments(letters: Path, out: str = "out", *more: str) -> list[str]:
    root = letters.parent
    return ["extract", str(letters), "--schema", str(root / "note.json"), "--out", str(root / out), *more]


def row(folder: Path, **settings: object) -> None:
    """Writes the row of Mercury into the settings of a folder."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    (folder / "cinnabar.toml").write_text("\n".join(['[models."mercury-2"]', *lines]))


def test_the_cost_is_printed_before_and_after_reading(letters: Path, server: mercury.Server, capsys: Captured) -> None:
    asked = arguments(letters, "out", *MERCURY, "--effort", "low", "--json")
    assert run(asked) == 0
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert (summary["written"], summary["usage"]["requests"]) == (6, 6)
    assert Decimal(summary["usage"]["cost"]) == server.cost > 0
    assert "6 documents, about $0.00" in said.err and "tokens in" in said.err
    assert {body["reasoning_effort"] for body in server.bodies} == {"low"}
    sql = "select input_tokens, cached_tokens, output_tokens, cost, usage from runs"
    ((inputs, cached, outputs, cost, usage),) = query(letters.parent / "out", sql).rows
    totals = [sum(getattr(e, name) for e in server.charged) for name in ("input", "cached", "output")]
    assert [inputs, cached, outputs] == totals and cost == server.cost
    assert json.loads(usage)["model"] == "mercury-2"
    assert run(asked) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 6 and len(server.bodies) == 6


def test_a_spent_budget_stops_the_run_and_another_run_resumes(
    letters: Path, server: mercury.Server, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(letters.parent)
    row(letters.parent, concurrency=1)
    asked = arguments(letters, "out", *MERCURY)
    assert run([*asked, "--budget", "0"]) == 0
    said = capsys.readouterr()
    assert server.bodies == [] and "6 left for lack of budget" in said.out and "about $" in said.err
    left = query(letters.parent / "out", "select max(detail) from outcomes where code = 'budget'").rows[0][0]
    for form in ([], ["--json"]):
        assert run(["sql", "select cost from runs", "--out", str(letters.parent / "out"), *form]) == 0
        told = capsys.readouterr().out
        assert "0.000000000000" in told and "0E" not in told
    most = re.search(r"may cost \$([\d.]+)", left)
    assert most is not None
    budget = Decimal(most[1]) + Decimal("0.0001")  # each costs about 0.00004
    assert run([*asked, "--budget", str(budget), "--max-error-rate", "0", "--json"]) == 0
    some = json.loads(capsys.readouterr().out)
    assert 0 < some["written"] < 6 and some["written"] + some["usage"]["left"] == 6
    assert Decimal(some["usage"]["cost"]) <= budget
    assert run([*asked, "--budget", "5.00"]) == 0
    said = capsys.readouterr()
    assert "cost" in said.out and "$0.000" in said.out
    assert len(server.bodies) == 6


def test_a_budget_too_small_for_one_request_names_the_least_amount(
    letters: Path, server: mercury.Server, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(letters.parent)
    row(letters.parent, concurrency=1)
    asked = arguments(letters, "out", *MERCURY)
    assert run([*asked, "--budget", "0.003"]) == 0
    said = capsys.readouterr()
    assert server.bodies == [] and "6 left for lack of budget: a request may cost $0.0" in said.out
    room = re.search(r"may cost up to (\$0\.00\d\d), so all need a --budget of about \$(0\.00\d\d)", said.err)
    assert room is not None and room[1] in said.err
    assert run([*asked, "--budget", room[2]]) == 0
    assert "lack of budget" not in capsys.readouterr().out and len(server.charged) == 6


def test_the_key_appears_nowhere_but_in_the_request(
    letters: Path, server: mercury.Server, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CINNABAR_DEBUG", "1")
    server.fault = mercury.drawn(0.4, 2, ("500", "cut within", "no json"))
    asked = arguments(letters, "out", *MERCURY)
    assert run(asked) == 0
    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY + "-other")
    assert run(arguments(letters, "refused", *MERCURY)) == 1
    said = capfd.readouterr()
    # No second attempt would fare better.
    assert "refused the key in INCEPTION_API_KEY" in said.err and "attempt 1" not in said.err
    files = [path.read_bytes() for path in letters.parent.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert not any(b"CANARY" in text for text in [*files, said.out.encode(), said.err.encode()])
    assert all("CANARY" in headers["authorization"] for headers in server.headers)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (MERCURY, "INCEPTION_API_KEY"),
        (["--escalate-to", "mercury-2"], "INCEPTION_API_KEY"),
        (["--escalate-to", "elsewhere"], "expected mercury-2, openai:NAME, a fetched language model"),
        (["--below", "0.5"], "--escalate-to"),
        (["--budget", "5"], "expected mercury-2 or openai:NAME"),
        ([*MERCURY, "--budget", "five"], "expected dollars"),
        ([*MERCURY, "--prices", "1,2,3"], '--prices is gone: a row [models."NAME"] in cinnabar.toml'),
        ([*MERCURY, "--escalate-to", "mercury-2"], "expected a local --model"),
    ],
)
def test_wrong_use_is_an_error_before_any_work(
    more: list[str], said: str, letters: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INCEPTION_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert run(arguments(letters, "out", *more)) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not (letters.parent / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[models."mercury-2"]\nprices = "1,2"', "prices 1,2: expected INPUT,CACHED,OUTPUT"),
        ('[models."mercury-2"]\nbase_url = "nowhere"', "base_url: expected an address such as https://host/v1"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_before_any_work(
    text: str, said: str, letters: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    monkeypatch.chdir(letters.parent)
    Path("cinnabar.toml").write_text(text)
    assert run(arguments(letters, "out", *MERCURY)) == 2
    told = capsys.readouterr().err
    assert said in told.splitlines()[-1] and not (letters.parent / "out").exists()


def test_an_unencrypted_server_address_gives_a_warning(
    letters: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    monkeypatch.setenv("INCEPTION_BASE_URL", "http://server.invalid/v1")
    assert run(arguments(letters, "out", *MERCURY, "--budget", "0")) == 0
    assert "unencrypted" in capsys.readouterr().err


def test_any_server_that_speaks_the_protocol_can_be_asked(
    letters: Path, server: mercury.Server, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", mercury.KEY)
    monkeypatch.chdir(letters.parent)
    server.listed = [{"id": "gemma", "max_model_len": 32_000}]
    Path("cinnabar.toml").write_text(f'[models."openai:gemma"]\nbase_url = "{server.url}"\n')
    asked = arguments(letters, "out", "--model", "openai:gemma", "--json")
    assert run(asked) == 0
    said = capsys.readouterr()
    assert "prices" in said.err
    usage = json.loads(said.out)["usage"]
    assert usage["cost"] is None and usage["requests"] == 6
    assert {(body["model"], "reasoning_effort" in body) for body in server.bodies} == {("gemma", False)}
    with Path("cinnabar.toml").open("a") as file:
        file.write('prices = "1,0.5,2"\n')
    assert run([*asked, "--budget", "5"]) == 0


def test_eval_names_documents_left_by_the_budget_and_refuses_an_unused_budget(
    letters: Path, server: mercury.Server, capsys: Captured
) -> None:
    folder = letters.parent
    (folder / "schema.json").write_text((folder / "note.json").read_text())
    (folder / "truth.jsonl").write_text('{"file": "letters/0.txt", "truth": {"author": "Anna 0"}}\n')
    scored = ["eval", str(folder)]
    assert run([*scored, *MERCURY, "--budget", "0.001"]) == 0
    assert "lack of budget: a request may cost" in capsys.readouterr().err and server.bodies == []
    assert run([*scored, "--budget", "1"]) == 2
    assert "--budget: expected mercury-2 or openai:NAME with it" in capsys.readouterr().err
    assert run([*scored, *MERCURY, "--without", "proximity"]) == 2
    assert "mercury-2 has no rules that can be switched off" in capsys.readouterr().err
