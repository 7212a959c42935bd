"""OpenTelemetry traces and metrics of a run, on if OTEL_EXPORTER_OTLP_ENDPOINT names a collector.

A span for the run and in it one for each stage of each batch; what other processes do is measured here. Attributes are
counts and names of models and stages, never anything of a document. Without the variable nothing is imported.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging.handlers import QueueHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from cinnabar.extraction.filling.progress import NoProgress, ProgressListener
from cinnabar.extraction.store.records import Outcome
from cinnabar.extras import check_extra

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
# Seconds that a run waits at its end for a collector.
_AT_END = 5.0


@contextmanager
def trace_run(model: str, progress: ProgressListener) -> Iterator[ProgressListener]:
    """Yields what traces a run, or what does nothing if no collector is named.

    A collector that does not answer costs the run a few seconds at its end, and one note. Raises UsageError if the
    extra is not installed.
    """
    if not os.environ.get(ENDPOINT):
        yield NoProgress()
        return
    check_extra("traces", ENDPOINT)
    # The exporters repeat a problem every few seconds: the first one is noted at the end.
    log, problems = logging.getLogger("opentelemetry"), SimpleQueue[Any]()
    handler, loud = QueueHandler(problems), log.propagate
    handler.setLevel(logging.WARNING)
    log.addHandler(handler)
    log.propagate = False
    trace, failure = _Trace(Path(model).name if Path(model).is_dir() else model), ""
    try:
        yield trace
    except BaseException as error:
        failure = type(error).__name__
        raise
    finally:
        trace.close(failure)
        log.removeHandler(handler)
        log.propagate = loud
        if not problems.empty():
            why = problems.get().getMessage()[:200]
            progress.note(f"traces and metrics cannot be sent to {ENDPOINT} ({why})")


class _Trace(NoProgress):
    """The spans and metrics of one run."""

    def __init__(self, model: str) -> None:
        # Extra: traces.
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace import set_span_in_context

        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "cinnabar")})
        # Providers of our own: Prefect, or the program that calls us, may have set the global ones.
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._tracer, meter = self._spans.get_tracer("cinnabar"), self._metrics.get_meter("cinnabar")
        self._model, self._counts = {"cinnabar.model": model}, Counter[str]()
        self._run = self._tracer.start_span("run", attributes=self._model)
        self._inside = set_span_in_context(self._run)
        self._documents = meter.create_counter("cinnabar.documents", "{document}", "Documents by outcome and reason.")
        self._seconds = meter.create_histogram("cinnabar.stage.duration", "s", "Seconds of a stage of a batch.")
        self._steps = meter.create_counter("cinnabar.model.steps", "{step}", "Denoising steps.")
        self._tokens = meter.create_counter("cinnabar.model.tokens", "{token}", "Tokens of a model behind a server.")

    def on_runs_started(self, runs: Sequence[str]) -> None:
        """Names the runs in the span."""
        self._run.set_attribute("cinnabar.runs", [*runs])

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Counts documents by outcome and reason."""
        for one in outcomes:
            self._counts[f"cinnabar.{one.status}"] += 1
            self._documents.add(1, {"outcome": one.status, "reason": one.code})

    def stages(self, seconds: Mapping[str, float], steps: int = 0) -> None:
        """Makes a span for each stage, the last of which ends now."""
        at = time.time_ns() - int(sum(seconds.values()) * 1e9)
        for stage, took in seconds.items():
            span = self._tracer.start_span(stage, self._inside, start_time=at)
            span.end(at := at + int(took * 1e9))
            self._seconds.record(took, {"stage": stage})
        self._steps.add(steps, self._model)

    def on_runs_ended(
        self, _runs: Sequence[str], _drift: Sequence[str] | None, usage: Mapping[str, Any] | None
    ) -> None:
        """Counts the tokens of a model behind a server."""
        for kind in ("input", "cached", "output"):
            self._tokens.add((usage or {}).get(f"{kind}_tokens", 0), self._model | {"kind": kind})

    def close(self, failure: str) -> None:
        """Ends the run's span and sends what is left, in a few seconds at most; `failure` is the kind of an error."""
        # Extra: traces.
        from opentelemetry.trace import StatusCode

        self._run.set_attributes(dict(self._counts))
        if failure:
            self._run.set_status(StatusCode.ERROR, failure)
        self._run.end()
        # The exporters' own limits are longer, and a daemon holds up no end of a process.
        for one in (self._spans, self._metrics):
            end = threading.Thread(target=one.shutdown, daemon=True)
            end.start()
            end.join(_AT_END / 2)
