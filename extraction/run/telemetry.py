"""OpenTelemetry traces and metrics of a run, on if OTEL_EXPORTER_OTLP_ENDPOINT names a collector.

A span for the run, in it one for each batch and each stage; what other processes do is measured here. Attributes are
counts and names of models and stages, never anything of a document. Without the variable nothing is imported.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from cinnabar.extraction.reading.progress import Progress, Silent
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.extras import check_extra

# Extra: traces.
if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.trace import Span

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
# Seconds between two exports of metrics, and those that a run waits at its end for a collector.
_EVERY, _AT_END = 10.0, 5.0
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


@contextmanager
def traced(model: str, progress: Progress) -> Iterator[Progress]:
    """Yields what traces a run, or what does nothing if no collector is named.

    A collector that does not answer costs the run a few seconds at its end, and one note. Raises UsageError if the
    extra is not installed.
    """
    if not os.environ.get(ENDPOINT) or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield Silent()
        return
    if (protocol := os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")) != "http/protobuf":
        raise UsageError(f"OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf, got {protocol!r}")
    check_extra("traces", ENDPOINT)
    trace = _Trace(model, progress.note)
    try:
        yield trace
    except BaseException as error:
        trace.close(type(error).__name__)
        raise
    trace.close()


class _FirstProblem(logging.Handler):
    """Notes the first problem of the exporter and drops the others, which repeat it every few seconds."""

    def __init__(self, note: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._note, self._said = note, False

    def emit(self, record: logging.LogRecord) -> None:
        """Notes it."""
        if not self._said:
            self._said = True
            self._note(f"traces and metrics cannot be sent to {ENDPOINT} ({record.getMessage()[:200]})")


class _Trace(Silent):
    """The spans and metrics of one run."""

    def __init__(self, model: str, note: Callable[[str], object]) -> None:
        # Extra: traces.
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._log = logging.getLogger("opentelemetry")
        self._handler, self._loud = _FirstProblem(note), self._log.propagate
        self._log.addHandler(self._handler)
        self._log.propagate = False
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "cinnabar"}
        resource = Resource.create(named | {"service.version": version("cinnabar-extract")})
        # Providers of our own: Prefect, or the program that calls us, may have set the global ones.
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(), export_interval_millis=_EVERY * 1000)
        self._metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._tracer, meter = self._spans.get_tracer("cinnabar"), self._metrics.get_meter("cinnabar")
        self._model = {"cinnabar.model": model}
        self._run = self._tracer.start_span("run", attributes=self._model)
        self._batches: dict[int, Span] = {}
        self._inputs, self._counts = 0, dict[str, int]()
        self._documents = meter.create_counter("cinnabar.documents", "{document}", "Documents by outcome and reason.")
        self._seconds = meter.create_histogram("cinnabar.stage.duration", "s", "Seconds of a stage of a batch.")
        self._steps = meter.create_counter("cinnabar.model.steps", "{step}", "Denoising steps.")
        self._tokens = meter.create_counter("cinnabar.model.tokens", "{token}", "Tokens of a model behind a server.")
        for name, unit, value in (
            ("cinnabar.documents.left", "{document}", lambda: self._inputs - sum(self._counts.values())),
            ("cinnabar.batches.open", "{batch}", lambda: len(self._batches)),
        ):
            meter.create_observable_gauge(name, [_observed(value)], unit)

    def begin(self, inputs: int) -> None:
        """Keeps the number of inputs."""
        self._inputs = inputs
        self._run.set_attribute("cinnabar.inputs", inputs)

    def begun(self, runs: Sequence[str]) -> None:
        """Names the runs in the span."""
        self._run.set_attribute("cinnabar.runs", [*runs])

    def advance(self, outcomes: Sequence[Outcome]) -> None:
        """Counts documents by outcome and reason."""
        for one in outcomes:
            self._counts[one.status] = self._counts.get(one.status, 0) + 1
            self._documents.add(1, {"outcome": one.status, "reason": one.code})

    def stages(self, seconds: Mapping[str, float], batch: int | None = None, steps: int = 0) -> None:
        """Makes a span for each stage, within that of its batch, which ends with its commit."""
        # Extra: traces.
        from opentelemetry.trace import set_span_in_context

        at = time.time_ns() - int(sum(seconds.values()) * 1e9)
        inside = set_span_in_context(self._run)
        span = None if batch is None else self._batches.get(batch)
        if batch is not None and span is None:
            named = self._model | {"cinnabar.batch": batch}
            span = self._batches[batch] = self._tracer.start_span("batch", inside, attributes=named, start_time=at)
        inside = inside if span is None else set_span_in_context(span)
        for stage, took in seconds.items():
            own = self._tracer.start_span(stage, inside, start_time=at)
            own.end(at := at + int(took * 1e9))
            self._seconds.record(took, {"stage": stage})
        if span is not None and steps:
            span.set_attribute("cinnabar.steps", steps)
            self._steps.add(steps, self._model)
        if batch is not None and "commit" in seconds:
            self._batches.pop(batch).end()

    def ended(self, _runs: Sequence[str], _drift: Sequence[str] | None, usage: Mapping[str, Any] | None) -> None:
        """Counts the tokens of a model behind a server."""
        for name in _TOKENS:
            if usage and usage.get(name):
                self._tokens.add(usage[name], self._model | {"kind": name.removesuffix("_tokens")})
                self._run.set_attribute(f"cinnabar.{name}", usage[name])

    def close(self, failure: str = "") -> None:
        """Ends the spans and sends what is left, in a few seconds at most; `failure` is the kind of an error."""
        # Extra: traces.
        from opentelemetry.trace import StatusCode

        self._run.set_attributes({f"cinnabar.{status}": count for status, count in self._counts.items()})
        if failure:
            self._run.set_status(StatusCode.ERROR, failure)
        for span in (*self._batches.values(), self._run):
            span.end()
        # The exporters' own limits are longer, and a daemon holds up no end of a process.
        ends = [threading.Thread(target=one.shutdown, daemon=True) for one in (self._spans, self._metrics)]
        for end in ends:
            end.start()
        deadline = time.monotonic() + _AT_END
        for end in ends:
            end.join(max(0.0, deadline - time.monotonic()))
        self._log.removeHandler(self._handler)
        self._log.propagate = self._loud


def _observed(value: Callable[[], int]) -> Callable[[CallbackOptions], list[Observation]]:
    # Extra: traces.
    from opentelemetry.metrics import Observation

    return lambda _options: [Observation(value())]
