"""The command `cinnabar train`: it refuses wrong use at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run

WRONG = [
    (["{set}", "--out", "{out}", "--minutes", "0"], "--minutes: expected a finite number above 0"),
    (["{set}", "--out", "{out}", "--minutes", "nan"], "--minutes: expected a finite number above 0"),
    (["{set}", "--out", "{out}", "--steps", "0"], "--steps: expected at least 1"),
    (["{set}", "--out", "{out}", "--steps", "9", "--minutes", "1"], "--steps: expected at least 1, without --minutes"),
    (["{none}", "--out", "{out}"], "none: expected folders"),
    (["{empty}", "--out", "{out}"], "empty: expected folders; a set has schema.json"),
    (["{set}", "--out", "{file}"], "expected a folder that can be written"),
    (["{set}", "--out", "{out}", "--model", "{none}"], "expected `default` or a folder with model.json"),
    (["{set}", "--out", "{out}", "--device", "tpu"], "tpu"),
    (["{set}"], "--out"),
    (["--out", "{out}"], "SET"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG)
def test_wrong_use_is_one_line(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny_model: Path
) -> None:
    said = ["train", *(filled(a, tmp_path) for a in arguments)]
    if "--model" not in said:
        said += ["--model", str(tiny_model)]
    assert run(said) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert told in printed.err and printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def filled(argument: str, folder: Path) -> str:
    for name in ("set", "empty"):
        (folder / name).mkdir(exist_ok=True)
    for name in ("schema.json", "truth.jsonl"):
        (folder / "set" / name).write_text("{}")
    (folder / "file").write_text("a file")
    return argument.format(**{name: folder / name for name in ("set", "empty", "out", "none", "file")})


def test_wrong_use_is_an_error_before_torch_is_imported(tmp_path: Path) -> None:
    code = (
        "import json, sys; from cinnabar.apps.cli.main import run\n"
        "for said in json.loads(sys.argv[1]): print(run(['train', *said]), 'torch' in sys.modules)"
    )
    all_of_them = [[filled(a, tmp_path) for a in arguments] for arguments, _ in WRONG]
    command = [sys.executable, "-c", code, json.dumps(all_of_them)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["2 False"] * len(WRONG), done.stderr
