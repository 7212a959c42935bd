"""A server of this machine's PostgreSQL in a temporary folder, for tests and benchmarks."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAMS = max(
    Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None, key=lambda found: int(found.parts[-3])
)
#: The program that makes a database; None if there is no PostgreSQL on this machine.
INITDB = shutil.which("initdb") or _PROGRAMS


@contextmanager
def server(method: str = "trust", password: str = "") -> Iterator[str]:
    """Yields the address of a server that ends with the block; `method` is how its one user `tester` logs in."""
    assert INITDB is not None
    folder = Path(tempfile.mkdtemp(prefix="cinnabar-postgresql-"))
    as_other = os.geteuid() == 0  # the server refuses to run as root
    (folder / "password").write_text(f"{password or 'none'}\n")
    if as_other:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def ask(*words: str, check: bool = True) -> None:
        command = ["su", "postgres", "-s", "/bin/sh", "-c", shlex.join(words)] if as_other else [*words]
        subprocess.run(command, check=check, capture_output=True, cwd=folder, timeout=120)

    control, data = str(Path(INITDB).with_name("pg_ctl")), str(folder / "data")
    options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
    try:
        ask(
            str(INITDB), "-D", data, "-U", "tester", f"--auth={method}", "--encoding=UTF8", "--no-sync",
            f"--pwfile={folder / 'password'}",
        )  # fmt: skip
        ask(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        yield f"postgresql://tester@127.0.0.1:{port}/postgres"
    finally:
        ask(control, "-D", data, "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)
