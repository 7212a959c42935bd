"""The state of a batch: its canvas, the engine's notes on each slot, and its current records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from cinnabar.engine.fill.layout import lay_out
from cinnabar.engine.fill.repair import Alternatives, repair_record
from cinnabar.engine.fill.writing import Writer, WrittenValue, known_value
from cinnabar.engine.model import Canvas, Row, SlotInstance
from cinnabar.engine.request import Filled, Leaf, Request
from cinnabar.errors import EngineFailure
from cinnabar.schemas.automata.strings import parse, scalar_text
from cinnabar.schemas.pointers import parts_of


class BatchState:
    """The canvas of a batch and the engine's notes on each of its S slots.

    Requests that are done leave the canvas; `active` maps the canvas' requests to those of the batch.
    request: [S] int64, into `active`.
    excusable, known, closed: [S] bool: may stay without a value; frozen from the start; committed as a whole.
    reopened_times: [S] int64, how often each was re-opened.
    values: the current value of each slot. likeliest: the likeliest text that a step proposed for it, and its posterior
    then. written, kept: for each request of the batch the record of its current values, and the last one that its
    schema allows; without one the record is the form's own instance.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        memories: Sequence[Any],
        rows: Sequence[Sequence[Row]],
        device: torch.device,
    ) -> None:
        self.requests = list(requests)
        self.device = device
        self.layouts = [lay_out(r.form, own, r.known) for r, own in zip(requests, rows, strict=True)]
        self.active = list(range(len(requests)))
        self.forms = [r.form for r in requests]
        self.memories = list(memories)
        self.rows = [layout.rows for layout in self.layouts]
        self.steps = [0] * len(requests)
        self.reopened = [0] * len(requests)
        self.results: list[Filled | None] = [None] * len(requests)

        instances = [
            SlotInstance(r, slot, row)
            for r, layout in enumerate(self.layouts)
            for slot, row in zip(layout.slots, layout.row_of, strict=True)
        ]
        known = [text for layout in self.layouts for text in layout.known]
        excusable = [flag for layout in self.layouts for flag in layout.excusable]
        self.canvas = Canvas(
            instances=instances,
            values=known,
            left_out=[text in (b"null", b"") for text in known],
            spans=[() for _ in instances],
            known=[text is not None for text in known],
        )
        self.values = [
            known_value(instance.slot, text)
            if text is not None
            else WrittenValue(instance.slot.minimal.encode(), flag)
            for text, flag, instance in zip(known, excusable, instances, strict=True)
        ]
        self.likeliest: list[tuple[bytes, float] | None] = [None] * len(instances)
        self.written: dict[int, Writer] = {}
        self.kept: dict[int, Writer] = {}
        self.request = self._tensor([instance.request for instance in instances], torch.long)
        self.excusable = self._tensor(excusable, torch.bool)
        self.known = self._tensor([text is not None for text in known], torch.bool)
        self.closed = self.known.clone()
        self.reopened_times = torch.zeros(len(instances), dtype=torch.long, device=device)

    def _tensor(self, values: Sequence[int | bool], dtype: torch.dtype) -> torch.Tensor:
        return torch.tensor(values, dtype=dtype, device=self.device)

    def settle(self, slot: int) -> None:
        """Commits the slot's value from `values`; the caller sets `closed`."""
        value, canvas = self.values[slot], self.canvas
        canvas.left_out[slot] = value.absent
        canvas.spans[slot] = () if value.absent else value.spans
        if not value.absent:
            canvas.values[slot] = value.text
        else:
            canvas.values[slot] = b"null" if canvas.instances[slot].slot.nullable else b""

    def reopen(self, slots: torch.Tensor) -> None:
        """Re-opens these committed slots ([S] bool)."""
        for slot in slots.nonzero().squeeze(1).tolist():
            self.canvas.values[slot] = None
            self.canvas.left_out[slot] = False
            self.canvas.spans[slot] = ()
            self.reopened[self.active[self.canvas.instances[slot].request]] += 1
        self.closed &= ~slots
        self.reopened_times += slots

    def finish(self) -> None:
        """Moves the requests that are done from the canvas into `results`."""
        pending = torch.bincount(self.request[~self.closed], minlength=len(self.active)).tolist()
        if all(pending):
            return
        for r, waiting in enumerate(pending):
            if not waiting:
                self._collect(r)
        self._keep([r for r, waiting in enumerate(pending) if waiting])

    def judge(self, alternatives: Alternatives = lambda _: ()) -> None:
        """Keeps each request's current record if its schema allows it.

        A finished record that its schema does not allow is repaired; `alternatives` gives a slot's other values.
        """
        pending = torch.bincount(self.request[~self.closed], minlength=len(self.active)).tolist()
        slots: list[list[int]] = [[] for _ in self.active]
        for at, instance in enumerate(self.canvas.instances):
            slots[instance.request].append(at)
        for batch, own, waiting in zip(self.active, slots, pending, strict=True):
            request, values = self.requests[batch], [self.values[at] for at in own]
            writer, judge = Writer(self.layouts[batch], values, request.passage.offset), request.form.judge
            self.written[batch] = writer
            if judge is None or judge.accepts(writer.value):
                self.kept[batch] = writer
            elif not waiting and (repaired := repair_record(writer, judge, _of(own, alternatives))) is not None:
                self.kept[batch] = repaired

    def value(self, batch: int) -> Any:
        """Returns a request's last record that its schema allows."""
        return self.kept[batch].value if batch in self.kept else parse(self.requests[batch].form.instance)

    def _collect(self, r: int) -> None:
        batch = self.active[r]
        request, kept, value = self.requests[batch], self.kept.get(batch), self.value(batch)
        if request.known and kept is None:
            raise EngineFailure("known", "found no record with these known values that the schema allows")
        self.results[batch] = Filled(
            id=request.id,
            value=value,
            leaves=dict(_leaves(value)) if kept is None else kept.leaves,
            rows={} if kept is None else kept.rows,
            steps=self.steps[batch],
            reopened=self.reopened[batch],
        )

    def _keep(self, stay: list[int]) -> None:
        number = {r: at for at, r in enumerate(stay)}
        canvas = self.canvas
        kept = [at for at, instance in enumerate(canvas.instances) if instance.request in number]
        index = self._tensor(kept, torch.long)
        self.active = [self.active[r] for r in stay]
        self.forms = [self.forms[r] for r in stay]
        self.memories = [self.memories[r] for r in stay]
        self.rows = [self.rows[r] for r in stay]
        instances = [canvas.instances[at] for at in kept]
        self.canvas = Canvas(
            instances=[replace(instance, request=number[instance.request]) for instance in instances],
            values=[canvas.values[at] for at in kept],
            left_out=[canvas.left_out[at] for at in kept],
            spans=[canvas.spans[at] for at in kept],
            known=[canvas.known[at] for at in kept],
        )
        self.values = [self.values[at] for at in kept]
        self.likeliest = [self.likeliest[at] for at in kept]
        self.request = self._tensor([instance.request for instance in self.canvas.instances], torch.long)
        for name in ("excusable", "known", "closed", "reopened_times"):
            setattr(self, name, getattr(self, name)[index])


def _of(own: Sequence[int], alternatives: Alternatives) -> Alternatives:
    """Returns the alternatives of a request's slots by their number within the request."""
    return lambda at: alternatives(own[at])


def _leaves(value: Any) -> Iterator[tuple[str, Leaf]]:
    """Yields the leaves of the form's own instance, flagged as missing."""
    for at, part in parts_of(value):
        if not isinstance(part, dict | list):
            yield at, Leaf(scalar_text(part), 0.0, origin="minimal", missing=part is not None)
