"""Checks that a cluster is still there: Ray ends a process whose cluster is gone, late and without a message."""

from __future__ import annotations

import socket
import time

from cinnabar.extraction.run.cluster.connection import Cluster, host_and_port
from cinnabar.schemas.errors import ClusterGone

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
