"""The server of Prefect that flows talk to: whether it answers, what it keeps, and one of our own.

Prefect is imported when it is needed: `cinnabar.flows.tasks` sets what it reads from the environment first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cinnabar.schemas.errors import RunError, UsageError

# Seconds that a server may take to start, and to answer.
_START, _ANSWER = 240.0, 5.0


def secret(name: str) -> Callable[[], str]:
    """Gives the text in the Secret block of this name. Raises UsageError where there is none."""
    from prefect.blocks.system import Secret

    try:
        found = Secret.load(name)
    except ValueError as error:
        advice = "make one in its UI, under Blocks"
        raise UsageError(f"password_block {name}: Prefect has no such Secret block; {advice}") from error
    return lambda: str(found.get())  # type: ignore[union-attr]


def check_limit(name: str) -> None:
    """Raise UsageError where Prefect has no global concurrency limit of this name."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            client.read_global_concurrency_limit_by_name(name)
        except ObjectNotFound as error:
            advice = f"make it with `prefect gcl create {name} --limit 1`"
            raise UsageError(f"gpu_limit {name}: no such concurrency limit; {advice}") from error


def check_server() -> str | None:
    """The address of the server that is set; None where none is. Raises UsageError where it is away."""
    from prefect.settings import get_current_settings

    url = get_current_settings().api.url
    if url is None or answers(url):
        return url
    advice = "start it with `prefect server start`, or unset PREFECT_API_URL"
    raise UsageError(f"{url}: no Prefect server answers there; {advice}")


def answers(url: str) -> bool:
    """Whether a server of Prefect answers at this address."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=_ANSWER) as reply:
            return bool(reply.status == 200)
    # Whatever else answers, or does not, is no such server; one that wants a login is.
    except urllib.error.HTTPError as error:
        with error:
            return error.code in (401, 403)
    except (OSError, ValueError):
        return False


@contextmanager
def server(port: int) -> Iterator[str]:
    """The address of a server to work with: the one that is set, else one on this machine, started if needed.

    One that was started ends with the context. Raises UsageError where the one that is set is away,
    RunError where none starts.
    """
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if (found := check_server()) is not None:
        yield found
        return
    url = f"http://127.0.0.1:{port}/api"
    with temporary_settings({PREFECT_API_URL: url}):
        if answers(url):
            yield url
            return
        with _started(url, port):
            yield url


@contextmanager
def _started(url: str, port: int) -> Iterator[None]:
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    null = subprocess.DEVNULL
    with (
        tempfile.TemporaryFile() as log,
        # A session of its own: the terminal's interrupt ends what runs on it first, then the server.
        subprocess.Popen(command, stdin=null, stdout=log, stderr=log, start_new_session=True) as process,
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
