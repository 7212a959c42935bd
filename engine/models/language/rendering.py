"""Renders a chat template in a process of its own, within limits of time and memory.

    python -P -m cinnabar.engine.models.language.rendering SECONDS MEMORY

A template is a program of the checkpoint, and it may loop for ever. The process reads one job from standard input and
writes one answer to standard output, both as JSON objects. It imports neither torch nor the tokenizers.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from cinnabar.engine.child_process import child_environment, python_command
from cinnabar.errors import RunError

#: The limits of the process: seconds of processor time, seconds by the clock, bytes of memory.
SECONDS, WAIT, MEMORY = 5, 60, 1 << 30
#: The most characters of a rendered prompt and of an error.
LONGEST, LONGEST_ERROR = 1_000_000, 300
_OVER = f"it takes more than {SECONDS} seconds or {MEMORY >> 30} GB, or writes more than {LONGEST:,} characters"


class RenderingError(Exception):
    """A template that is broken (`broken`), or that fails or passes a limit with these messages."""

    def __init__(self, detail: str, broken: bool = False) -> None:
        super().__init__(detail)
        self.broken = broken


def render_template(
    source: str, variables: Mapping[str, Any], messages: Sequence[Mapping[str, str]], answer_begins: bool
) -> str:
    """Returns the text that a template makes of messages.

    With `answer_begins` it ends with the beginning of the answer. Raises RenderingError.
    """
    job = {"source": source, "variables": variables, "messages": messages, "answer_begins": answer_begins}
    answer = json.loads(_answer(json.dumps(job, sort_keys=True)))
    if "text" in answer:
        return str(answer["text"])
    raise RenderingError(answer["error"], answer["broken"])


@lru_cache(maxsize=64)
def _answer(job: str) -> str:
    command = python_command("-m", __name__, str(SECONDS), str(MEMORY))
    over = json.dumps({"error": _OVER, "broken": False})
    try:
        done = subprocess.run(
            command, input=job, capture_output=True, text=True, encoding="utf-8", timeout=WAIT, env=child_environment()
        )
    except subprocess.TimeoutExpired:
        return over
    if done.returncode > 0:
        raise RunError(f"the process of chat templates does not run: {done.stderr[-300:]!r}; try `{' '.join(command)}`")
    return over if done.returncode else done.stdout


def _limit(seconds: int, memory: int) -> None:
    """Limits this process: memory, processor time, open files, no bytes written to any file, no core dumps."""
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, 32),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _render(job: Mapping[str, Any], seconds: int, memory: int) -> dict[str, Any]:
    def fail(message: str) -> None:
        raise jinja2.TemplateError(message)

    world = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    world.globals["raise_exception"] = fail
    compiled = False
    _limit(seconds, memory)
    try:
        # This computes what is constant, so it may take as much as the rest.
        template = world.from_string(job["source"])
        compiled = True
        text = template.render(
            job["variables"], messages=job["messages"], add_generation_prompt=job["answer_begins"], tools=None
        )
    except MemoryError:
        return {"error": _OVER, "broken": False}
    except Exception as error:  # the template is a program and may raise anything
        return {"error": _line(error), "broken": not compiled}
    return {"text": text} if len(text) <= LONGEST else {"error": _OVER, "broken": False}


def _line(error: Exception) -> str:
    message = " ".join(str(error)[: 10 * LONGEST_ERROR].split()).rstrip(".") or type(error).__name__
    return message if len(message) <= LONGEST_ERROR else f"{message[:LONGEST_ERROR]}…"


def main() -> None:
    """Reads one job from standard input, and writes its text or its error to standard output."""
    seconds, memory = map(int, sys.argv[1:])
    print(json.dumps(_render(json.load(sys.stdin), seconds, memory)))


if __name__ == "__main__":
    main()
