"""Columns: in a table of one row a field's value stands below the head with its name."""

from __future__ import annotations

import re
from functools import lru_cache

from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.readings.readings import json_readings
from cinnabar.extraction.filling.surroundings.beside import CORRECTED, Beside, Effect, Kind, label_texts, plain
from cinnabar.extraction.filling.surroundings.empties import is_shown
from cinnabar.extraction.filling.surroundings.flags import BELOW_HEAD
from cinnabar.schemas.form.form import Form


def _below_head(one: Beside) -> Effect | None:
    """A field has the value below its head, where the heads of fields stand above one row."""
    if re.search(r"/\d+(?:/|$)", one.pointer) or one.slot.options:
        return None
    text, names = one.document.text, _names(one.form)
    for place in one.labels():
        line, heads = one.line_of(*place), {plain(text[slice(*cell)]): cell for cell in one.cells(place[0])}
        named = [head for name, head in heads.items() if names.get(name) == one.leaf.slot]
        cell = one.below(*named[0]) if named and len(heads.keys() & names) > 1 else None
        if cell is None or not is_shown(text[slice(*cell)]) or len(one.cells(one.line_of(*cell)[1] + 1)) > 1:
            continue
        beside = [start for start, _ in one.spans if line[0] <= start < line[1] and plain(one.printed) not in names]
        if beside or any(cell[0] <= start < cell[1] for start, _ in one.spans):
            return None
        read = next(filter(one.slot.accepts, json_readings(text[slice(*cell)], one.locale)), None)
        told = one.leaf.text if read is None else read.decode()
        return None if told == one.leaf.text else Effect(BELOW_HEAD, told, (cell,), CORRECTED)
    return None


@lru_cache(maxsize=64)
def _names(form: Form) -> dict[str, int]:
    """Returns the names and descriptions of the form's fields, as heads of columns have them, with their slots."""
    asked = [*zip(form_questions(form).slots, form.slots, strict=True)]
    described = {plain(question.note): slot.index for question, slot in asked if question.note}
    named = {plain(name): slot.index for question, slot in asked for name in label_texts(question.label, slot.path)}
    return described | named


COLUMNS: tuple[Kind, ...] = (_below_head,)
