"""Traces and metrics of a run reach a collector, hold nothing of a document, and cost nothing while they are off."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.notification_receivers import told_run, write

from cinnabar import extras
from cinnabar.errors import UsageError
from cinnabar.extraction.run import telemetry

pytest.importorskip("opentelemetry.sdk")
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What a collector got: spans, metrics by name, and all of it as it came."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.raw = b""
        self.service = ""

    def take(self, path: str, body: bytes) -> None:
        self.raw += body
        if path == "/v1/traces":
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.service = next(a.value.string_value for a in group.resource.attributes if a.key == "service.name")
                self.spans += [span for scope in group.scope_spans for span in scope.spans]
        else:
            for measured in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.metrics |= {one.name: one for scope in measured.scope_metrics for one in scope.metrics}

    def points(self, name: str) -> dict[tuple[str, ...], Any]:
        """The points of a metric by their attributes' values."""
        metric = self.metrics[name]
        data = getattr(metric, metric.WhichOneof("data")).data_points
        return {tuple(a.value.string_value for a in sorted(one.attributes, key=lambda a: a.key)): one for one in data}


@contextmanager
def collecting(status: int = 200) -> Iterator[tuple[str, Collector]]:
    """The address of a collector that answers with this status, and what it gets."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Decode what comes."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/x-protobuf"
            collector.take(self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", collector
        server.shutdown()


def test_a_run_is_a_span_with_the_stages_of_its_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs, out = write(tmp_path / "docs", "Anna", "Bert", "Cora", ""), tmp_path / "out"
    with collecting() as (address, collector):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        summary, notes = told_run(docs, out, batch=2)
    assert notes == [] and collector.service == "cinnabar"
    (run,) = (one for one in collector.spans if one.name == "run")
    assert run.parent_span_id == b""
    attributes = {a.key: a.value for a in run.attributes}
    assert attributes["cinnabar.model"].string_value == "reading"
    assert attributes["cinnabar.written"].int_value == 3 and attributes["cinnabar.quarantined"].int_value == 1
    assert attributes["cinnabar.runs"].array_value.values[0].string_value == summary.run_id
    stages = [one.name for one in collector.spans if one.parent_span_id == run.span_id]
    assert sorted(stages) == sorted(["list", *["parse", "fill", "judge", "store"] * 2])
    assert all(run.start_time_unix_nano <= one.end_time_unix_nano for one in collector.spans)
    assert all(one.start_time_unix_nano <= one.end_time_unix_nano <= run.end_time_unix_nano for one in collector.spans)

    documents = {at: one.as_int for at, one in collector.points("cinnabar.documents").items()}
    assert documents == {("written", ""): 3, ("quarantined", "missing"): 1}
    seconds = collector.points("cinnabar.stage.duration")
    assert {at[0]: one.count for at, one in seconds.items()} == {
        "list": 1, "parse": 2, "fill": 2, "judge": 2, "store": 2,
    }  # fmt: skip
    assert sum(one.as_int for one in collector.points("cinnabar.model.steps").values()) == summary.steps > 0
    assert not any(name in collector.raw for name in (b"Anna", b"docs", b".txt", b"name="))


def test_a_failed_run_is_a_span_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as (address, collector):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        with pytest.raises(UsageError):
            told_run(tmp_path / "nowhere", tmp_path / "out")
    (run,) = (one for one in collector.spans if one.name == "run")
    assert (run.status.code, run.status.message) == (2, "UsageError") and b"nowhere" not in collector.raw


@pytest.mark.parametrize("status", [None, 503])
def test_a_collector_that_is_away_or_busy_costs_a_bounded_time_and_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    monkeypatch.setattr(telemetry, "_AT_END", 0.4)
    docs = write(tmp_path / "docs", "Anna")
    with collecting(status or 200) as (address, _):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address if status else "http://127.0.0.1:1")
        begun = time.monotonic()
        summary, notes = told_run(docs, tmp_path / "out")
    assert summary.written == 1 and time.monotonic() - begun < 8
    assert len(notes) == 1 and notes[0].startswith("traces and metrics cannot be sent to OTEL_EXPORTER_OTLP_ENDPOINT")


def test_without_the_variable_nothing_is_imported() -> None:
    code = (
        "import sys; from cinnabar.extraction.run.telemetry import trace_run\n"
        "with trace_run('default', None): print([one for one in sys.modules if one.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_off())
    assert done.stdout.strip() == "[]"


def _off() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}


def test_without_the_extra_it_is_refused_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r'pip install "cinnabar-extract\[traces\]"'):
        told_run(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
