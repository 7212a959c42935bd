"""The documents by which a schema is chosen, each parsed in a bounded process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from cinnabar.extraction.documents.content.codes import problem_message
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.inputs import examine, gather, located
from cinnabar.schemas.errors import DocumentError, UsageError

#: The most documents that are looked at; more of them change little.
MOST_DOCUMENTS = 20


def parsed_documents(paths: Sequence[str]) -> tuple[list[Document], list[tuple[str, str]]]:
    """The documents at these paths, and the path and reason of each that cannot be read.

    Raises UsageError if none can be read.
    """
    locations = located(paths)
    documents: list[Document] = []
    problems: list[tuple[str, str]] = []
    with ExitStack() as connections:
        items = [examine(item, locations) for item in gather(locations, None, connections)[:MOST_DOCUMENTS]]
        pool = connections.enter_context(ParserPool(1))
        readable = pool.parse_many([item.content for item in items if item.problem is None])
        for item in items:
            outcome = next(readable)[1] if item.problem is None else item.problem
            if isinstance(outcome, DocumentError):
                problems.append((item.path, f"{outcome.code}: {problem_message(outcome)}"))
            elif outcome.text.strip():
                documents.append(outcome)
    if not documents:
        why = "".join(f"; {path}: {reason}" for path, reason in problems[:3])
        raise UsageError(f"{', '.join(paths)[:200]}: expected documents with text, got none{why}")
    return documents, problems
