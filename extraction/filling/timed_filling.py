"""Has a filler answer the requests of several documents, so that a long document harms only itself.

Short documents share the filler's batches. A long one is filled alone, after all shorter ones, one passage after the
other, until its time is used up.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cinnabar.engine.request import Failed, Filler, Request, Result
from cinnabar.engine.work_time import TOO_SLOW, limit_batches, progress_part

#: A document of more tokens is long: other documents of its batch overtake it.
LONG_DOCUMENT = 16_384


@dataclass(frozen=True, slots=True)
class DocumentRequests:
    """The requests of one document, and its tokens."""

    tokens: int
    requests: Sequence[Request]


def fill_documents(
    documents: Sequence[DocumentRequests], filler: Filler, max_seconds: float | None = None
) -> list[list[Result]]:
    """Returns the results of each document's requests, in their order.

    A model on this machine works on a long document for at most `max_seconds`, and as long on each passage of a short
    one; beyond that the document's results are failures with the code TOO_SLOW. The first failure of a long document
    stands for all passages after it. A server has its own limits, and gets all requests at once.
    """
    charged = filler.usage() is not None
    alone = set[int]() if charged else {at for at, one in enumerate(documents) if one.tokens > LONG_DOCUMENT}
    together = [at for at in range(len(documents)) if at not in alone]
    results: dict[int, list[Result]] = {}
    with limit_batches(None if charged else max_seconds):
        requests = [request for at in together for request in documents[at].requests]
        shared = filler.fill(requests) if requests else []
    answers = iter(shared)
    for at in together:
        results[at] = [add_advice(next(answers), max_seconds) for _ in documents[at].requests]
    for at in sorted(alone, key=lambda at: documents[at].tokens):
        results[at] = _fill_alone(documents[at].requests, filler, max_seconds)
    return [results[at] for at in range(len(documents))]


def _fill_alone(requests: Sequence[Request], filler: Filler, max_seconds: float | None) -> list[Result]:
    """Returns the results of one document's passages, which are filled one after the other."""
    results: list[Result] = []
    begun = time.thread_time()
    for at, request in enumerate(requests):
        left = None if max_seconds is None else max_seconds - (time.thread_time() - begun)
        with limit_batches(left), progress_part(at / len(requests), (at + 1) / len(requests)):
            (result,) = filler.fill([request])
        results.append(add_advice(result, max_seconds))
        if isinstance(result, Failed):
            break
    return results + [replace(results[-1], id=request.id) for request in requests[len(results) :]]


def add_advice(result: Result, max_seconds: float | None) -> Result:
    """Returns the result; one that took too long says what to do."""
    if not isinstance(result, Failed) or result.code != TOO_SLOW or max_seconds is None:
        return result
    return replace(
        result,
        detail=f"the model worked on it for more than {max_seconds:g} s; give more with max_seconds and"
        " --retry-quarantined",
    )
