"""What somebody names in place of a model's folder is told in one line, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.filling.run_models import sources_of
from cinnabar.extraction.plan.run_options import RunPlan


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("llama.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    Path("blob").write_bytes(b"GGUF\x03\x00\x00\x00")
    for folder, file in (("gguf", "llama.gguf"), ("lora", "adapter_config.json"), ("plain", "notes.txt")):
        Path(folder).mkdir()
        (Path(folder) / file).write_text("{}")
    inner = Path("models--org--name/snapshots/0a1b")
    inner.mkdir(parents=True)
    (inner / "config.json").write_text("{}")
    Path("model.safetensors").write_bytes(b"\0" * 8)
    Path("a.txt").write_text("name=Anna")
    return tmp_path


NAMED = [
    ("llama.gguf", "expected a GGUF file, and it has 8 bytes"),
    ("blob", "expected a GGUF file, and it has 8 bytes"),
    ("gguf", "this folder holds a GGUF file; name the file itself: gguf/llama.gguf"),
    ("qwen2.5-coder-1.5b", "`cinnabar model fetch qwen2.5-coder-1.5b` brings it"),
    ("lora", "this is a LoRA folder (adapter_config.json)"),
    ("lora/adapter_config.json", "this is a LoRA folder (adapter_config.json)"),
    ("models--org--name", "name the model within it: models--org--name/snapshots/0a1b"),
    ("model.safetensors", "a file of weights alone"),
    ("Qwen/Qwen3-0.6B", "`cinnabar model fetch Qwen/Qwen3-0.6B` gets it, then name models/Qwen3-0.6B"),
    ("https://huggingface.co/Qwen/Qwen3-0.6B", "`cinnabar model fetch Qwen/Qwen3-0.6B` gets it"),
    ("hf.co/Qwen/Qwen3-0.6B", "`cinnabar model fetch Qwen/Qwen3-0.6B` gets it"),
    ("llama3:8b", "this is a name of Ollama; a server with OpenAI's interface, such as"),
]


@pytest.mark.parametrize(("name", "said"), NAMED)
@pytest.mark.parametrize("command", ["model check", "extract a.txt --schema receipt --out out --model"])
def test_what_is_no_model_here_is_named_in_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], name: str, said: str, command: str
) -> None:
    assert run([*command.split(), name]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1
    assert not (place / "out").exists()


@pytest.mark.usefixtures("place")
def test_a_stronger_model_is_named_as_well() -> None:
    with pytest.raises(UsageError, match="--escalate-to lora: this is a LoRA folder"):
        sources_of(RunPlan(escalate_to="lora"), "default")


@pytest.mark.parametrize("name", ["plain", "nothing", "/nowhere", "a/b/c"])
@pytest.mark.usefixtures("place")
def test_anything_else_has_the_general_line(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(["model", "check", name]) == 2
    assert "expected a folder with config.json" in capsys.readouterr().err
