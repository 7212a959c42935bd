"""Compilation of a JSON Schema to the judge of its records, the form to fill, and canonical texts of records."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from cinnabar.errors import NotAccepted, UnsupportedSchema
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.compiling.fact_fields import check_names, check_places
from cinnabar.schemas.form.fitting import arrange
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.instances import Sketch, smallest_instance
from cinnabar.schemas.form.layout import lay_out
from cinnabar.schemas.judging.judge import Judge, judge_of
from cinnabar.schemas.parsing.metaschema import check_schema, fingerprint
from cinnabar.schemas.parsing.scalars import locate_errors
from cinnabar.schemas.parsing.shape import Shape
from cinnabar.schemas.parsing.shape_reader import Normalised, normalise
from cinnabar.schemas.parsing.texts import schema_text
from cinnabar.schemas.refusals import Refusal, refused
from cinnabar.schemas.regex.patterns import one_schema

#: The judges that something holds, by the texts of their schemas: forms of one schema are equal, and caches know them.
_JUDGES: WeakValueDictionary[str, Judge] = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class CompiledSchema:
    """A schema ready for the engine.

    `judge` decides on any JSON value from any writer. `form` defines the records that Cinnabar fills and writes, a
    subset: canonical texts only, and undeclared properties only if the schema describes their values.
    """

    schema: dict[str, Any] | bool
    judge: Judge
    fingerprint: str

    def accepts(self, text: str) -> bool:
        """Whether the text is JSON, in any spelling, of a value that the schema allows."""
        try:
            return self.judge.accepts(parse(text))
        except ValueError:
            return False

    def canonical(self, value: Any) -> str:
        """The canonical text of a record, without spaces: as `arrange` has it."""
        return json_text(self.arrange(value))

    def arrange(self, value: Any) -> Any:
        """A record as its canonical text is parsed: properties in schema order, one of equal numbers.

        `value` is parsed JSON; numbers may be int, float or Decimal. Raises NotAccepted with the place of the value
        if the schema does not allow it or the form has no place for it.
        """
        arranged = arrange(self.form, value)
        violation = self.judge.violation(arranged)
        if violation is not None:
            raise NotAccepted(violation.pointer, violation.message)
        return arranged

    def minimal(self) -> str:
        """The canonical text of a smallest record."""
        return self.form.instance

    @property
    def shape(self) -> Shape:
        """The shape of the records that may be written; raises the exceptions of `form`."""
        return self._written[0].shape

    @property
    def form(self) -> Form:
        """The form to fill.

        Raises UnsupportedSchema with the pointer of a keyword if no record can be written under it, and NoValue if
        no record meets the schema or none was found.
        """
        return self._written[1]

    @property
    def unenforced_demands(self) -> tuple[tuple[str, str], ...]:
        """The demands that nobody checks and the parts that the form leaves out, as (pointer, description)."""
        return self._written[0].left_out

    @cached_property
    def _written(self) -> tuple[Normalised, Form]:
        """The shape of the records, and its form: the plainest one for which a record is found."""
        with one_schema(), locate_errors("", "pattern"):
            found = self._laid_out()
        check_places(found[1], self.schema)
        return found

    def _laid_out(self) -> tuple[Normalised, Form]:
        plain = normalise(self.schema)
        form = lay_out(plain.shape)
        instance = smallest_instance(form, self.judge)
        if instance is not None:
            return plain, replace(form, judge=self.judge, instance=instance)
        with suppress(UnsupportedSchema):
            denied = normalise(self.schema, denying=True)
            other = form if denied.shape == plain.shape else lay_out(denied.shape)
            instance = None if other is form else smallest_instance(other, self.judge)
            if instance is not None:
                return denied, replace(other, judge=self.judge, instance=instance)
        violation = self.judge.violation(parse(Sketch(form, {}).text))
        if violation is None:
            # The judge takes the first record that was looked at, and the form does not hold it.
            raise refused(Refusal.NO_RECORD_OF_FORM, "")
        raise refused(Refusal.NO_RECORD, violation.schema_pointer, violation.keyword)


def compile_schema(schema: dict[str, Any] | bool) -> CompiledSchema:
    """The compiled schema; the same schema always gives the same result.

    Raises SchemaError if the input is no schema or binds a field to an unknown fact, and UnsupportedSchema with the
    pointer of a keyword that cannot be enforced. A schema that no value meets compiles, accepts nothing, and has no
    form.
    """
    check_schema(schema)
    check_names(schema)
    text = schema_text(schema)
    judge = _JUDGES.get(text)
    if judge is None:
        judge = _JUDGES[text] = judge_of(schema)
    return CompiledSchema(schema, judge, fingerprint(schema))
