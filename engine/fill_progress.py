"""Tells how a form is filled: after each step the record, the values that were committed, and those open again.

A fill that nobody watches makes none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cinnabar.engine.batch_state import BatchState
from cinnabar.engine.writing import Writer
from cinnabar.schemas.errors import RunError


@dataclass(frozen=True, slots=True)
class FormState:
    """A request after a denoising step; step 0 is before the first one.

    `id` is the request's. `record` is whole and allowed by the schema. `committed` are the pointers of the values that
    this step committed, `doubted` of those that it opened again; a doubted value may be committed anew in the same
    step. `confidence` maps the pointers of the values, and of places left out, to the model's own probability so far,
    which no calibration has seen.
    """

    id: str
    step: int
    record: str
    committed: tuple[str, ...]
    doubted: tuple[str, ...]
    confidence: Mapping[str, float]


#: Receives the states of all requests of a batch, one after the other.
Watcher = Callable[[FormState], None]


def notify(watcher: Watcher, state: FormState) -> None:
    """Hands a state to the watcher; its failure is raised as RunError, not blamed on a request."""
    try:
        watcher(state)
    except Exception as error:
        raise RunError(f"the watcher failed at step {state.step}: {error}") from error


class Watch:
    """Compares a batch with its last state, slot by slot: pointers may change when rows come and go."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        # For each request of the batch, by the number of a slot within it: committed, and how often it was re-opened.
        self._closed: dict[int, list[bool]] = {}
        self._reopened: dict[int, list[int]] = {}

    def look(self, state: BatchState, step: int) -> None:
        """Tells the state of each request that this step worked on."""
        own: list[list[int]] = [[] for _ in state.active]
        for at, instance in enumerate(state.canvas.instances):
            own[instance.request].append(at)
        closed = state.closed.tolist()
        reopened = state.reopened_times.tolist()
        for batch, slots in zip(state.active, own, strict=True):
            now, times = [closed[at] for at in slots], [reopened[at] for at in slots]
            was = self._closed.get(batch, [False] * len(slots))
            before = self._reopened.get(batch, [0] * len(slots))
            doubts = [after > earlier for after, earlier in zip(times, before, strict=True)]
            fresh = [shut and (not earlier or doubt) for shut, earlier, doubt in zip(now, was, doubts, strict=True)]
            self._closed[batch], self._reopened[batch] = now, times
            request = state.requests[batch]
            writer = Writer(state.layouts[batch], [state.values[at] for at in slots], request.passage.offset)
            # A choice has a slot more than its value, and is committed with the last of them.
            places = writer.instances.items()
            committed = [p for p, of in places if any(fresh[at] for at in of) and all(now[at] for at in of)]
            doubted = [p for p, of in places if any(doubts[at] for at in of)]
            confidence = {pointer: leaf.confidence for pointer, leaf in writer.leaves.items()}
            state_of_form = FormState(
                request.id, step, state.kept[batch].record, tuple(committed), tuple(doubted), confidence
            )
            notify(self._watcher, state_of_form)
