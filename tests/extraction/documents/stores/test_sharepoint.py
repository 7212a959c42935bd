"""Documents of SharePoint, read by msgraphfs from a server of ours that speaks Microsoft Graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support import store_servers
from tests.support.store_servers import SECRET, Graph

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import Input, examine, gather, parse_locations
from cinnabar.extraction.documents.stores.backend import LOGIN, endpoint


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    with store_servers.graph() as found:
        monkeypatch.setenv("CINNABAR_GRAPH_URL", f"{found.url}/v1.0")
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", found.url)
        monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        for name, value in (("CLIENT_ID", "app"), ("TENANT_ID", "t"), ("CLIENT_SECRET", SECRET)):
            monkeypatch.setenv(f"MSGRAPHFS_{name}", value)
        yield found


def found(address: str, out: Path | None = None) -> list[Input]:
    locations = parse_locations([address])
    with ExitStack() as connections:
        return [examine(item, locations) for item in gather(locations, out, connections)]


def test_a_drive_is_listed_over_pages_and_read_once(graph: Graph, tmp_path: Path) -> None:
    names = ["in/a.txt", "in/b%20#.txt", "in/c.txt", "in/deep/er/d.txt", "in/e.txt"]
    for name in [*names, "in/.hidden", "elsewhere.txt"]:
        graph.put(name, name.encode())
    address = "sharepoint://Team/Documents/in"
    graph.busy = 1
    first = found(address, tmp_path)
    assert [one.path for one in first] == [f"sharepoint://Team/Documents/{name}" for name in names]
    assert len({one.digest for one in first}) == 5
    assert [one.digest for one in found(address, tmp_path)] == [one.digest for one in first]
    assert sorted(graph.reads) == names
    graph.put("in/c.txt", b"changed")
    assert found(address, tmp_path)[2].digest != first[2].digest
    assert sorted(graph.reads) == sorted([*names, "in/c.txt"])
    assert [one.path for one in found(f"{address}/b%20#.txt")] == [f"{address}/b%20#.txt"]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sharepoint://Tea/Documents", "expected one site of this name, got 0"),
        ("sharepoint://Team/Papers", "no drive Papers; it has Documents"),
        ("sharepoint://Team/Documents/none", "no such file or folder"),
    ],
)
def test_what_is_not_there_is_told(graph: Graph, address: str, said: str) -> None:  # noqa: ARG001
    with pytest.raises(UsageError, match=said):
        found(address)


@pytest.mark.parametrize("name", ["CINNABAR_GRAPH_URL", "AZURE_AUTHORITY_HOST"])
def test_a_wrong_endpoint_is_told_at_once(graph: Graph, monkeypatch: pytest.MonkeyPatch, name: str) -> None:  # noqa: ARG001
    monkeypatch.setenv(name, "https://hid den")
    with pytest.raises(UsageError, match=f"{name}: expected an address as https://HOST") as refused:
        found("sharepoint://Team/Documents")
    assert "hid" not in str(refused.value)


def test_a_login_without_a_scheme_is_encrypted_and_another_endpoint_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "login.example.org/")
    assert endpoint(*LOGIN) == "https://login.example.org"
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "")
    assert endpoint(*LOGIN) == "https://login.microsoftonline.com"
    monkeypatch.setenv("CINNABAR_GRAPH_URL", "graph.example.org")
    with pytest.raises(UsageError, match="CINNABAR_GRAPH_URL: expected"):
        endpoint("CINNABAR_GRAPH_URL")


def test_missing_and_wrong_credentials_are_told(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.delenv("MSGRAPHFS_CLIENT_SECRET")
    monkeypatch.delenv("AZURE_CLIENT_SECRET", raising=False)
    with pytest.raises(UsageError, match="set MSGRAPHFS_CLIENT_SECRET"):
        found("sharepoint://Team/Documents")
    monkeypatch.setenv("MSGRAPHFS_CLIENT_SECRET", "wr0ng")
    with pytest.raises(UsageError, match="no token for the application") as refused:
        found("sharepoint://Team/Documents")
    assert "wr0ng" not in str(refused.value)
