"""Whole records from the tokens of an answer that is not finished."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.schemas.automata.automaton import Automaton

_COMPLETIONS: WeakKeyDictionary[Automaton, dict[int, bytes]] = WeakKeyDictionary()


def whole_record(graph: RecordGraph, text: bytes) -> bytes:
    """Returns this beginning of a record, completed by a smallest rest."""
    state = graph.automaton.run(text)
    if state < 0:
        raise ValueError(f"no record begins with {text!r}")
    return text + completion(graph.automaton, state)


def completion(automaton: Automaton, state: int) -> bytes:
    """Returns a shortest text from this state to acceptance; printable ASCII goes before other bytes."""
    known = _COMPLETIONS.setdefault(automaton, {})
    if state not in known:
        text, distance, at = bytearray(), automaton.distance, state
        while distance[at]:
            targets = automaton.transitions[at]
            nearer = {kind for kind, target in enumerate(targets) if target >= 0 and distance[target] < distance[at]}
            byte = next(b for b in (*range(0x20, 0x7F), *range(0x20), *range(0x7F, 0x100))
                        if automaton.byte_class[b] in nearer)  # fmt: skip
            text.append(byte)
            at = int(targets[automaton.byte_class[byte]])
        known[state] = bytes(text)
    return known[state]
