"""Whole records from the tokens of an answer that is not finished."""

from __future__ import annotations

from cinnabar.engine.diffusion.record_graph import RecordGraph


def whole_record(graph: RecordGraph, text: bytes) -> bytes:
    """Returns this beginning of a record, completed by a smallest rest."""
    state = graph.automaton.run(text)
    if state < 0:
        raise ValueError(f"no record begins with {text!r}")
    return text + graph.automaton.completion(state)
