"""The form of last resort: plain values, where no form of what a schema describes was found."""

from __future__ import annotations

from dataclasses import replace

from cinnabar.schemas.algebra import anything_of, union
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.form import Form
from cinnabar.schemas.instances import smallest_instance
from cinnabar.schemas.judging.judge import Judge
from cinnabar.schemas.layout import lay_out
from cinnabar.schemas.normalise import Normalised
from cinnabar.schemas.shape import Array, Object, Shape

#: What is asked of the judge, and what is written where it accepts: the kind, of containers the empty ones.
_ASKED: tuple[tuple[tuple[str, ...], Shape], ...] = (
    (("{}",), Object(())),
    (("[]",), Array(None)),
    (('""', '" "'), anything_of("string")),
    (("0.1",), anything_of("number")),
    (("0", "1"), anything_of("integer")),
    (("true", "false"), anything_of("boolean")),
    (("null",), anything_of("null")),
)
LEFT_OUT = "no form of what is described was found, so only plain values are written"


def plain_form(judge: Judge) -> tuple[Normalised, Form] | None:
    """The form of plain values that the judge accepts, None where it accepts none of those asked for."""
    kinds = [shape for texts, shape in _ASKED if any(judge.accepts(parse(text)) for text in texts)]
    shape = union(kinds)
    if shape is None:
        return None
    form = lay_out(shape)
    instance = smallest_instance(form, judge)
    if instance is None:
        return None
    return Normalised(shape, (("", LEFT_OUT),)), replace(form, judge=judge, instance=instance)
