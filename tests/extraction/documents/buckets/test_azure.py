"""Documents in a container of Azurite, Microsoft's own emulator of Azure Blob Storage, where it is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import Input, examine, gather, parse_locations

#: AZURITE names the program `azurite-blob` if it is not on the path.
PROGRAM = os.environ.get("AZURITE") or shutil.which("azurite-blob")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="azurite-blob is not installed (npm install azurite)"),
]
# The account that the emulator is known by.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert PROGRAM is not None
    place = ["--blobPort", str(port), "--location", str(tmp_path_factory.mktemp("azurite"))]
    command = [PROGRAM, *place, "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not _listens(port) and time.monotonic() < deadline:
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/{ACCOUNT}"
        process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return not tried.connect_ex(("127.0.0.1", port))


@pytest.fixture
def put(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    from obstore.store import AzureStore

    for name, value in (("ACCOUNT_NAME", ACCOUNT), ("ACCOUNT_KEY", KEY), ("ENDPOINT", endpoint)):
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    _make_container(endpoint)
    yield AzureStore("box", client_options={"allow_http": True}).put


def _make_container(endpoint: str) -> None:
    """Make the container: obstore makes none, so the request is signed here (Shared Key)."""
    import base64
    import hashlib
    import hmac
    import http.client
    from email.utils import formatdate

    host, date = endpoint.split("/")[2], formatdate(usegmt=True)
    about = f"x-ms-date:{date}\nx-ms-version:2021-08-06\n/{ACCOUNT}/{ACCOUNT}/box\nrestype:container"
    signed = "PUT" + "\n" * 12 + about
    digest = base64.b64encode(hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()).decode()
    connection = http.client.HTTPConnection(host, timeout=20)
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Authorization": f"SharedKey {ACCOUNT}:{digest}"}
    connection.request("PUT", f"/{ACCOUNT}/box?restype=container", headers={**headers, "Content-Length": "0"})
    assert connection.getresponse().status in (201, 409)
    connection.close()


def found(address: str, out: Path | None = None) -> list[Input]:
    locations = parse_locations([address])
    with ExitStack() as connections:
        return [examine(item, locations) for item in gather(locations, out, connections)]


def test_a_container_is_listed_read_and_remembered(put, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for name in ("in/b ü%20#.txt", "in/sub/a.txt", "in/.hidden", "inner/c.txt"):
        put(name, name.encode())
    first = found("az://box/in", tmp_path)
    assert [one.path for one in first] == ["az://box/in/b ü%20#.txt", "az://box/in/sub/a.txt"]
    assert [one.digest for one in found("az://box/in", tmp_path)] == [one.digest for one in first]
    put("in/sub/a.txt", b"changed")
    assert found("az://box/in", tmp_path)[1].digest != first[1].digest


def test_a_missing_container_and_a_wrong_key_are_refused(put: object, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    with pytest.raises(UsageError, match="no such bucket or container"):
        found("az://none/in")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY[::-1].lstrip("="))
    with pytest.raises(UsageError) as refused:
        found("az://box/in")
    assert KEY[::-1].lstrip("=") not in str(refused.value)
