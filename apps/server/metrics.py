"""What the server counts, as text for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

#: The media type of `Metrics.text`.
MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters of one server; any thread may count. No label holds anything that a client wrote."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self.requests = Counter("cinnabar_requests", "Requests that ended.", ["route", "status"], registry=own)
        self.seconds = Histogram(
            "cinnabar_request_seconds", "Seconds of a request.", ["route"], buckets=_SECONDS, registry=own
        )
        self.in_flight = Gauge("cinnabar_requests_in_flight", "Requests that are worked on or wait.", registry=own)
        self.waiting = Gauge("cinnabar_queue_requests", "Requests that wait for a batch of the model.", registry=own)
        self.tokens = Counter("cinnabar_tokens", "Tokens of prompts and answers.", ["kind"], registry=own)
        self.batch_requests = Histogram(
            "cinnabar_batch_requests", "Requests of a batch.", buckets=_COUNTS, registry=own
        )
        self.batch_seconds = Histogram(
            "cinnabar_batch_seconds", "Seconds of a batch.", buckets=_SECONDS, registry=own
        )
        self.documents = Counter("cinnabar_documents", "Files by the outcome of reading.", ["outcome"], registry=own)
        self.schemas = Counter("cinnabar_schemas", "Schemas by where they came from.", ["source"], registry=own)

    def count_batch(self, requests: int, _tokens: int, seconds: float) -> None:
        """Counts a batch of the model."""
        self.batch_requests.observe(requests)
        self.batch_seconds.observe(seconds)

    def count_tokens(self, prompt: int, completion: int, cached: int) -> None:
        """Counts the tokens of an answered request."""
        self.tokens.labels("prompt").inc(prompt)
        self.tokens.labels("completion").inc(completion)
        self.tokens.labels("cached").inc(cached)

    def watch_queue(self, length: Callable[[], int]) -> None:
        """Has the gauge of the queue ask for its length."""
        self.waiting.set_function(lambda: float(length()))

    def text(self) -> bytes:
        """Returns all that was counted."""
        return generate_latest(self._registry)
