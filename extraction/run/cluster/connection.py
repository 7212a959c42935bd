"""Joins a Ray cluster, or starts one here, reports a wrong address at once, and checks that the cluster is still there.

Ray ends a process whose cluster is gone, late and without a message.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cinnabar.engine.child_process import python_command
from cinnabar.errors import ClusterGone, UsageError
from cinnabar.extraction.filling.model_sources import RemoteSource
from cinnabar.extraction.run.batch.assignment import Assignment
from cinnabar.extras import check_extra

#: Seconds that a cluster may take to answer.
JOIN_LIMIT = 20.0
# Bytes of the object store for a cluster that is started here. More goes to its disk.
_STORE = 512 << 20

# Ray reads this when it is imported or started; it turns its usage reports off.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}
_HOST_AND_PORT = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d{1,5})")
# Checks in a process of its own that the cluster accepts us: Ray tries for two minutes and then ends the process.
_JOIN = """
import sys, ray
try:
    ray.init(sys.argv[1], logging_level="CRITICAL", log_to_driver=False)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(1)
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that this process has joined; `ray` is the package."""

    address: str
    ray: Any


@contextmanager
def join_cluster(
    address: str | None, assignment: Assignment, *, processors: int | None = None
) -> Iterator[Cluster | None]:
    """Yields the cluster at this address for the block; None without an address.

    `auto` is the cluster that this machine belongs to, HOST:PORT the one with this head, `local` one that is started
    here with all or so many processors and ends with the block. Raises UsageError if the cluster cannot be joined, or
    conflicts with other options: models behind a server, `--engines`.
    """
    if address is None:
        yield None
        return
    check_cluster(address, assignment)
    ray = _import_ray(address)
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": _STORE, "num_cpus": processors}
    gone = False
    try:
        try:
            ray.init(address, **options)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise UsageError(f"--ray {address}: Ray says {message[:300]!r}") from error
        yield Cluster(address, ray)
    except ClusterGone:
        gone = True
        raise
    finally:
        # Without a head Ray's shutdown may take a minute and then end the process, so the error must be reported first.
        # Ray itself shuts down when the process ends.
        if not gone:
            ray.shutdown()


def check_cluster(address: str, assignment: Assignment) -> None:
    """Raises UsageError if the address is malformed, nobody answers there, or other options conflict with it."""
    remote = [isinstance(source, RemoteSource) for source in assignment.sources]
    if any(remote):
        option = "--escalate-to" if any(remote[1:]) else "--model"
        raise UsageError(
            f"--ray: expected only local models, got {option} with one behind a server: its pace,"
            " budget and journal belong to one process, and its limit is the server's, not this machine's;"
            " leave out one of the two"
        )
    if (engines := assignment.options.engines) != "1":
        raise UsageError(
            f"--engines {engines}: expected 1 with --ray, whose cluster decides how many engines it starts; leave out"
            " --engines to use the cluster, or --ray to use this machine alone"
        )
    place = host_and_port(address)
    if address not in ("auto", "local") and place is None:
        raise UsageError(f"--ray {address}: expected auto, local or HOST:PORT")
    check_extra("ray", f"--ray {address}")
    if place is not None:
        _reach(address, *place)
    if address != "local":
        _try_to_join(address)


def host_and_port(address: str) -> tuple[str, int] | None:
    """Returns host and port of such an address; None for another text."""
    match = _HOST_AND_PORT.fullmatch(address)
    return match and (match["six"] or match["host"], int(match["port"]))


def _import_ray(address: str) -> Any:
    os.environ.update(_QUIET)
    # The ports of a cluster are open to the network: without a token anybody could run code here. Ray reads the
    # variables when it is imported, and uses them for all clusters of this process.
    if address == "local" and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    return import_module("ray")


def _reach(address: str, host: str, port: int) -> None:
    try:
        socket.create_connection((host, port), timeout=JOIN_LIMIT).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UsageError(
            f"--ray {address}: no answer ({reason});"
            " expected the address that `ray start --head` shows"
        ) from None


def _try_to_join(address: str) -> None:
    """Tries to join in a process of its own, which can be ended."""
    command = python_command("-c", _JOIN, address)
    advice = "this machine has to belong to the cluster: `ray start --address=HOST:PORT` joins it"
    try:
        done = subprocess.run(
            command, env=os.environ | _QUIET, capture_output=True, text=True, timeout=JOIN_LIMIT, check=False
        )
    except subprocess.TimeoutExpired as late:
        refused = b"Unauthenticated" in (late.stderr or b"")
        if refused:
            raise UsageError(f"--ray {address}: the cluster wants another RAY_AUTH_TOKEN") from None
        message = f"no Ray cluster answers within {JOIN_LIMIT:g} s"
        raise UsageError(f"--ray {address}: {message}; {advice}") from None
    if done.returncode:
        message = (done.stdout.strip() or f"exit status {done.returncode}").splitlines()[0]
        raise UsageError(f"--ray {address}: Ray says {message[:300]!r}; {advice}")


#: Seconds that the head may be away, because it may restart. Ray ends the process after 60.
HEAD_GRACE = 30.0
# Seconds that an answer may take.
_ANSWER = 2.0


class Heartbeat:
    """Checks if Ray on this machine and the head of the cluster answer."""

    def __init__(self, cluster: Cluster) -> None:
        context = cluster.ray.get_runtime_context()
        own = context.get_node_id()
        (here,) = [node for node in cluster.ray.nodes() if node["NodeID"] == own]
        self._address = cluster.address
        self._here = here["NodeManagerAddress"], int(here["NodeManagerPort"])
        self._head = host_and_port(context.gcs_address)
        self._heard = time.monotonic()

    def check(self) -> None:
        """Raises ClusterGone if Ray has ended on this machine, or its head has been away for too long."""
        # Otherwise Ray would next send through a closed connection and end this process.
        if _problem(*self._here) == "Connection refused":
            raise self._lost("Ray has ended on this machine")
        problem, now = self._head and _problem(*self._head), time.monotonic()
        if not problem:
            self._heard = now
        elif now - self._heard > HEAD_GRACE:
            raise self._lost(f"its head has not answered for {HEAD_GRACE:g} s ({problem})")

    def _lost(self, what: str) -> ClusterGone:
        advice = "committed batches are kept; run the same command again once the cluster is there"
        return ClusterGone(f"--ray {self._address}: the cluster is gone: {what}; {advice}")


def _problem(host: str, port: int) -> str:
    """Returns the reason why nobody answers there; "" if somebody does."""
    try:
        socket.create_connection((host, port), timeout=_ANSWER).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return ""
