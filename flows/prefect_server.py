"""The Prefect server of the flows: its checks and secrets, and a temporary server on this machine.

Functions import Prefect when they need it: `cinnabar.flows.tasks` first sets the environment that Prefect reads.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import SecretStr

from cinnabar.engine.child_process import SAFE_PATH, python_command
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.mailboxes.credential import KeptSecret

# The most seconds for a server to start, and to answer.
_START, _ANSWER = 240.0, 5.0


def secret(name: str) -> KeptSecret:
    """Returns the text of this Secret block as a function. Raises UsageError if there is no such block."""
    # Extra: flows.
    from prefect.blocks.system import Secret

    try:
        block = Secret.load(name)
    except ValueError as error:
        advice = "make one in its UI, under Blocks"
        raise UsageError(f"password_block {name}: Prefect has no such Secret block; {advice}") from error

    def write(text: str) -> None:
        nonlocal block
        block = Secret(value=SecretStr(text))
        block.save(name, overwrite=True)

    return KeptSecret(f"the Secret block {name}", lambda: str(block.get()), write)  # type: ignore[union-attr]


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
