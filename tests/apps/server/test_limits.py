"""Who may ask, how much, and how the server ends: keys, hosts, bodies, clients, signals and logs."""

from __future__ import annotations

import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.server_process import FORMAT, NAME, ServerProcess, invoice, running

from cinnabar.apps.cli.main import run
from cinnabar.apps.server.bodies import values_of
from cinnabar.apps.server.errors import ApiError
from cinnabar.apps.server.settings import ServerSettings
from cinnabar.errors import UsageError


def error(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) >= {"message", "type", "param", "code"} and answer.headers["x-request-id"]
    return found


def raw(served: ServerProcess, text: str) -> str:
    """What the server answers to these bytes."""
    host, port = served.root.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(text.encode())
        found = connection.recv(65536)
        while found and b"\r\n\r\n" in found and not found.endswith(b"}"):
            found += (piece := connection.recv(65536))
            if not piece:
                break
        return found.decode()


def test_errors_of_routes_have_the_form_of_the_api(served: ServerProcess) -> None:
    assert error(httpx.get(f"{served.url}/nothing"), 404)["code"] == "not_found"
    assert error(httpx.get(f"{served.url}/models/gpt"), 404)["code"] == "model_not_found"
    answer = httpx.get(f"{served.url}/chat/completions")
    assert error(answer, 405)["code"] == "method_not_allowed" and answer.headers["allow"] == "POST"
    plain = httpx.post(f"{served.url}/chat/completions", content=b"{}", headers={"content-type": "text/plain"})
    assert error(plain, 415)["code"] == "unsupported_media_type"
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    assert error(httpx.post(f"{served.url}/chat/completions", content=b"{}", headers=packed), 415)
    for path in ("/docs", "/openapi.json", "/health/"):
        assert httpx.get(f"{served.root}{path}").status_code == 404
    assert error(httpx.post(f"{served.url}/chat/completions/", json={}), 404)["code"] == "not_found"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff", b'{"a": 1, "a": 2}', b"[" * 100_000, b'{"a": "\\ud800"}', b"null"]
)
def test_a_body_that_is_no_json_object_is_refused(served: ServerProcess, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    found = error(httpx.post(f"{served.url}/chat/completions", content=body, headers=headers), 400)
    assert found["code"] == "invalid_json" and found["message"].startswith("the body of the request: ")
    assert len(found["message"]) < 250 and "NoneType" not in found["message"]


def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(served: ServerProcess) -> None:
    body = b'{"a": [' + b"[],".join([b""] * 1_500_000) + b"0]}"
    headers = {"content-type": "application/json"}
    found = error(httpx.post(f"{served.url}/chat/completions", content=body, headers=headers, timeout=60), 413)
    assert found["code"] == "request_too_large" and "values" in found["message"]


def test_a_body_of_a_million_keys_keeps_nobody_waiting(served: ServerProcess) -> None:
    keys = ", ".join(f'"key{at}": 1' for at in range(1_000_000))
    headers = {"content-type": "application/json"}
    for path in ("/chat/completions", "/extract"):
        body = f'{{"model": "{NAME}", "metadata": {{{keys}}}}}'.encode()
        begun = time.monotonic()
        assert error(httpx.post(f"{served.url}{path}", content=body, headers=headers, timeout=60), 413)
        assert time.monotonic() - begun < 10  # it took 49 s when it was parsed


def test_commas_of_a_document_are_no_values(served: ServerProcess) -> None:
    found = error(served.chat('a "b", ' * 150_000), 400)
    assert found["code"] == "context_length_exceeded"
    assert values_of(b'["' + b",{" * 100_000 + b'"]') == 1
    with pytest.raises(ApiError):
        values_of(b'["", ' + b"[], " * 100_000 + b"0]")


def test_the_id_of_a_request_is_the_clients_or_a_new_one(served: ServerProcess) -> None:
    own = httpx.get(f"{served.url}/models", headers={"x-request-id": "mine-1"})
    assert own.headers["x-request-id"] == "mine-1" and own.headers["x-content-type-options"] == "nosniff"
    strange = httpx.get(f"{served.url}/models", headers={"x-request-id": "a b" * 90})
    assert strange.headers["x-request-id"].startswith("req_")


def test_other_hosts_and_pages_of_other_hosts_are_refused(served: ServerProcess) -> None:
    assert error(httpx.get(f"{served.url}/models", headers={"host": "evil.example"}), 421)["code"] == "unknown_host"
    page = {"origin": "https://evil.example"}
    assert error(httpx.get(f"{served.url}/models", headers=page), 403)["code"] == "foreign_origin"
    answer = httpx.options(f"{served.url}/chat/completions", headers=page)
    assert answer.status_code == 403 and "access-control-allow-origin" not in answer.headers
    port = served.root.rpartition(":")[2]
    assert httpx.get(f"{served.url}/models", headers={"host": f"LOCALHOST:{port}"}).status_code == 200
    assert "421" in raw(served, "GET /v1/models HTTP/1.0\r\n\r\n").split("\r\n")[0]


def test_a_request_of_two_lengths_or_of_a_strange_host_or_origin_is_refused(served: ServerProcess) -> None:
    host = served.root.removeprefix("http://")
    both = f"POST /v1/extract HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    told = raw(served, f"{both}0\r\n\r\n")
    assert told.startswith("HTTP/1.1 400") and "invalid_http" in told and "connection: close" in told
    for name in ("[::1].evil", "[::1", "localhost:80@evil"):
        assert raw(served, f"GET /v1/models HTTP/1.1\r\nHost: {name}\r\n\r\n").startswith("HTTP/1.1 421"), name
    for origin in ("http://[::1", "http://[::1].evil", "null"):
        told = raw(served, f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\r\n")
        assert told.startswith("HTTP/1.1 403"), origin


def test_a_broken_body_is_refused_once(served: ServerProcess) -> None:
    host = served.root.removeprefix("http://")
    for path in ("/v1/extract", "/v1/nothing"):
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
        told = raw(served, f"{head}\r\n\r\n-1\r\n")
        assert told.startswith("HTTP/1.1 4") and told.count("content-length") == 1
    assert served.chat().status_code == 200
    assert "Exception" not in "".join(served.log)


def test_a_client_that_leaves_within_its_body_is_no_error_of_the_server(served: ServerProcess) -> None:
    host, port = served.root.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nX-Request-Id: leaves\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    until = time.monotonic() + 90
    while not (found := [line for line in served.log if "leaves" in line]):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert len(found) == 1 and " 499 " in found[0]


def test_health_tells_that_the_server_is_ready(served: ServerProcess) -> None:
    for path in ("/health", "/health/live", "/health/ready"):
        assert httpx.get(f"{served.root}{path}").json()["status"] in ("live", "ready")


def test_no_text_of_a_document_is_logged(served: ServerProcess) -> None:
    assert served.chat("CANARY-4711 Total: 5").status_code == 200
    assert served.chat("CANARY-4711", stop="CANARY-4711").status_code == 400
    httpx.post(f"{served.url}/extract", files={"files": ("CANARY-4711.txt", b"CANARY-4711")}, data={"schema": "{}"})
    httpx.get(f"{served.url}/CANARY-4711")
    time.sleep(0.2)
    assert served.log and "CANARY" not in "".join(served.log)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with a key, which takes two requests of one megabyte."""
    file = tmp_path_factory.mktemp("key") / "key.txt"
    file.write_text("sk-key\n")
    with running("--api-key-file", str(file), "--max-clients", "2", "--max-body", "1") as server:
        yield server


KEY = {"authorization": "Bearer sk-key"}


@pytest.mark.slow
def test_without_the_key_only_the_health_is_told(locked: ServerProcess) -> None:
    for headers in ({}, {"authorization": "Bearer sk-other"}, {"authorization": "Basic sk-key"}):
        answer = httpx.get(f"{locked.url}/models", headers=headers)
        assert error(answer, 401)["code"] == "invalid_api_key" and answer.headers["www-authenticate"] == "Bearer"
    assert httpx.get(f"{locked.root}/health").status_code == 200
    assert httpx.get(f"{locked.url}/models", headers=KEY).status_code == 200


@pytest.mark.slow
def test_a_request_beyond_the_limit_of_bytes_is_refused(locked: ServerProcess) -> None:
    found = error(locked.post("/chat/completions", {"model": NAME, "messages": "x" * (1 << 20)}, headers=KEY), 413)
    assert found["code"] == "request_too_large"
    pieces = (b" " * (1 << 17) for _ in range(12))  # without Content-Length
    headers = KEY | {"content-type": "application/json"}
    assert httpx.post(f"{locked.url}/chat/completions", content=pieces, headers=headers).status_code == 413
    assert locked.chat(headers=KEY) is not None


@pytest.mark.slow
def test_more_clients_than_the_server_takes_are_told_when_to_come_again(locked: ServerProcess) -> None:
    host, port = locked.root.removeprefix("http://").split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer sk-key\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n"
    slow = [socket.create_connection((host, int(port))) for _ in range(2)]
    try:
        for one in slow:
            one.sendall(head.encode())  # and never a body
        until = time.monotonic() + 90
        while httpx.get(f"{locked.root}/health").json()["in_flight"] < 2:
            assert time.monotonic() < until
        answer = httpx.get(f"{locked.url}/models", headers=KEY)
        assert error(answer, 429)["type"] == "rate_limit_error" and answer.headers["retry-after"] == "1"
    finally:
        for one in slow:
            one.close()
    until = time.monotonic() + 90
    while httpx.get(f"{locked.url}/models", headers=KEY).status_code != 200:  # clients that left make room
        assert time.monotonic() < until


def long_text(count: int = 30) -> str:
    return "\n".join(invoice(number) for number in range(100, 100 + count))


def in_flight(server: ServerProcess) -> tuple[threading.Thread, list[httpx.Response]]:
    """A thread that has asked for a long text, which the server is at work on, and where its answer will be."""
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(server.chat(long_text())))
    asking.start()
    until = time.monotonic() + 90
    while not httpx.get(f"{server.root}/health").json()["in_flight"]:
        assert time.monotonic() < until
    return asking, answers


@pytest.mark.slow
def test_a_signal_lets_requests_in_flight_finish_and_refuses_new_ones() -> None:
    with running() as server:
        assert server.chat().status_code == 200
        asking, answers = in_flight(server)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        refused = httpx.get(f"{server.url}/models")
        assert error(refused, 503)["code"] == "shutting_down" and refused.headers["retry-after"]
        assert httpx.get(f"{server.root}/health/ready").status_code == 503
        assert httpx.get(f"{server.root}/health/live").status_code == 200
        asking.join(timeout=60)
        assert answers[0].status_code == 200
        assert server.process.wait(timeout=15) == 0


@pytest.mark.slow
def test_a_second_signal_ends_requests_with_an_error_of_the_api_and_a_clean_log() -> None:
    with running() as server:
        asking, answers = in_flight(server)
        for _ in range(2):
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        assert server.process.wait(timeout=30) == 0
        asking.join(timeout=10)
        assert error(answers[0], 503)["code"] == "shutting_down" and answers[0].headers["retry-after"]
    told = "".join(server.log)
    assert " 503 " in told and "Exception" not in told and "Error" not in told, told


@pytest.mark.slow
def test_a_request_takes_no_longer_than_its_time_and_one_whose_client_left_ends() -> None:
    with running("--timeout", "1.5") as server:
        answer = server.chat(long_text(100))
        assert error(answer, 504)["code"] == "timeout" and answer.headers["x-should-retry"] == "false"
        with pytest.raises(httpx.ReadTimeout):
            body = {"model": NAME, "messages": [{"role": "user", "content": long_text()}], "response_format": FORMAT}
            httpx.post(f"{server.url}/chat/completions", json=body, timeout=0.4)
        until = time.monotonic() + 90
        while not any(" 499 " in line for line in server.log):
            assert time.monotonic() < until
            time.sleep(0.05)


def test_wrong_use_is_told_before_a_model_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_text("\n")
    wrong = {
        "--host 0.0.0.0": "expected --api-key-file",
        "--port 70000": "--port: expected 0 to 65535",
        "--max-clients 0": "--max-clients: expected at least 1",
        "--timeout 0": "--timeout: expected more than 0",
        f"--api-key-file {tmp_path / 'none'}": "cannot be read",
        f"--api-key-file {tmp_path / 'empty'}": "expected one line",
        "--model nothing": "expected `default` or a folder",
        "--schema nothing": "there is no such file",
    }
    for arguments, told in wrong.items():
        assert run(["serve", *arguments.split()]) == 2
        assert told in capsys.readouterr().err, arguments
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert run(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot listen there" in capsys.readouterr().err


def test_names_of_the_server_are_those_of_this_machine_and_those_that_were_given() -> None:
    settings = ServerSettings(host="0.0.0.0", key="k", hosts=("models.example.org",))
    for name in ("localhost:8000", "127.0.0.1", "[::1]:80", "models.example.org", "MODELS.example.org.:8000"):
        assert settings.allows(name)
    wrong = ("", "example.org", "evil.localhost", "[::1", "127.0.0.1.evil.org", "[::1].evil", "[::1]a", "[::1]:80:80")
    for name in (*wrong, "localhost:80@evil", "a@localhost", "localhost:x", "localhost/evil", "::1", "[localhost]"):
        assert not settings.allows(name), name
    for origin in ("http://localhost:3000", "HTTPS://models.example.org", "http://[::1]:80"):
        assert settings.allows_origin(origin)
    for origin in ("null", "", "http://[::1", "http://[::1].evil", "localhost", "file://localhost", "http://", "://"):
        assert not settings.allows_origin(origin), origin
    with pytest.raises(UsageError):
        ServerSettings(host="::")
