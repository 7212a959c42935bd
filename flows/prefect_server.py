"""The Prefect server of the flows: its checks and secrets, and a temporary server on this machine.

Functions import Prefect when they need it: `cinnabar.flows.tasks` first sets the environment that Prefect reads.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import SecretStr

from cinnabar.engine.python_process import SAFE_PATH, python_command
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.mailboxes.credential import KeptSecret
from cinnabar.extraction.documents.parser_settings import passwords_in
from cinnabar.extraction.plan.run_options import RunPlan

# The most seconds for a server to start, and to answer.
_START, _ANSWER = 240.0, 5.0
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def secret(name: str, parameter: str = "password_block") -> KeptSecret:
    """Returns the text of this Secret block as a function. Raises UsageError if there is no such block."""
    # Extra: flows.
    from prefect.blocks.system import Secret

    try:
        block = Secret.load(name)
    except ValueError as error:
        advice = "make one in its UI, under Blocks"
        raise UsageError(f"{parameter} {name}: Prefect has no such Secret block; {advice}") from error

    def write(text: str) -> None:
        nonlocal block
        block = Secret(value=SecretStr(text))
        block.save(name, overwrite=True)

    return KeptSecret(f"the Secret block {name}", lambda: str(block.get()), write)  # type: ignore[union-attr]


@contextmanager
def with_environment(block: str | None) -> Iterator[None]:
    """Sets the variables in a Secret block, `NAME=VALUE` one a line, until its end; none without a block.

    Raises UsageError if there is no such block, or a line of it sets no variable.
    """
    lines = [] if block is None else [line.strip() for line in secret(block, "environment_block")().splitlines()]
    pairs = [line.partition("=") for line in lines if line]
    if wrong := [at for at, (name, equals, _) in enumerate(pairs, 1) if not (equals and _VARIABLE.fullmatch(name))]:
        raise UsageError(f"environment_block {block}: expected NAME=VALUE on each line, got another line {wrong[0]}")
    before = {name: os.environ.get(name) for name, _, _ in pairs}
    try:
        os.environ.update({name: value for name, _, value in pairs})
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def check_server() -> str | None:
    """Returns the configured server's address; None if none is configured. Raises UsageError if it does not answer."""
    # Extra: flows.
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if url is None or answers(url):
        return url
    advice = "start it with `prefect server start`, or unset PREFECT_API_URL"
    raise UsageError(f"{url}: no Prefect server answers there; {advice}")


def answers(url: str) -> bool:
    """Returns whether a Prefect server answers at this address."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=_ANSWER) as reply:
            return bool(reply.status == 200)
    # A server that wants a login is a Prefect server too; any other answer or failure is not.
    except urllib.error.HTTPError as error:
        with error:
            return error.code in (401, 403)
    except (OSError, ValueError):
        return False


@contextmanager
def server() -> Iterator[str]:
    """Yields the address of the configured server, else of one on this machine, started if needed.

    A started server ends with the context. Raises UsageError if the configured server does not answer, RunError if
    none starts.
    """
    # Extra: flows.
    from prefect.settings import PREFECT_API_URL, PREFECT_SERVER_API_PORT, temporary_settings

    if (configured := check_server()) is not None:
        yield configured
        return
    port = int(PREFECT_SERVER_API_PORT.value())
    url = f"http://127.0.0.1:{port}/api"
    with temporary_settings({PREFECT_API_URL: url}):
        if answers(url):
            yield url
            return
        with _start(url, port):
            yield url


@contextmanager
def _start(url: str, port: int) -> Iterator[None]:
    command = python_command("-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port))
    null, environment = subprocess.DEVNULL, os.environ | SAFE_PATH
    with (
        tempfile.TemporaryFile() as log,
        # A session of its own: the terminal's interrupt then ends the flow first, and the flow ends the server.
        subprocess.Popen(
            command, stdin=null, stdout=log, stderr=log, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            deadline = time.monotonic() + _START
            while not answers(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    last = log.read().decode("utf-8", "replace").strip().splitlines()[-1:]
                    raise RunError(f"the Prefect server did not start: {''.join(last) or 'no answer'}")
                time.sleep(0.2)
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def with_passwords(plan: RunPlan, block: str | None) -> RunPlan:
    """Returns the plan with the passwords of encrypted documents in a Secret block, one a line, if one is named."""
    if block is None:
        return plan
    return plan.model_copy(update={"options": plan.options.with_passwords(passwords_in(secret(block)()))})
