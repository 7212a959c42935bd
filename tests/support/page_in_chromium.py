"""Opens a file in headless Chromium: what it holds then, what its console said, and what it asked the network for."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-extensions --enable-logging=stderr --v=0"
)
# The browser asks its maker for updates, whatever page it shows.
_OWN = re.compile(r"https?://[a-z0-9.]*\.(googleapis|google|gvt1)\.com/")


@dataclass(frozen=True)
class Opened:
    """The page's DOM as HTML, the messages of its console, and the addresses that were asked for, but for files."""

    dom: str
    console: list[str]
    requests: list[str]


def opened(file: Path, folder: Path) -> Opened:
    """Open this file; `folder` takes the browser's own files. Skips the test where there is no Chromium."""
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("needs Chromium, which is not installed here")
    log = folder / "net.json"
    done = subprocess.run(
        [
            program,
            *_FLAGS.split(),
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--virtual-time-budget=3000",
            "--dump-dom",
            file.absolute().as_uri(),
        ],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=True,
    )
    console = re.findall(r"CONSOLE[:(]\d+\)?\]? ?(.*)", done.stderr)
    content = log.read_text(errors="replace")
    addresses = set(re.findall(r'"url":"((?:https?|wss?|ftp)[^"]*)"', content))
    return Opened(done.stdout, console, sorted(address for address in addresses if not _OWN.match(address)))
