"""What is asked of one passage: the slots of a form, on a canvas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cinnabar.engine.canvas import Canvas
from cinnabar.engine.models.reader.inputs.views import RowExtent
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.memory.passage import Memory
from cinnabar.schemas.form.form import Form, Slot


@dataclass(frozen=True, slots=True)
class FormRequest:
    """The slots of one request: `own` are their places on the canvas, `places` those of the rows that they lie in."""

    form: Form
    questions: FormMemory
    memory: Memory
    canvas: Canvas
    own: Sequence[int]
    places: Mapping[int, RowExtent]

    def slot(self, k: int) -> Slot:
        """Returns the form's slot at this place on the canvas."""
        return self.canvas.instances[k].slot

    def is_frozen(self, k: int) -> bool:
        """Returns whether the slot's value was known from the start, so that it is not asked for."""
        return bool(self.canvas.known) and self.canvas.known[k]
